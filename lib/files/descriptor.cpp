#include "files/descriptor.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>

#include "error.hpp"
#include "files/place.hpp"

namespace clipper {

Descriptor::~Descriptor() {
  if (fd_ >= 0) os::close(fd_);
}

os::FileSystem Descriptor::file_system() const noexcept {
  if (system_ == os::FileSystem::unknown) system_ = os::file_system(fd_);
  return system_;
}

void throw_system_error(const std::string& path, std::string_view what, int error) {
  throw Error(ErrorKind::io, fmt::format("{}: {}: {}", path, what, os::error_text(error)), error);
}

void throw_changed(const std::string& path, std::string_view how) {
  throw Error(ErrorKind::io, fmt::format("{}: changed while it was read{}", path, how));
}

Descriptor open_file(const std::string& path, int flags, os::Mode mode) {
  return Descriptor(retry_interrupted([&] { return os::open(path.c_str(), flags | O_CLOEXEC, mode); }));
}

Descriptor open_at(int directory, const char* name, int flags, os::Mode mode) {
  return Descriptor(retry_interrupted([&] { return os::openat(directory, name, flags | O_CLOEXEC, mode); }));
}

bool has_no_links(int error) noexcept {
  return os::is_unsupported(error) || error == EMLINK;
}

bool has_no_unnamed_files(int error) noexcept {
  return os::is_unsupported(error) || error == EISDIR;
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

/// Waiting may learn of an error that fsync() then does not report again.
void write_out(const Descriptor& fd, std::uint64_t end, unsigned how, const std::string& path) {
  if (os::sync_file_range(fd.get(), 0, static_cast<off_t>(end), how) != 0 && !os::is_unsupported(errno) &&
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
      return os::pread(fd.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
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
    const os::iovec part = part_of(bytes);
    const std::size_t put = write_some(fd, {&part, 1}, static_cast<off_t>(offset), path);
    bytes = bytes.subspan(put);
    offset += put;
  }
}

std::size_t write_some(const Descriptor& fd, std::span<const os::iovec> bytes, off_t offset,
                       const std::string& path) {
  std::unique_lock turn(fd.writing());
  if (fd.has_uncached_writes()) {
    const ssize_t put = retry_interrupted([&] { return os::write_uncached(fd.get(), bytes, offset); });
    if (put >= 0) return static_cast<std::size_t>(put);
    if (!os::is_unsupported(errno)) throw_system_error(path, "cannot be written");
    fd.refuse_uncached_writes();
  }
  const ssize_t put = retry_interrupted([&] { return os::write_parts(fd.get(), bytes, offset); });
  if (put < 0) throw_system_error(path, "cannot be written");
  turn.unlock();
  if (fd.caching() == Caching::dropped) {
    const off_t begin = offset >= 0 ? offset : os::lseek(fd.get(), 0, SEEK_CUR) - put;
    drop_written(fd, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(put), path);
  }
  return static_cast<std::size_t>(put);
}

void drop_pages(const Descriptor& fd, std::uint64_t offset, std::uint64_t size) noexcept {
  if (fd.caching() == Caching::dropped)
    os::posix_fadvise(fd.get(), static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_DONTNEED);
}

void drop_rest(const Descriptor& fd, const std::string& path) {
  if (fd.caching() == Caching::kept || fd.has_uncached_writes()) return;
  write_out(fd, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER, path);
  drop_pages(fd, 0, 0);
}

bool is_mostly_cached(const Descriptor& fd, std::uint64_t size) noexcept {
  const std::uint64_t cached = os::cached_pages(fd.get());
  return cached != 0 && 2 * cached >= size / os::page_size();
}

bool lock(const Descriptor& fd, const std::string& path) {
  if (retry_interrupted([&] { return os::flock(fd.get(), LOCK_EX | LOCK_NB); }) == 0) return true;
  if (errno == EWOULDBLOCK) refuse(path, "is locked by another program, perhaps another clipper");
  if (errno == ESTALE || errno == ENOENT)
    refuse(path, "was replaced while it was opened; try again");  // seen on GlusterFS
  if (!os::is_unsupported(errno) && errno != ENOLCK) throw_system_error(path, "cannot be locked");
  return false;
}

namespace {

bool is_local(os::FileSystem system) noexcept {
  using os::FileSystem;
  constexpr std::array kSystems{FileSystem::ext4, FileSystem::xfs, FileSystem::btrfs, FileSystem::tmpfs};
  return std::ranges::find(kSystems, system) != kSystems.end();
}

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

/// Turns of threads that create names in a directory. A child process needs others: a thread that only its
/// parent has may have taken these.
struct Creators {
  /// A call is short: a second thread that spins goes on sooner than one that is woken up.
  struct Two : Turn {
    Two() : Turn(2) {}
  };

  const pid_t process = os::getpid();
  std::array<Two, 16> turns;  // several directories may share one
};

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr nanoseconds kMaxJiffy = 10ms;  // of a kernel with HZ=100
constexpr nanoseconds kMaxBehind = 1s;   // of the clock of another machine
constexpr nanoseconds kMaxTick = 2s;     // of FAT
constexpr int kMaxTicks = 3;

nanoseconds since_epoch(const struct timespec& time) {
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

nanoseconds coarse_now() {
  struct timespec now {};
  os::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return since_epoch(now);
}

/// The time between two values of CLOCK_REALTIME_COARSE.
nanoseconds jiffy() {
  struct timespec resolution {};
  os::clock_getres(CLOCK_REALTIME_COARSE, &resolution);
  return since_epoch(resolution);
}

nanoseconds last_change(const os::Status& status) {
  return std::max(since_epoch(status.st_mtim), since_epoch(status.st_ctim));
}

/// What the two times of the file look like tells the tick. From Linux 6.13 on, some file systems give a
/// write that comes after a look a time of its own, but nothing tells which do: all count in jiffies here.
nanoseconds tick_of(const os::Status& status, FileClock clock) {
  const bool counts_seconds = status.st_mtim.tv_nsec == 0 && status.st_ctim.tv_nsec == 0;
  if (!counts_seconds) return clock == FileClock::own ? 1ns : kMaxJiffy;
  const bool can_be_fat =
      clock == FileClock::foreign && status.st_mtim.tv_sec % 2 == 0 && status.st_ctim.tv_sec % 2 == 0;
  return can_be_fat ? kMaxTick : 1s;
}

bool is_same_time(const struct timespec& a, const struct timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

void check_close(const Descriptor& fd, const std::string& path) {
  if (is_local(fd.file_system())) return;
  const int copy = os::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || os::close(copy) != 0) throw_system_error(path, "cannot be written");
}

void enlarge_pipe(const Descriptor& fd) noexcept {
  constexpr int kPipe =
      256 << 10;  // the pages of a larger one leave the second-level cache before they are read
  os::fcntl(fd.get(), F_SETPIPE_SZ, kPipe);
}

bool is_of_one_machine(int fd) noexcept {
  return is_local(os::file_system(fd));
}

bool is_on_fuse(int fd, std::string_view type) {
  return os::file_system(fd) == os::FileSystem::fuse && file_system_type(fd) == type;
}

Turn& creating(const std::string& path) {
  static std::atomic<Creators*> current = nullptr;
  Creators* now = current;
  if (now == nullptr || now->process != os::getpid()) {
    auto own = std::make_unique<Creators>();
    if (current.compare_exchange_strong(now, own.get())) now = own.release();
  }
  return now->turns[std::hash<std::string>()(directory_of(path)) % now->turns.size()];
}

os::Status status_of(const Descriptor& fd, const std::string& path) {
  os::Status status{};
  if (os::fstat(fd.get(), &status) != 0) throw_system_error(path, "cannot be examined");
  return status;
}

FileClock clock_of(const Descriptor& fd) {
  const os::FileSystem system = fd.file_system();
  return is_local(system) || system == os::FileSystem::overlayfs ? FileClock::own : FileClock::foreign;
}

/// The clock of another machine decides how long ago the last change was, but not how long a tick takes. A
/// time in the future, which a program may have set, is no reason to wait longer than a tick.
nanoseconds rest_of_tick(const os::Status& look, nanoseconds now, FileClock clock) {
  const nanoseconds tick = tick_of(look, clock);
  const nanoseconds rest = last_change(look) + tick - now;
  if (clock == FileClock::own) return std::clamp(rest, 0ns, tick);
  return rest + kMaxBehind <= 0ns ? 0ns : tick;
}

os::Status settled_status(const Descriptor& fd, const std::string& path) {
  for (int ticks = 0; ticks < kMaxTicks; ++ticks) {
    const nanoseconds now = coarse_now();
    const os::Status look = status_of(fd, path);
    if (!S_ISREG(look.st_mode) || now - last_change(look) >= kMaxTick + kMaxBehind) return look;
    if (fd.file_system() == os::FileSystem::tmpfs && os::is_sealed(fd.get())) return look;  // memfd_create()
    const nanoseconds rest = rest_of_tick(look, now, clock_of(fd));
    if (rest == 0ns) return look;
    std::this_thread::sleep_for(rest + jiffy());  // CLOCK_REALTIME_COARSE is up to a jiffy late
    const os::Status again = status_of(fd, path);
    if (!is_written(look, again) && has_same_attributes(look, again)) return again;
  }
  throw_changed(path);
}

bool is_written(const os::Status& before, const os::Status& now) {
  return now.st_size != before.st_size || !is_same_time(now.st_mtim, before.st_mtim);
}

bool has_same_attributes(const os::Status& before, const os::Status& now) {
  return is_same_time(now.st_ctim, before.st_ctim);
}

std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  return XXH64(bytes.data(), bytes.size(), 0);
}

std::uint64_t placed_sum(std::span<const std::byte> bytes, std::uint64_t offset) noexcept {
  std::uint64_t total = 0;
  for (; !bytes.empty(); offset += kSummedBlock) {
    const std::size_t size = std::min(kSummedBlock, bytes.size());
    total += XXH64(bytes.data(), size, offset);
    bytes = bytes.subspan(size);
  }
  return total;
}

}  // namespace clipper
