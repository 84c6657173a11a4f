#pragma once

#if defined(_WIN32)
#include "os/windows.hpp"
#else
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#endif

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// The calls of the operating system; no other file of lib or app makes one. A function of POSIX or Linux has
/// its own name here. Functions report a failure as POSIX says, by -1 and errno, unless stated otherwise.
/// Constants and tests that are macros, such as O_CREAT and S_ISREG(), have no namespace.
namespace clipper::os {

#if !defined(_WIN32)
using Mode = ::mode_t;
using SignalMask = ::sigset_t;
using Status = struct ::stat;
using ::DIR, ::dirent, ::iovec;

// Names
using ::access, ::fnmatch, ::fstatat, ::linkat, ::lstat, ::mkdirat, ::open, ::openat, ::renameat, ::stat,
    ::unlinkat;

// Open files
using ::close, ::fallocate, ::fchmod, ::fchown, ::fcntl, ::fdatasync, ::fileno, ::flock, ::fstat, ::fsync,
    ::ftruncate;
using ::closedir, ::dirfd, ::fdopendir, ::readdir;
using ::isatty, ::lseek, ::posix_fadvise, ::pread, ::read, ::sync_file_range, ::syncfs, ::write;

// Memory
using ::madvise, ::mmap, ::munmap;

// The process and the machine
using ::_exit, ::clock_getres, ::clock_gettime, ::getrandom, ::geteuid, ::getpid, ::pause;
using ::dlerror, ::dlopen, ::dlsym;
using ::getxattr;
#endif

#if defined(_WIN32)
inline constexpr bool kIsWindows = true;
#else
inline constexpr bool kIsWindows = false;
#endif

/// The first step of main(). Where the system has other command lines, streams and consoles, makes them those
/// of POSIX: UTF-8, and slashes in paths.
void begin(int& argc, char**& argv);

/// What the error of a call means.
[[nodiscard]] std::string error_text(int error);

/// Whether `error` of a call that gives a file a name means that another program's open file keeps its name.
[[nodiscard]] bool is_held_open(int error) noexcept;

/// A path as std::filesystem takes it, and as all other code does.
[[nodiscard]] std::filesystem::path native(const std::string& path);
[[nodiscard]] std::string text_of(const std::filesystem::path& path);

/// The name in the directory, by the rules of std::filesystem::path.
[[nodiscard]] std::string joined(const std::string& directory, const std::string& name);

/// The same for all spellings of a name that lead to one file.
[[nodiscard]] std::string folded(const std::string& name);

/// A path that comes from outside, with slashes.
[[nodiscard]] std::string with_slashes(std::string path);

/// The length of the root directory's name at the beginning of an absolute path; 0 of a relative path.
[[nodiscard]] std::size_t root_length(std::string_view path) noexcept;

/// The directory of large temporary files.
[[nodiscard]] std::string temporary_directory();

/// Whether the kernel is Linux `major`.`minor` or later.
[[nodiscard]] bool is_linux(unsigned major, unsigned minor) noexcept;

/// Whether a call failed because the file system or the kernel does not support it. EPERM is the answer of
/// old container runtimes to system calls that they do not know. Where it has its other meaning, the call
/// that is tried instead fails with it, too.
[[nodiscard]] bool is_unsupported(int error) noexcept;

/// faccessat() with the permissions of the effective user; where that system call is not supported, with
/// those of the real user.
[[nodiscard]] int check_access(int directory, const char* name, int mode) noexcept;

/// The absolute path without symbolic links; empty, with errno, on failure.
[[nodiscard]] std::string real_path(const std::string& path);

/// Renames a file; EEXIST if there is one with the new name.
[[nodiscard]] int rename_new(int from_directory, const char* from, int to_directory, const char* to) noexcept;

/// Exchanges the names of two files at one instant.
[[nodiscard]] int exchange_names(int a_directory, const char* a, int b_directory, const char* b) noexcept;

/// Links an open file, which may have no name, to a new name. Does not use the heap.
[[nodiscard]] int link_file(int fd, int directory, const char* name) noexcept;

/// Whether two names in a directory are known to be on one mount.
[[nodiscard]] bool are_on_one_mount(int directory, const char* a, const char* b) noexcept;

/// Whether names in the directory can be neither removed nor replaced (chattr +a).
[[nodiscard]] bool is_append_only(int directory) noexcept;

/// Whether the directory is sticky (chmod +t) and does not let this user remove or rename the file.
[[nodiscard]] bool is_sticky_for(int directory, const Status& file) noexcept;

/// Writes at `offset`, or one part at the file's position if `offset` is -1.
[[nodiscard]] ssize_t write_parts(int fd, std::span<const iovec> parts, off_t offset) noexcept;

/// The same with RWF_DONTCACHE: pages that were not in the page cache leave it once they are written out.
[[nodiscard]] ssize_t write_uncached(int fd, std::span<const iovec> parts, off_t offset) noexcept;

/// The file's pages that are in the page cache. 0 before Linux 6.5, and if the user neither owns the file nor
/// may write to it.
[[nodiscard]] std::uint64_t cached_pages(int fd) noexcept;

/// Makes both files share blocks at `offset` (FICLONERANGE).
[[nodiscard]] int share_blocks(int fd, int input, std::uint64_t offset, std::uint64_t size) noexcept;

/// Whether a write would not wait, or comes to be so within the time.
[[nodiscard]] bool is_writable(int fd, int milliseconds) noexcept;

/// Whether the descriptor leads to a terminal that understands escape sequences.
[[nodiscard]] bool is_capable_terminal(int fd);

/// The width of a terminal; 0 if it is unknown.
[[nodiscard]] std::size_t columns(int fd) noexcept;

enum class FileSystem : std::uint8_t {
  unknown,  ///< the call failed
  other,
  bcachefs,
  btrfs,
  ext4,  ///< also ext2 and ext3
  fuse,
  overlayfs,
  procfs,
  tmpfs,
  xfs,
};

[[nodiscard]] FileSystem file_system(int fd) noexcept;
[[nodiscard]] FileSystem file_system(const char* path) noexcept;

/// The bytes that this process may still write to the file system: with root's reserve for root. The maximum
/// of the type if they are unknown or have no limit.
[[nodiscard]] std::uint64_t free_bytes(int fd) noexcept;

// Extended attributes of an open file, as the functions of xattr(7); where containers refuse these, by its
// path.
[[nodiscard]] ssize_t read_attribute(int fd, const char* name, char* to, std::size_t room) noexcept;
[[nodiscard]] ssize_t list_attributes(int fd, char* to, std::size_t room) noexcept;
[[nodiscard]] int write_attribute(int fd, const char* name, const char* from, std::size_t size) noexcept;
[[nodiscard]] int remove_attribute(int fd, const char* name) noexcept;

enum class Limit : std::uint8_t { descriptors, stack };

/// The soft limit; nothing if it is unknown.
[[nodiscard]] std::optional<std::uint64_t> limit_of(Limit limit) noexcept;

/// The CPUs of this process's affinity mask, at least 1.
[[nodiscard]] unsigned cpus() noexcept;

/// How many of `wanted` threads, including the calling one, the system lets this process run at once. At
/// least 1. Starts and ends that many threads with stacks of `stack_size` bytes to find out.
[[nodiscard]] unsigned startable_threads(unsigned wanted, std::size_t stack_size);

/// Bytes of stack of a std::thread; 0 if they are unknown.
[[nodiscard]] std::size_t thread_stack() noexcept;

/// Bytes of the second-level cache; 0 if they are unknown.
[[nodiscard]] std::size_t second_level_cache() noexcept;

[[nodiscard]] std::size_t page_size() noexcept;

/// Whether nobody can ever write to the file again: a memfd with all seals.
[[nodiscard]] bool is_sealed(int fd) noexcept;

/// Whether the page with this address is in memory.
[[nodiscard]] bool is_resident(const std::byte* address) noexcept;

/// Memory for free_aligned(); null if there is none. The size is a multiple of the alignment.
[[nodiscard]] std::byte* allocate_aligned(std::size_t alignment, std::size_t size) noexcept;
void free_aligned(std::byte* memory) noexcept;

/// Whether the process can map `size` more bytes.
[[nodiscard]] bool can_map(std::size_t size) noexcept;

/// Blocks all signals of this thread. Returns those that were blocked before.
SignalMask block_signals() noexcept;

/// The signals that block_signals() has returned stay blocked; others arrive again.
void restore_signals(const SignalMask& before) noexcept;

/// Whether the thread that gets the signal cannot go on.
[[nodiscard]] bool is_fault(int signal) noexcept;

/// Calls `handler` for each signal that would end the process, except SIGXFSZ: a write beyond RLIMIT_FSIZE
/// fails instead. Only the program may call this, not the library.
void handle_ending_signals(void (*handler)(int)) noexcept;

/// Calls `repair` in the thread that gets a SIGBUS for an access to the address. The access is repeated if it
/// returns true; otherwise the action takes place that the process had for the signal before. Only the
/// program may call this, not the library, and once.
void handle_bus_errors(bool (*repair)(const void* address) noexcept) noexcept;

/// Ends the process as if it did not handle the signal.
[[noreturn]] void end_by_signal(int signal) noexcept;

}  // namespace clipper::os
