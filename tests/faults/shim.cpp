// A library to preload into clipper. It wraps the libc calls that touch files, and malloc, to make them fail:
// see fault.hpp.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <cstdarg>
#include <ctime>

#include "faults/fault.hpp"

namespace {

constexpr auto kFuse = 0x65735546;  // FUSE_SUPER_MAGIC, in linux/magic.h since Linux 5.15
constexpr auto kProc = 0x9fa0;      // PROC_SUPER_MAGIC
constexpr unsigned kReads = kMovesBytes | kInterruptible;
constexpr unsigned kWrites = kReads | kTakesSpace;

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// The first bytes of the vectors, for a short write.
struct Vectors {
  std::array<iovec, 16> kept{};
  int count = 0;

  Vectors(const iovec* given, int given_count, Part part) {
    std::size_t bytes = 0;
    for (const iovec* each = given; each != given + given_count; ++each) bytes += each->iov_len;
    bytes = part(bytes);
    for (iovec& each : kept) {
      if (bytes == 0) return;
      each = {given[count].iov_base, std::min(bytes, given[count].iov_len)};
      bytes -= each.iov_len;
      ++count;
    }
  }
};

/// Whether CLIPPER_FAULT_STALE still counts: clipper has not waited for a second.
std::atomic<bool> is_stale = true;

/// What CLIPPER_FAULT_COARSE and CLIPPER_FAULT_STALE make of a status.
void distort(struct stat& status) {
  if (is_stale && status.st_ino == fault().stale) status.st_mtim = timespec{fault().stale_since, 0};
  if (!fault().coarse) return;
  status.st_mtim.tv_nsec = 0;
  status.st_ctim.tv_nsec = 0;
}

bool makes_a_file(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

using Main = int (*)(int, char**, char**);
Main real_main;

int counted_main(int argc, char** argv, char** environment) {
  in_main = true;
  const int code = real_main(argc, argv, environment);
  if (fault().at == 0) report("%s %u\n", "allocations", allocations);
  return code;
}

}  // namespace

extern "C" {

// libc's function that calls main().
int start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(), void (*end)(),
               void* stack) asm("__libc_start_main");
int start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(), void (*end)(), void* stack) {
  real_main = main;
  return real<decltype(start_main)>("__libc_start_main")(counted_main, argc, argv, init, fini, end, stack);
}

