#include <linux/magic.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <limits>
#include <memory>
#include <system_error>
#include <vector>

#include "os/os.hpp"

#if defined(__GLIBC__)
#include <linux/stat.h>
#else
#define statx kernel_statx  // musl has the structure of Linux 4.11, without stx_mnt_id
#define statx_timestamp kernel_statx_timestamp
#include <linux/stat.h>
#undef statx
#undef statx_timestamp
#endif

#include <linux/fs.h>

namespace clipper::os {
namespace {

// System calls that not every C library has a function for.

#if defined(__GLIBC__)
using ExtendedStatus = struct statx;

int extended_status(int directory, const char* name, int flags, unsigned wanted, ExtendedStatus& status) {
  return ::statx(directory, name, flags, wanted, &status);
}

int rename_with(unsigned flags, int from_directory, const char* from, int to_directory, const char* to) {
  return ::renameat2(from_directory, from, to_directory, to, flags);
}
#else
using ExtendedStatus = struct kernel_statx;

int extended_status(int directory, const char* name, int flags, unsigned wanted, ExtendedStatus& status) {
  return static_cast<int>(::syscall(SYS_statx, directory, name, flags, wanted, &status));
}

int rename_with(unsigned flags, int from_directory, const char* from, int to_directory, const char* to) {
  return static_cast<int>(::syscall(SYS_renameat2, from_directory, from, to_directory, to, flags));
}
#endif

/// The path of an open file in /proc, for a call that takes no descriptor.
std::array<char, 32> path_of(int fd) noexcept {
  std::array<char, 32> path{"/proc/self/fd/"};
  std::to_chars(path.data() + std::strlen(path.data()), path.data() + path.size() - 1, fd);
  return path;
}

/// The result of a call for an open file, or, where containers refuse that system call, of the same call for
/// its path in /proc.
template <class OnDescriptor, class OnPath>
auto either(int fd, OnDescriptor on_descriptor, OnPath on_path) noexcept {
  const auto result = on_descriptor();
  return result < 0 && (errno == EPERM || errno == ENOSYS) ? on_path(path_of(fd).data()) : result;
}

FileSystem kind_of(const struct statfs& system) noexcept {
  constexpr std::uint32_t kBcachefs = 0xca451a4e;  // not in <linux/magic.h>
  switch (static_cast<std::uint32_t>(system.f_type)) {
    case kBcachefs: return FileSystem::bcachefs;
    case BTRFS_SUPER_MAGIC: return FileSystem::btrfs;
    case EXT4_SUPER_MAGIC: return FileSystem::ext4;
    case FUSE_SUPER_MAGIC: return FileSystem::fuse;
    case OVERLAYFS_SUPER_MAGIC: return FileSystem::overlayfs;
    case PROC_SUPER_MAGIC: return FileSystem::procfs;
    case TMPFS_MAGIC: return FileSystem::tmpfs;
    case XFS_SUPER_MAGIC: return FileSystem::xfs;
    default: return FileSystem::other;
  }
}

/// Whether the signal's default action ends the process (signal(7)).
constexpr bool ends_process(int signal) {
  switch (signal) {
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU: return false;
    default: return true;
  }
}

}  // namespace

void begin(int& /*argc*/, char**& /*argv*/) {}

std::string error_text(int error) {
  return std::generic_category().message(error);
}

bool is_held_open(int /*error*/) noexcept {
  return false;
}

std::filesystem::path native(const std::string& path) {
  return path;
}

std::string text_of(const std::filesystem::path& path) {
  return path.native();
}

std::string joined(const std::string& directory, const std::string& name) {
  return std::filesystem::path(directory) / name;
}

std::string folded(const std::string& name) {
  return name;
}

std::string with_slashes(std::string path) {
  return path;
}

std::size_t root_length(std::string_view path) noexcept {
  return path.starts_with('/') ? 1 : 0;
}

std::string temporary_directory() {
  return "/var/tmp";
}

bool is_unsupported(int error) noexcept {
  return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM;
}

/// glibc uses faccessat2() for faccessat(), too, so the second try is the system call itself.
int check_access(int directory, const char* name, int mode) noexcept {
  if (::faccessat(directory, name, mode, AT_EACCESS) == 0) return 0;
  return is_unsupported(errno) ? static_cast<int>(::syscall(SYS_faccessat, directory, name, mode)) : -1;
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? real.get() : std::string();
}

bool is_linux(unsigned major, unsigned minor) noexcept {
  struct utsname system {};
  unsigned found_major = 0;
  unsigned found_minor = 0;
  if (::uname(&system) != 0) return false;
  const char* const end = system.release + std::strlen(system.release);
  const char* const dot = std::from_chars(system.release, end, found_major).ptr;
  if (dot != end) std::from_chars(dot + 1, end, found_minor);
  return found_major != major ? found_major > major : found_minor >= minor;
}

int rename_new(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  return rename_with(RENAME_NOREPLACE, from_directory, from, to_directory, to);
}

int exchange_names(int a_directory, const char* a, int b_directory, const char* b) noexcept {
  return rename_with(RENAME_EXCHANGE, a_directory, a, b_directory, b);
}

/// Linux before 6.10 links a descriptor only for privileged processes: ENOENT.
int link_file(int fd, int directory, const char* name) noexcept {
  if (::linkat(fd, "", directory, name, AT_EMPTY_PATH) == 0) return 0;
  if (errno != ENOENT) return -1;
  return ::linkat(AT_FDCWD, path_of(fd).data(), directory, name, AT_SYMLINK_FOLLOW);
}

bool are_on_one_mount(int directory, const char* a, const char* b) noexcept {
  ExtendedStatus first{};
  ExtendedStatus second{};
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW;
  return extended_status(directory, a, kFlags, STATX_MNT_ID, first) == 0 &&
         extended_status(directory, b, kFlags, STATX_MNT_ID, second) == 0 &&
         (first.stx_mask & second.stx_mask & STATX_MNT_ID) != 0 && first.stx_mnt_id == second.stx_mnt_id;
}

bool is_append_only(int directory) noexcept {
  ExtendedStatus status{};
  return extended_status(directory, "", AT_EMPTY_PATH, 0, status) == 0 &&
         (status.stx_attributes & STATX_ATTR_APPEND) != 0;
}

/// As check_sticky() in the kernel; root is taken to have CAP_FOWNER.
bool is_sticky_for(int directory, const Status& file) noexcept {
  Status holder{};
  const uid_t user = ::geteuid();
  return user != 0 && user != file.st_uid && ::fstat(directory, &holder) == 0 &&
         (holder.st_mode & S_ISVTX) != 0 && user != holder.st_uid;
}

ssize_t write_parts(int fd, std::span<const iovec> parts, off_t offset) noexcept {
  if (parts.size() > 1) return ::pwritev(fd, parts.data(), static_cast<int>(parts.size()), offset);
  const auto [start, size] = parts.front();
  return offset < 0 ? ::write(fd, start, size) : ::pwrite(fd, start, size, offset);
}

ssize_t write_uncached(int fd, std::span<const iovec> parts, off_t offset) noexcept {
  constexpr int kDontCache = 0x80;  // RWF_DONTCACHE, in <linux/fs.h> since Linux 6.14
#if defined(__GLIBC__)
  return ::pwritev2(fd, parts.data(), static_cast<int>(parts.size()), offset, kDontCache);
#else
  return ::syscall(SYS_pwritev2, fd, parts.data(), parts.size(), offset, 0, kDontCache);
#endif
}

std::uint64_t cached_pages(int fd) noexcept {
  constexpr long kCachestat = 451;  // in <sys/syscall.h> since Linux 6.5; the same on all architectures
  const std::array<std::uint64_t, 2> range{};  // from 0 to the end
  struct {
    std::uint64_t cached, dirty, in_writeback, evicted, recently_evicted;
  } pages{};
  return ::syscall(kCachestat, fd, range.data(), &pages, 0) == 0 ? pages.cached : 0;
}

int share_blocks(int fd, int input, std::uint64_t offset, std::uint64_t size) noexcept {
  const file_clone_range range{input, offset, size, offset};
#ifdef __GLIBC__
  constexpr unsigned long kCommand = FICLONERANGE;
#else  // musl declares an int, which this command exceeds on ppc64le
  constexpr auto kCommand = static_cast<int>(FICLONERANGE);
#endif
  return ::ioctl(fd, kCommand, &range);
}

bool is_writable(int fd, int milliseconds) noexcept {
  pollfd stream{fd, POLLOUT, 0};
  return ::poll(&stream, 1, milliseconds) != 0 && stream.revents != 0;
}

bool is_capable_terminal(int fd) {
  const char* const name = std::getenv("TERM");
  return ::isatty(fd) != 0 && name != nullptr && std::string_view(name) != "dumb";
}

std::size_t columns(int fd) noexcept {
  struct winsize size {};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? std::size_t{size.ws_col} : 0;
}

FileSystem file_system(int fd) noexcept {
  struct statfs system {};
  return ::fstatfs(fd, &system) == 0 ? kind_of(system) : FileSystem::unknown;
}

FileSystem file_system(const char* path) noexcept {
  struct statfs system {};
  return ::statfs(path, &system) == 0 ? kind_of(system) : FileSystem::unknown;
}

std::uint64_t free_bytes(int fd) noexcept {
  struct statvfs system {};
  if (::fstatvfs(fd, &system) != 0 || system.f_blocks == 0) return std::numeric_limits<std::uint64_t>::max();
  return std::uint64_t{::geteuid() == 0 ? system.f_bfree : system.f_bavail} * system.f_frsize;
}

ssize_t read_attribute(int fd, const char* name, char* to, std::size_t room) noexcept {
  return either(
      fd, [&] { return ::fgetxattr(fd, name, to, room); },
      [&](const char* path) { return ::getxattr(path, name, to, room); });
}

ssize_t list_attributes(int fd, char* to, std::size_t room) noexcept {
  return either(
      fd, [&] { return ::flistxattr(fd, to, room); },
      [&](const char* path) { return ::listxattr(path, to, room); });
}

int write_attribute(int fd, const char* name, const char* from, std::size_t size) noexcept {
  return either(
      fd, [&] { return ::fsetxattr(fd, name, from, size, 0); },
      [&](const char* path) { return ::setxattr(path, name, from, size, 0); });
}

int remove_attribute(int fd, const char* name) noexcept {
  return either(
      fd, [&] { return ::fremovexattr(fd, name); },
      [&](const char* path) { return ::removexattr(path, name); });
}

std::optional<std::uint64_t> limit_of(Limit limit) noexcept {
  struct rlimit found {};
  if (::getrlimit(limit == Limit::stack ? RLIMIT_STACK : RLIMIT_NOFILE, &found) != 0) return std::nullopt;
  return found.rlim_cur == RLIM_INFINITY ? std::numeric_limits<std::uint64_t>::max() : found.rlim_cur;
}

unsigned cpus() noexcept {
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&cpus)));
}

