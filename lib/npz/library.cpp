#include "npz/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "error.hpp"

namespace clipper::npz {
namespace {

[[noreturn]] void throw_missing(const char* soname) {
  throw Error(ErrorKind::io, fmt::format("{} cannot be loaded; .npz archives need it", soname));
}

}  // namespace

Library::Library(const char* soname) : soname_(soname), handle_(dlopen(soname, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw_missing(soname);
}

void* Library::address(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr) throw_missing(soname_);
  return found;
}

}  // namespace clipper::npz
