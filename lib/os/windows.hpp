#pragma once

#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>

/// What os.hpp takes from the headers of POSIX and Linux, for Windows. Functions do what POSIX says; those
/// that Windows has nothing for fail with ENOSYS, or succeed where they are only advice. Paths and names are
/// UTF-8 (a lone surrogate is encoded as if it were a character) with slashes. A name that Windows reserves
/// or cannot have fails with kForbiddenName, what another program's handle forbids with ETXTBSY.

// mingw's macros for 64-bit sizes, which would rename the functions below.
#undef fstat
#undef ftruncate
#undef lseek
#undef stat
#undef PATH_MAX

inline constexpr int PATH_MAX = 32767;  // UTF-16 units of a path; in UTF-8 it may be longer
#ifndef NAME_MAX
inline constexpr int NAME_MAX = 255;
#endif
#ifndef EDQUOT
inline constexpr int EDQUOT = 10069;
#endif
#ifndef ESTALE
inline constexpr int ESTALE = 10070;
#endif
#ifndef STDIN_FILENO
inline constexpr int STDIN_FILENO = 0;
inline constexpr int STDOUT_FILENO = 1;
inline constexpr int STDERR_FILENO = 2;
#endif

// Flags of open(), beside those of <fcntl.h>.
inline constexpr int O_CLOEXEC = O_NOINHERIT;
inline constexpr int O_NOCTTY = 0;
inline constexpr int O_NONBLOCK = 0;
inline constexpr int O_DIRECTORY = 1 << 20;
inline constexpr int O_NOFOLLOW = 1 << 21;
inline constexpr int O_PATH = 1 << 22;
inline constexpr int O_TMPFILE = 1 << 23;  // refused

inline constexpr int AT_FDCWD = -100;
inline constexpr int AT_SYMLINK_NOFOLLOW = 1;
inline constexpr int F_DUPFD_CLOEXEC = 1;
inline constexpr int F_GETFD = 2;
inline constexpr int F_GETFL = 3;
inline constexpr int F_SETPIPE_SZ = 4;
inline constexpr int LOCK_SH = 1;
inline constexpr int LOCK_EX = 2;
inline constexpr int LOCK_NB = 4;
inline constexpr int LOCK_UN = 8;
inline constexpr int MADV_HUGEPAGE = 14;
inline constexpr int MAP_ANONYMOUS = 1;
inline constexpr int MAP_FIXED = 2;
inline constexpr int MAP_NORESERVE = 4;
inline constexpr int MAP_PRIVATE = 8;
inline constexpr int MAP_SHARED = 16;
inline void* const MAP_FAILED = nullptr;
inline constexpr int POSIX_FADV_DONTNEED = 4;
inline constexpr int PROT_NONE = 0;
inline constexpr int PROT_READ = 1;
inline constexpr int PROT_WRITE = 2;
inline constexpr int SEEK_DATA = 3;
inline constexpr int SEEK_HOLE = 4;
inline constexpr int SIGHUP = 1;
inline constexpr int SIGPIPE = 13;
inline constexpr unsigned SYNC_FILE_RANGE_WAIT_BEFORE = 1;
inline constexpr unsigned SYNC_FILE_RANGE_WRITE = 2;
inline constexpr unsigned SYNC_FILE_RANGE_WAIT_AFTER = 4;
#ifndef CLOCK_REALTIME_COARSE
inline constexpr int CLOCK_REALTIME_COARSE = 4;
#endif
#ifndef W_OK
inline constexpr int X_OK = 1;
inline constexpr int W_OK = 2;
#endif

inline constexpr unsigned S_IFLNK = 0xA000;
constexpr bool S_ISLNK(unsigned mode) {
  return (mode & S_IFMT) == S_IFLNK;
}

inline constexpr unsigned char DT_UNKNOWN = 0;
inline constexpr unsigned char DT_DIR = S_IFDIR >> 12;
inline constexpr unsigned char DT_REG = S_IFREG >> 12;
inline constexpr unsigned char DT_LNK = S_IFLNK >> 12;
constexpr unsigned DTTOIF(unsigned char type) {
  return unsigned{type} << 12;
}

namespace clipper::os {

inline constexpr int kForbiddenName = 10123;

using Mode = unsigned;
struct SignalMask {};

struct Status {
  std::uint64_t st_dev;
  std::uint64_t st_ino;
  Mode st_mode;
  std::uint64_t st_nlink;
  unsigned st_uid;  ///< 0: a file that is replaced by another user's gets that user as owner
  unsigned st_gid;
  off_t st_size;
  off_t st_blocks;  ///< of 512 bytes; those of the whole size if the file is not sparse
  struct timespec st_mtim;
  struct timespec st_ctim;
};

struct iovec {
  void* iov_base;
  std::size_t iov_len;
};

struct dirent {
  char d_name[4 * (NAME_MAX + 1)];
  unsigned char d_type;
};
struct DIR;

// Names
int access(const char* path, int mode) noexcept;
int fnmatch(const char* pattern, const char* text, int flags) noexcept;
int fstatat(int directory, const char* name, Status* status, int flags) noexcept;
int linkat(int from_directory, const char* from, int to_directory, const char* to, int flags) noexcept;
int lstat(const char* path, Status* status) noexcept;
int mkdirat(int directory, const char* name, Mode mode) noexcept;
int open(const char* path, int flags, Mode mode = 0) noexcept;
int openat(int directory, const char* name, int flags, Mode mode = 0) noexcept;
int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept;
int stat(const char* path, Status* status) noexcept;
int unlinkat(int directory, const char* name, int flags) noexcept;

// Open files
int close(int fd) noexcept;
int fallocate(int fd, int mode, off_t offset, off_t size) noexcept;
int fchmod(int fd, Mode mode) noexcept;
int fchown(int fd, unsigned user, unsigned group) noexcept;
int fcntl(int fd, int command, int argument = 0) noexcept;
int fdatasync(int fd) noexcept;
using ::fileno;
int flock(int fd, int operation) noexcept;
int fstat(int fd, Status* status) noexcept;
int fsync(int fd) noexcept;
int ftruncate(int fd, off_t size) noexcept;
int closedir(DIR* directory) noexcept;
int dirfd(DIR* directory) noexcept;
DIR* fdopendir(int fd) noexcept;
dirent* readdir(DIR* directory) noexcept;
int isatty(int fd) noexcept;
off_t lseek(int fd, off_t offset, int from) noexcept;
int posix_fadvise(int fd, off_t offset, off_t size, int advice) noexcept;
ssize_t pread(int fd, void* to, std::size_t size, off_t offset) noexcept;
ssize_t read(int fd, void* to, std::size_t size) noexcept;
int sync_file_range(int fd, off_t offset, off_t size, unsigned flags) noexcept;
int syncfs(int fd) noexcept;
ssize_t write(int fd, const void* from, std::size_t size) noexcept;
ssize_t getxattr(const char* path, const char* name, void* to, std::size_t room) noexcept;

// Memory
int madvise(void* begin, std::size_t size, int advice) noexcept;
void* mmap(void* begin, std::size_t size, int protection, int flags, int fd, off_t offset) noexcept;
int munmap(void* begin, std::size_t size) noexcept;

// The process and the machine
[[noreturn]] void _exit(int status) noexcept;
int clock_getres(int clock, struct timespec* resolution) noexcept;
int clock_gettime(int clock, struct timespec* now) noexcept;
unsigned geteuid() noexcept;
int getpid() noexcept;
ssize_t getrandom(void* to, std::size_t size, unsigned flags) noexcept;
int pause() noexcept;

}  // namespace clipper::os