unsigned startable_threads(unsigned wanted, std::size_t stack_size) {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return 1;
  ::pthread_attr_setstacksize(&attributes, stack_size);
  std::latch all_started(1);
  const auto wait = [](void* latch) -> void* {
    static_cast<std::latch*>(latch)->wait();
    return nullptr;
  };
  std::vector<pthread_t> threads;
  threads.reserve(wanted);
  for (pthread_t thread = 0; threads.size() + 1 < wanted; threads.push_back(thread))
    if (::pthread_create(&thread, &attributes, wait, &all_started) != 0) break;
  all_started.count_down();
  for (const pthread_t thread : threads) ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
  return static_cast<unsigned>(threads.size()) + 1;
}

std::size_t thread_stack() noexcept {
  pthread_attr_t attributes;
  std::size_t size = 0;
  if (::pthread_getattr_default_np(&attributes) != 0) return 0;
  ::pthread_attr_getstacksize(&attributes, &size);
  ::pthread_attr_destroy(&attributes);
  return size;
}

std::size_t second_level_cache() noexcept {
#ifdef _SC_LEVEL2_CACHE_SIZE
  return static_cast<std::size_t>(std::max(::sysconf(_SC_LEVEL2_CACHE_SIZE), 0L));  // 0 or -1 if unknown
#else
  return 0;  // musl
#endif
}

