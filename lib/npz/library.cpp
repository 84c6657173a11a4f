#include "npz/library.hpp"

#include <fmt/format.h>

#include "error.hpp"
#include "os/os.hpp"

namespace clipper::npz {
namespace {

/// dlerror() names the library, and says why: "libisal.so.2: cannot open shared object file: No such file or
/// directory".
[[noreturn]] void throw_missing() {
  throw Error(ErrorKind::io, fmt::format("{}; .npz archives need it", os::dlerror()));
}

}  // namespace

Library::Library(const char* soname) : handle_(os::dlopen(soname, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw_missing();
}

void* Library::address(const char* name) const {
  void* const found = os::dlsym(handle_, name);
  if (found == nullptr) throw_missing();
  return found;
}

}  // namespace clipper::npz
