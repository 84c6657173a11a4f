#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>

namespace clipper::testing {

/// Gives the calling process, which must have one thread, its own mount namespace. Returns false if the
/// system forbids it. In a chroot, whose root is not a mount point and cannot be made private, makes the
/// working directory a private mount point.
inline bool has_own_mounts() {
  const auto make_private = [](const char* path) {
    return ::mount(nullptr, path, nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  };
  const std::filesystem::path here = std::filesystem::current_path();
  return ::unshare(CLONE_NEWNS) == 0 &&
         (make_private("/") || (::mount(".", ".", nullptr, MS_BIND, nullptr) == 0 &&
                                ::chdir(here.c_str()) == 0 && make_private(".")));
}

}  // namespace clipper::testing
