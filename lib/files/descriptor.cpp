#include "files/descriptor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <mutex>
#include <sstream>
#include <string>
#include <system_error>

#include "error.hpp"
#include "files/linux_calls.hpp"

namespace clipper {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

void throw_system_error(const std::string& path, std::string_view what, int error) {
  throw Error(ErrorKind::io, fmt::format("{}: {}: {}", path, what, std::generic_category().message(error)),
              error);
}

void throw_changed(const std::string& path, std::string_view how) {
  throw Error(ErrorKind::io, fmt::format("{}: changed while it was read{}", path, how));
}

bool is_unsupported(int error) noexcept {
  return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM;
}

bool has_no_links(int error) noexcept {
  return is_unsupported(error) || error == EMLINK;
}

bool has_no_unnamed_files(int error) noexcept {
  return is_unsupported(error) || error == EISDIR;
}

/// glibc uses faccessat2() for faccessat(), too, so the second try is the system call itself.
int check_access(int directory, const char* name, int mode) noexcept {
  if (::faccessat(directory, name, mode, AT_EACCESS) == 0) return 0;
  return is_unsupported(errno) ? static_cast<int>(::syscall(SYS_faccessat, directory, name, mode)) : -1;
}

std::array<char, 32> path_of(const Descriptor& fd) noexcept {
  std::array<char, 32> path{"/proc/self/fd/"};
  std::to_chars(path.data() + std::strlen(path.data()), path.data() + path.size() - 1, fd.get());
  return path;
}

namespace {

/// Pages are dropped after so many bytes: the kernel reads up to 8 MiB ahead, which should be used by then.
constexpr std::uint64_t kDropped = 32 << 20;

/// Where the pages end that are dropped after a read or write; 0 if none are. In chunks that come in any
/// order, one crosses each multiple of kDropped.
std::uint64_t dropped_end(std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t end = (offset + size) / kDropped * kDropped;
  return offset < end ? end : 0;
}

ssize_t write_cached(int fd, std::span<const iovec> bytes, off_t offset) {
  if (bytes.size() > 1) return ::pwritev(fd, bytes.data(), static_cast<int>(bytes.size()), offset);
  const auto [start, size] = bytes.front();
  return offset < 0 ? ::write(fd, start, size) : ::pwrite(fd, start, size, offset);
}

/// Waiting may learn of an error that fsync() then does not report again.
void write_out(const Descriptor& fd, std::uint64_t end, unsigned how, const std::string& path) {
  if (::sync_file_range(fd.get(), 0, static_cast<off_t>(end), how) != 0 && !is_unsupported(errno) &&
      errno != ESPIPE)
    throw_system_error(path, "cannot be written");
}

/// Waits for the pages that the last call has sent to the disk, sends those that were written since, and
/// drops those that have arrived.
void drop_written(const Descriptor& fd, std::uint64_t offset, std::uint64_t size, const std::string& path) {
  const std::uint64_t end = dropped_end(offset, size);
  if (end == 0) return;
  write_out(fd, end, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE, path);
  drop_pages(fd, 0, end);
}

}  // namespace

std::size_t read_at(const Descriptor& fd, std::span<std::byte> bytes, std::uint64_t offset,
                    const std::string& path) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = retry_interrupted([&] {
      return ::pread(fd.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    });
    if (got < 0) throw_system_error(path, "cannot be read");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  if (const std::uint64_t end = dropped_end(offset, done); end != 0) drop_pages(fd, 0, end);
  return done;
}

void write_at(const Descriptor& fd, std::span<const std::byte> bytes, std::uint64_t offset,
              const std::string& path) {
  while (!bytes.empty()) {
    const iovec part = part_of(bytes);
    const std::size_t put = write_some(fd, {&part, 1}, static_cast<off_t>(offset), path);
    bytes = bytes.subspan(put);
    offset += put;
  }
}

std::size_t write_some(const Descriptor& fd, std::span<const iovec> bytes, off_t offset,
                       const std::string& path) {
  std::unique_lock turn(fd.writing());
  if (fd.has_uncached_writes()) {
    const ssize_t put = retry_interrupted([&] { return write_uncached(fd.get(), bytes, offset); });
    if (put >= 0) return static_cast<std::size_t>(put);
    if (!is_unsupported(errno)) throw_system_error(path, "cannot be written");
    fd.refuse_uncached_writes();
  }
  const ssize_t put = retry_interrupted([&] { return write_cached(fd.get(), bytes, offset); });
  if (put < 0) throw_system_error(path, "cannot be written");
  turn.unlock();
  if (fd.caching() == Caching::dropped) {
    const off_t begin = offset >= 0 ? offset : ::lseek(fd.get(), 0, SEEK_CUR) - put;
    drop_written(fd, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(put), path);
  }
  return static_cast<std::size_t>(put);
}

void drop_pages(const Descriptor& fd, std::uint64_t offset, std::uint64_t size) noexcept {
  if (fd.caching() == Caching::dropped)
    ::posix_fadvise(fd.get(), static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_DONTNEED);
}

void drop_rest(const Descriptor& fd, const std::string& path) {
  if (fd.caching() == Caching::kept || fd.has_uncached_writes()) return;
  write_out(fd, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER, path);
  drop_pages(fd, 0, 0);
}

bool is_mostly_cached(const Descriptor& fd, std::uint64_t size) noexcept {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  CachedPages pages{};
  return cached_pages(fd.get(), pages) == 0 && pages.cached != 0 && 2 * pages.cached >= size / page;
}

bool lock(const Descriptor& fd, const std::string& path) {
  if (retry_interrupted([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) == 0) return true;
  if (errno == EWOULDBLOCK) refuse(path, "is locked by another program, perhaps another clipper");
  if (errno == ESTALE || errno == ENOENT)
    refuse(path, "was replaced while it was opened; try again");  // seen on GlusterFS
  if (!is_unsupported(errno) && errno != ENOLCK) throw_system_error(path, "cannot be locked");
  return false;
}

void check_close(const Descriptor& fd, const std::string& path) {
  const int copy = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || ::close(copy) != 0) throw_system_error(path, "cannot be written");
}

void enlarge_pipe(const Descriptor& fd) noexcept {
  constexpr int kMaxPipe = 1 << 20;  // default of fs.pipe-max-size
  ::fcntl(fd.get(), F_SETPIPE_SZ, kMaxPipe);
}

namespace {

/// The number of the mount that an open file is on, from "mnt_id:" in /proc/self/fdinfo; 0 if that fails.
/// statx() would need a newer kernel.
std::uint64_t mount_of(int fd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd));
  for (std::string word; info >> word;)
    if (std::uint64_t id = 0; word == "mnt_id:" && info >> id) return id;
  return 0;
}

