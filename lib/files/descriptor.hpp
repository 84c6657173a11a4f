#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "os/os.hpp"

namespace clipper {

/// Lets few threads at a time make a system call that only one of them can carry out: in the kernel the
/// others would spin. Those that wait sleep. The thread that came last goes on first: its data is still in
/// the caches, and where there are more threads than the work can use, the others sleep until the end. A
/// running thread may go on before one that was woken up.
class Turn {
 public:
  /// `threads` go on at a time on more than two CPUs. On fewer it is always two: one CPU can spin at most,
  /// and waking a thread takes longer.
  explicit Turn(unsigned threads = 1) : threads_(threads) {}

  void lock() {
    std::unique_lock lock(mutex_);
    while (taken_ != 0 && taken_ >= limit(threads_)) {
      Waiting self{.next = waiting_, .woken = {}, .goes_on = false};
      waiting_ = &self;
      self.woken.wait(lock, [&] { return self.goes_on; });
    }
    ++taken_;
  }

  void unlock() noexcept {
    const std::lock_guard lock(mutex_);
    --taken_;
    if (waiting_ == nullptr) return;
    Waiting* const last = std::exchange(waiting_, waiting_->next);
    last->goes_on = true;
    last->woken.notify_one();
  }

  /// How many threads go on at a time. The first call reads a file.
  [[nodiscard]] static unsigned limit(unsigned threads) noexcept {
    static const bool has_many_cpus = std::thread::hardware_concurrency() > 2;
    return has_many_cpus ? threads : 2;
  }

 private:
  struct Waiting {
    Waiting* next;
    std::condition_variable woken;
    bool goes_on;
  };

  const unsigned threads_;
  std::mutex mutex_;
  Waiting* waiting_ = nullptr;
  unsigned taken_ = 0;
};

/// The turn of threads that create names in the directory of `path`.
[[nodiscard]] Turn& creating(const std::string& path);

/// Whether what is read and written stays in the page cache.
enum class Caching : std::uint8_t { kept, dropped };

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        caching_(std::exchange(other.caching_, Caching::kept)),
        has_flag_(other.has_flag_.load()),
        system_(other.system_.load()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(caching_, other.caching_);
    has_flag_ = other.has_flag_.exchange(has_flag_);
    system_ = other.system_.exchange(system_);
    return *this;
  }
  ~Descriptor();

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

  /// What read_at() and write_at() leave in the page cache; they keep everything unless this is called.
  void set_caching(Caching caching) noexcept { caching_ = caching; }
  [[nodiscard]] Caching caching() const noexcept { return caching_; }

  /// Whether writes may have the flag RWF_DONTCACHE: until the kernel or the file system refuses it.
  [[nodiscard]] bool has_uncached_writes() const noexcept {
    return caching_ == Caching::dropped && has_flag_;
  }
  void refuse_uncached_writes() const noexcept { has_flag_ = false; }

  /// The file system that the file is on, asked for once.
  [[nodiscard]] os::FileSystem file_system() const noexcept;

  /// Held by write_some(), because a file has one writer at a time.
  [[nodiscard]] Turn& writing() const noexcept { return writing_; }

 private:
  int fd_ = -1;
  Caching caching_ = Caching::kept;
  mutable std::atomic<bool> has_flag_ = true;
  mutable std::atomic<os::FileSystem> system_ = os::FileSystem::unknown;
  mutable Turn writing_;
};

/// Throws Error{io}: "out.npy: cannot be written: No space left on device".
[[noreturn]] void throw_system_error(const std::string& path, std::string_view what, int error = errno);

/// Throws Error{io} because another program has written to the file or truncated it: "x.npy: changed while it
/// was read".
[[noreturn]] void throw_changed(const std::string& path, std::string_view how = "");

/// Whether link() failed because the file system has no hard links, or allows none for this file.
[[nodiscard]] bool has_no_links(int error) noexcept;

/// Whether open() with O_TMPFILE failed because the file system has no unnamed files.
[[nodiscard]] bool has_no_unnamed_files(int error) noexcept;

/// Repeats a system call while signals interrupt it (EINTR). Returns its result.
template <class Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// open() and openat() with O_CLOEXEC. No descriptor, with errno, on failure.
[[nodiscard]] Descriptor open_file(const std::string& path, int flags, os::Mode mode = 0);
[[nodiscard]] Descriptor open_at(int directory, const char* name, int flags, os::Mode mode = 0);

/// Reads at `offset` of the file. Returns the number of bytes, less than requested only at the end of the
/// file. Callable from many threads.
[[nodiscard]] std::size_t read_at(const Descriptor& fd, std::span<std::byte> bytes, std::uint64_t offset,
                                  const std::string& path);

/// Writes all bytes at `offset` of the file. Callable from many threads.
void write_at(const Descriptor& fd, std::span<const std::byte> bytes, std::uint64_t offset,
              const std::string& path);

