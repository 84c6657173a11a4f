#include "npz/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "npz/refuse.hpp"
#include "npz/zip_records.hpp"

namespace clipper::npz {
namespace {

[[noreturn]] void refuse_library(const char* soname) {
  refuse(fmt::format("{} cannot be loaded; .npz archives need it", soname));
}

}  // namespace

Library::Library(const char* soname) : soname_(soname), handle_(dlopen(soname, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) refuse_library(soname);
}

void* Library::address(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr) refuse_library(soname_);
  return found;
}

}  // namespace clipper::npz
