#include "npz/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "error.hpp"

namespace clipper::npz {
namespace {

/// dlerror() names the library, and says why: "libisal.so.2: cannot open shared object file: No such file or
/// directory".
[[noreturn]] void throw_missing() {
  throw Error(ErrorKind::io, fmt::format("{}; .npz archives need it", dlerror()));
}

}  // namespace

Library::Library(const char* soname) : handle_(dlopen(soname, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw_missing();
}

void* Library::address(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr) throw_missing();
  return found;
}

}  // namespace clipper::npz