/// Bytes that write_some() only reads.
[[nodiscard]] inline os::iovec part_of(std::span<const std::byte> bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

/// Writes at `offset`, or one part at the file's position if `offset` is -1. Returns the number of bytes,
/// which may be less than all.
[[nodiscard]] std::size_t write_some(const Descriptor& fd, std::span<const os::iovec> bytes, off_t offset,
                                     const std::string& path);

/// With Caching::dropped, drops the pages of `size` bytes from the page cache, or to the end if it is 0,
/// except those that are not yet written out or mapped into memory.
void drop_pages(const Descriptor& fd, std::uint64_t offset, std::uint64_t size) noexcept;

/// The same for the whole file, after everything is written out. The kernel does that for writes with
/// RWF_DONTCACHE, and nobody waits for it.
void drop_rest(const Descriptor& fd, const std::string& path);

/// Whether at least half of the file's pages are in the page cache. False before Linux 6.5, and if the user
/// neither owns the file nor may write to it.
[[nodiscard]] bool is_mostly_cached(const Descriptor& fd, std::uint64_t size) noexcept;

/// Locks the file until its last descriptor is closed. Returns false if the file system has no locks.
/// Error{refused} if another program, such as clipper or flock(1), holds the lock.
[[nodiscard]] bool lock(const Descriptor& fd, const std::string& path);

/// Error{io} for a write that failed late, which network file systems and FUSE report in close(); see
/// is_of_one_machine(). Closes a copy of the descriptor, so that the error is known while the file is open.
void check_close(const Descriptor& fd, const std::string& path);

/// Enlarges the buffer of a pipe to 256 KiB, so that both ends wait less for each other. Does nothing to
/// other files.
void enlarge_pipe(const Descriptor& fd) noexcept;

/// Whether the file is on ext4, XFS, btrfs or tmpfs: local file systems on which all processes of this
/// machine see the same bytes and names at once, and syncfs() brings data to the disk as fsync() does.
[[nodiscard]] bool is_of_one_machine(int fd) noexcept;

/// Whether the file is on a FUSE file system of that type, such as "fuse.sshfs". False if the type is
/// unknown.
[[nodiscard]] bool is_on_fuse(int fd, std::string_view type);

// Whether a file was written to between two looks at it. Size and modification time (mtime) show that, and
// the time of the last change of attributes (ctime), which no program can set. A file that changed twice in
// one tick of its file system's clock has the same times after both changes.

/// The status of the open file at an instant after which every write gives it another size or time. Returns
/// at once if it is not a regular file, or did not change in the current tick. Otherwise waits until the tick
/// is over: a few milliseconds, or up to two seconds where the file system counts in seconds. Error{io} if
/// the file cannot be examined, or changes in tick after tick.
[[nodiscard]] os::Status settled_status(const Descriptor& fd, const std::string& path);

/// The status of the open file now. Error{io} if it cannot be examined.
[[nodiscard]] os::Status status_of(const Descriptor& fd, const std::string& path);

/// Whether the file was written to between the two states; `before` must be settled_status(). Cannot see a
/// write that was in progress at the first look, nor a write through a memory mapping into a page that was
/// written to before and that the kernel has not yet written out.
[[nodiscard]] bool is_written(const os::Status& before, const os::Status& now);

/// Whether the file has the same owner, mode, names and other attributes, and was not written to, either.
[[nodiscard]] bool has_same_attributes(const os::Status& before, const os::Status& now);

/// Whose clock gives the files of a file system their times.
enum class FileClock : std::uint8_t {
  own,     ///< this kernel's CLOCK_REALTIME_COARSE
  foreign  ///< perhaps another machine's, which may be a second behind
};

/// `own` on ext4, XFS, btrfs, tmpfs and overlayfs.
[[nodiscard]] FileClock clock_of(const Descriptor& fd);

/// How long to wait after `look` until the tick in which the file last changed is over; 0 if it was over when
/// CLOCK_REALTIME_COARSE, read before the look, was `now`. Both are since the epoch.
[[nodiscard]] std::chrono::nanoseconds rest_of_tick(const os::Status& look, std::chrono::nanoseconds now,
                                                    FileClock clock);

// 64-bit checksums that detect bytes that were changed, exchanged, shifted, lost or torn. They are no
// protection against deliberate collisions.

/// XXH64 (github.com/Cyan4973/xxHash), with the same value on every machine.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;

inline constexpr std::size_t kSummedBlock = 4096;  ///< bytes of a block of placed_sum()

/// The checksum of bytes at `offset` of a file: the sum of the checksums of their blocks, each seeded with
/// its place in the file. Many threads can sum parts of a file, and the sums of parts can be added and
/// subtracted, if all parts but the last are whole blocks.
[[nodiscard]] std::uint64_t placed_sum(std::span<const std::byte> bytes, std::uint64_t offset) noexcept;

}  // namespace clipper