/// The type in /proc/self/mountinfo, see proc(5): "36 35 98:0 /root /mount/point options, optional fields -
/// type source options"
std::string file_system_type(int fd) {
  const std::uint64_t mount = mount_of(fd);
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::uint64_t id = 0;
    const std::size_t end = line.find(" - ");
    if (!(words >> id) || id != mount || end == line.npos) continue;
    std::string type;
    std::istringstream(line.substr(end + 3)) >> type;
    return type;
  }
  return {};
}

}  // namespace

bool is_of_one_machine(int fd) noexcept {
  constexpr std::array<std::uint64_t, 4> kSystems{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                                  TMPFS_MAGIC};
  struct statfs system {};
  return ::fstatfs(fd, &system) == 0 &&
         std::ranges::find(kSystems, static_cast<std::uint64_t>(system.f_type)) != kSystems.end();
}

std::uint64_t free_bytes(int fd) noexcept {
  struct statvfs system {};
  if (::fstatvfs(fd, &system) != 0 || system.f_blocks == 0) return std::numeric_limits<std::uint64_t>::max();
  return std::uint64_t{::geteuid() == 0 ? system.f_bfree : system.f_bavail} * system.f_frsize;
}

bool is_on_fuse(int fd, std::string_view type) {
  struct statfs system {};
  return ::fstatfs(fd, &system) == 0 && system.f_type == FUSE_SUPER_MAGIC && file_system_type(fd) == type;
}

}  // namespace clipper