#define COUNTED(kinds, result, name, parameters, arguments)                                   \
  result name parameters {                                                                    \
    static const auto next = real<result parameters>(#name);                                  \
    return counted(#name, kinds, [&]([[maybe_unused]] Part part) { return next arguments; }); \
  }

/// A call that fills `struct stat* to`.
#define LOOK(name, parameters, arguments)                 \
  int name parameters {                                   \
    static const auto next = real<int parameters>(#name); \
    return counted(#name, kPlain, [&](Part) {             \
      const int result = next arguments;                  \
      if (result == 0) distort(*to);                      \
      return result;                                      \
    });                                                   \
  }

// Text of /proc says what may be done, not what is in a file: clipper takes the safe answer if it cannot be
// read.
ssize_t read(int fd, void* to, size_t size) {
  static const auto next = real<ssize_t(int, void*, size_t)>("read");
  struct statfs system {};
  if (real<int(int, struct statfs*)>("fstatfs")(fd, &system) == 0 && system.f_type == kProc)
    return next(fd, to, size);
  return counted("read", kReads, [&](Part part) { return next(fd, to, part(size)); });
}

// Without standard error, a failure could not be told.
ssize_t write(int fd, const void* from, size_t size) {
  static const auto next = real<ssize_t(int, const void*, size_t)>("write");
  if (fd == STDERR_FILENO) return next(fd, from, size);
  return counted("write", kWrites, [&](Part part) { return next(fd, from, part(size)); });
}

// clang-format off
COUNTED(kReads, ssize_t, pread, (int fd, void* to, size_t size, off_t at), (fd, to, part(size), at))
COUNTED(kWrites, ssize_t, pwrite, (int fd, const void* from, size_t size, off_t at), (fd, from, part(size), at))
COUNTED(kInterruptible | kTakesSpace, int, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
COUNTED(kReturnsErrno | kTakesSpace, int, posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size))
COUNTED(kReturnsErrno, int, posix_fadvise, (int fd, off_t at, off_t size, int advice), (fd, at, size, advice))
COUNTED(kPlain, int, ftruncate, (int fd, off_t size), (fd, size))
COUNTED(kTakesSpace, int, fsync, (int fd), (fd))
COUNTED(kTakesSpace, int, syncfs, (int fd), (fd))
COUNTED(kTakesSpace, int, fdatasync, (int fd), (fd))
COUNTED(kTakesSpace, int, sync_file_range, (int fd, off64_t at, off64_t size, unsigned flags), (fd, at, size, flags))
COUNTED(kTakesSpace, int, rename, (const char* from, const char* to), (from, to))
COUNTED(kTakesSpace, int, renameat, (int from_at, const char* from, int to_at, const char* to), (from_at, from, to_at, to))
COUNTED(kTakesSpace, int, link, (const char* from, const char* to), (from, to))
COUNTED(kTakesSpace, int, symlink, (const char* to, const char* path), (to, path))
COUNTED(kTakesSpace, int, symlinkat, (const char* to, int at, const char* path), (to, at, path))
COUNTED(kPlain, ssize_t, readlink, (const char* path, char* to, size_t size), (path, to, size))
COUNTED(kPlain, ssize_t, readlinkat, (int at, const char* path, char* to, size_t size), (at, path, to, size))
COUNTED(kPlain, char*, realpath, (const char* path, char* to), (path, to))
COUNTED(kTakesSpace, int, mkdir, (const char* path, mode_t mode), (path, mode))
COUNTED(kTakesSpace, int, mkdirat, (int at, const char* path, mode_t mode), (at, path, mode))
COUNTED(kPlain, DIR*, opendir, (const char* path), (path))
COUNTED(kPlain, DIR*, fdopendir, (int fd), (fd))
COUNTED(kPlain, dirent*, readdir, (DIR* of), (of))
COUNTED(kPlain, int, unlink, (const char* path), (path))
COUNTED(kPlain, int, rmdir, (const char* path), (path))
COUNTED(kPlain, int, unlinkat, (int at, const char* path, int flags), (at, path, flags))
LOOK(stat, (const char* path, struct stat* to), (path, to))
LOOK(lstat, (const char* path, struct stat* to), (path, to))
LOOK(fstat, (int fd, struct stat* to), (fd, to))
LOOK(fstatat, (int at, const char* path, struct stat* to, int flags), (at, path, to, flags))
COUNTED(kPlain, int, statx, (int at, const char* path, int flags, unsigned mask, struct statx* to), (at, path, flags, mask, to))
COUNTED(kPlain, int, statfs, (const char* path, struct statfs* to), (path, to))
COUNTED(kPlain, int, statvfs, (const char* path, struct statvfs* to), (path, to))
COUNTED(kPlain, int, fstatvfs, (int fd, struct statvfs* to), (fd, to))
COUNTED(kPlain, int, access, (const char* path, int mode), (path, mode))
COUNTED(kPlain, int, faccessat, (int at, const char* path, int mode, int flags), (at, path, mode, flags))
COUNTED(kPlain, int, fchmod, (int fd, mode_t mode), (fd, mode))
COUNTED(kPlain, int, fchmodat, (int at, const char* path, mode_t mode, int flags), (at, path, mode, flags))
COUNTED(kPlain, int, futimens, (int fd, const timespec* times), (fd, times))
COUNTED(kPlain, int, utimensat, (int at, const char* path, const timespec* times, int flags), (at, path, times, flags))
COUNTED(kWrites, ssize_t, copy_file_range, (int from, off64_t* from_at, int to, off64_t* to_at, size_t size, unsigned flags), (from, from_at, to, to_at, part(size), flags))
COUNTED(kWrites, ssize_t, sendfile, (int to, int from, off_t* at, size_t size), (to, from, at, part(size)))
COUNTED(kPlain, ssize_t, getrandom, (void* to, size_t size, unsigned flags), (to, size, flags))
COUNTED(kPlain, int, fchown, (int fd, uid_t owner, gid_t group), (fd, owner, group))
COUNTED(kPlain, int, flock, (int fd, int operation), (fd, operation))
COUNTED(kPlain, ssize_t, flistxattr, (int fd, char* names, size_t size), (fd, names, size))
COUNTED(kPlain, ssize_t, getxattr, (const char* path, const char* name, void* to, size_t size), (path, name, to, size))
COUNTED(kPlain, ssize_t, fgetxattr, (int fd, const char* name, void* to, size_t size), (fd, name, to, size))
COUNTED(kTakesSpace, int, fsetxattr, (int fd, const char* name, const void* from, size_t size, int flags), (fd, name, from, size, flags))
COUNTED(kPlain, int, fremovexattr, (int fd, const char* name), (fd, name))
// clang-format on

ssize_t pwritev(int fd, const iovec* from, int count, off_t at) {
  static const auto next = real<ssize_t(int, const iovec*, int, off_t)>("pwritev");
  return counted("pwritev", kWrites, [&](Part part) {
    const Vectors vectors(from, count, part);
    return next(fd, vectors.kept.data(), vectors.count, at);
  });
}

ssize_t pwritev2(int fd, const iovec* from, int count, off_t at, int flags) {
  static const auto next = real<ssize_t(int, const iovec*, int, off_t, int)>("pwritev2");
  return counted("pwritev2", kWrites, [&](Part part) {
    const Vectors vectors(from, count, part);
    if (!fault().flagless || flags == 0) return next(fd, vectors.kept.data(), vectors.count, at, flags);
    errno = EOPNOTSUPP;
    return ssize_t{-1};
  });
}

int fstatfs(int fd, struct statfs* to) {
  static const auto next = real<int(int, struct statfs*)>("fstatfs");
  return counted("fstatfs", kPlain, [&](Part) {
    const int result = next(fd, to);
    if (fault().remote && result == 0) to->f_type = kFuse;
    return result;
  });
}

/// Without names it only asks whether the process may call it: "linkat_probe".
int linkat(int from_at, const char* from, int to_at, const char* to, int flags) {
  static const auto next = real<int(int, const char*, int, const char*, int)>("linkat");
  return counted(*to == '\0' ? "linkat_probe" : "linkat", kTakesSpace,
                 [&](Part) { return next(from_at, from, to_at, to, flags); });
}

int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  static const auto next = real<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return counted("renameat2", kTakesSpace, [&](Part) {
    if (!fault().flagless || flags == 0) return next(from_at, from, to_at, to, flags);
    errno = EINVAL;
    return -1;
  });
}

int openat(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = makes_a_file(flags) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  static const auto next = real<int(int, const char*, int, ...)>("openat");
  return counted("open", kInterruptible | (makes_a_file(flags) ? kTakesSpace : kPlain), [&](Part) {
    if (!fault().named || (flags & O_TMPFILE) != O_TMPFILE) return next(directory, path, flags, mode);
    errno = EOPNOTSUPP;
    return -1;
  });
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = makes_a_file(flags) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return openat(AT_FDCWD, path, flags, mode);
}

/// Reports a descriptor that may have written as "close_written", because its close can lose data.
int close(int fd) {
  static const auto next = real<int(int)>("close");
  const bool written = (syscall(SYS_fcntl, fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
  return counted(written ? "close_written" : "close", kCloses | (written ? kTakesSpace : kPlain),
                 [&](Part) { return next(fd); });
}

/// F_GETFD and F_GETFL cannot fail, so they are not counted.
int fcntl(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  static const auto next = real<int(int, int, ...)>("fcntl");
  if (command == F_GETFD || command == F_GETFL) return next(fd, command, argument);
  return counted("fcntl", kPlain, [&](Part) { return next(fd, command, argument); });
}

int ioctl(int fd, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  static const auto next = real<int(int, unsigned long, ...)>("ioctl");
  return counted("ioctl", kPlain, [&](Part) { return next(fd, request, argument); });
}

/// Waits for attributes that other machines change are skipped.
int nanosleep(const struct timespec* time, struct timespec* left) {
  static const auto next = real<int(const struct timespec*, struct timespec*)>("nanosleep");
  is_stale = is_stale && time->tv_sec == 0;
  return time->tv_sec > 0 && !fault().coarse ? 0 : next(time, left);
}

/// Without CLIPPER_FAULT_COARSE the clock that clipper compares with a file's times is ahead: clipper makes
/// the same calls, however long ago the file was written.
int clock_gettime(clockid_t clock, struct timespec* to) {
  static const auto next = real<int(clockid_t, struct timespec*)>("clock_gettime");
  const int result = next(clock, to);
  if (clock == CLOCK_REALTIME_COARSE && !fault().coarse) to->tv_sec += 60;
  return result;
}

// On 64-bit systems these are the same functions.
#define ALSO_AS(other, name) asm(".globl " #other "\n.set " #other ", " #name)
#define ALSO(name) ALSO_AS(name##64, name)
ALSO(pread);
ALSO(pwrite);
ALSO(pwritev);
ALSO_AS(pwritev64v2, pwritev2);
ALSO(fallocate);
ALSO(posix_fallocate);
ALSO(posix_fadvise);
ALSO(ftruncate);
ALSO(stat);
ALSO(lstat);
ALSO(fstat);
ALSO(fstatat);
ALSO(statfs);
ALSO(fstatfs);
ALSO(readdir);
ALSO(sendfile);
ALSO(statvfs);
ALSO(fstatvfs);
ALSO(open);
ALSO(openat);
ALSO(fcntl);

// glibc's allocator under its internal names. dlsym() cannot find it, because dlsym() itself may allocate.
void* real_malloc(size_t size) asm("__libc_malloc");
void* real_calloc(size_t count, size_t size) asm("__libc_calloc");
void* real_realloc(void* old, size_t size) asm("__libc_realloc");
void* real_memalign(size_t alignment, size_t size) asm("__libc_memalign");

void* malloc(size_t size) {
  return is_refused() ? nullptr : real_malloc(size);
}

void* calloc(size_t count, size_t size) {
  return is_refused() ? nullptr : real_calloc(count, size);
}

void* realloc(void* old, size_t size) {
  return is_refused() ? nullptr : real_realloc(old, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  return is_refused() ? nullptr : real_memalign(alignment, size);
}

int posix_memalign(void** to, size_t alignment, size_t size) {
  *to = is_refused() ? nullptr : real_memalign(alignment, size);
  return *to == nullptr ? ENOMEM : 0;
}
}