std::size_t page_size() noexcept {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

bool is_sealed(int fd) noexcept {
  constexpr int kAll = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kAll) == kAll;
}

bool is_resident(const std::byte* address) noexcept {
  const std::size_t page = page_size();
  unsigned char state = 0;
  void* const begin = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) / page * page);
  return ::mincore(begin, page, &state) == 0 && (state & 1) != 0;
}

std::byte* allocate_aligned(std::size_t alignment, std::size_t size) noexcept {
  return static_cast<std::byte*>(std::aligned_alloc(alignment, size));
}

void free_aligned(std::byte* memory) noexcept {
  std::free(memory);
}

bool can_map(std::size_t size) noexcept {
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  ::munmap(memory, size);
  return true;
}

SignalMask block_signals() noexcept {
  SignalMask all;
  SignalMask before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  return before;
}

void restore_signals(const SignalMask& before) noexcept {
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

namespace {

void (*ending_handler)(int);
thread_local volatile std::sig_atomic_t is_sent = 0;  ///< by another process: the signal that is handled

extern "C" void take_ending_signal(int signal, siginfo_t* info, void* /*context*/) {
  is_sent = info->si_code <= 0 && info->si_pid != ::getpid() ? 1 : 0;  // abort() sends, too
  ending_handler(signal);
  is_sent = 0;
}

bool (*repair_bus_error)(const void* address) noexcept;
struct sigaction action_before {};

/// A signal that another process has sent is raised again: no access will repeat it.
extern "C" void take_bus_error(int signal, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  const bool is_access = info->si_code > 0;
  if (!is_access || !repair_bus_error(info->si_addr)) {
    ::sigaction(signal, &action_before, nullptr);
    if (!is_access) std::raise(signal);
  }
  errno = error;
}

}  // namespace

/// Another process may send what is a fault otherwise.
bool is_fault(int signal) noexcept {
  if (is_sent != 0) return false;
  switch (signal) {
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGSEGV:
    case SIGSYS:
    case SIGTRAP: return true;
    default: return false;
  }
}

/// The actions of others, SIG_IGN from nohup or a sanitizer's handler, are put back: to ask for each action
/// first would take twice as many calls. Signals wait meanwhile.
void handle_ending_signals(void (*handler)(int)) noexcept {
  ending_handler = handler;
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond RLIMIT_FSIZE then fails with EFBIG
  struct sigaction action {};
  action.sa_sigaction = take_ending_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigfillset(&action.sa_mask);
  const SignalMask blocked = block_signals();
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction before {};
    if (ends_process(signal) && ::sigaction(signal, &action, &before) == 0 && before.sa_handler != SIG_DFL)
      ::sigaction(signal, &before, nullptr);
  }
  restore_signals(blocked);
}

void handle_bus_errors(bool (*repair)(const void* address) noexcept) noexcept {
  repair_bus_error = repair;
  struct sigaction action {};
  action.sa_sigaction = take_bus_error;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigfillset(&action.sa_mask);
  ::sigaction(SIGBUS, nullptr, &action_before);
  ::sigaction(SIGBUS, &action, nullptr);
}

void end_by_signal(int signal) noexcept {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  SignalMask own;
  ::sigemptyset(&own);
  ::sigaddset(&own, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  ::_exit(128 + signal);  // PID 1 of a container survives its own signals
}

}  // namespace clipper::os
