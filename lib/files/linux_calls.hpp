#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>

#if defined(__GLIBC__)
#include <linux/stat.h>
#else
#define statx kernel_statx  // musl has the structure of Linux 4.11, without stx_mnt_id
#define statx_timestamp kernel_statx_timestamp
#include <linux/stat.h>
#undef statx
#undef statx_timestamp

#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/// System calls that not every C library has a function for.
namespace clipper {

#if defined(__GLIBC__)
using ExtendedStatus = struct statx;

inline int extended_status(int directory, const char* name, int flags, unsigned wanted,
                           ExtendedStatus& status) noexcept {
  return ::statx(directory, name, flags, wanted, &status);
}

inline int rename_with(unsigned flags, int from_directory, const char* from, int to_directory,
                       const char* to) noexcept {
  return ::renameat2(from_directory, from, to_directory, to, flags);
}
#else
using ExtendedStatus = struct kernel_statx;

inline int extended_status(int directory, const char* name, int flags, unsigned wanted,
                           ExtendedStatus& status) noexcept {
  return static_cast<int>(::syscall(SYS_statx, directory, name, flags, wanted, &status));
}

inline int rename_with(unsigned flags, int from_directory, const char* from, int to_directory,
                       const char* to) noexcept {
  return static_cast<int>(::syscall(SYS_renameat2, from_directory, from, to_directory, to, flags));
}
#endif

}  // namespace clipper
