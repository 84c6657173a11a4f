#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <span>

#if defined(__GLIBC__)
#include <linux/stat.h>
#else
#define statx kernel_statx  // musl has the structure of Linux 4.11, without stx_mnt_id
#define statx_timestamp kernel_statx_timestamp
#include <linux/stat.h>
#undef statx
#undef statx_timestamp

#include <linux/fs.h>
#endif

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

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

/// pwritev2() with RWF_DONTCACHE, whose number is in <linux/fs.h> since Linux 6.14: pages that were not in
/// the page cache leave it once they are written out. At the file's position if `offset` is -1.
inline ssize_t write_uncached(int fd, std::span<const iovec> bytes, off_t offset) noexcept {
  constexpr int kDontCache = 0x80;
#if defined(__GLIBC__)
  return ::pwritev2(fd, bytes.data(), static_cast<int>(bytes.size()), offset, kDontCache);
#else
  return ::syscall(SYS_pwritev2, fd, bytes.data(), bytes.size(), offset, 0, kDontCache);
#endif
}

/// What cachestat() fills.
struct CachedPages {
  std::uint64_t cached, dirty, in_writeback, evicted, recently_evicted;
};

/// cachestat() of the whole file, which no C library has yet.
inline int cached_pages(int fd, CachedPages& pages) noexcept {
  constexpr long kCachestat = 451;  // in <sys/syscall.h> since Linux 6.5; the same on all architectures
  const std::array<std::uint64_t, 2> range{};  // from 0 to the end
  return static_cast<int>(::syscall(kCachestat, fd, range.data(), &pages, 0));
}

}  // namespace clipper
