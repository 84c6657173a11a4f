#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace clipper {

/// Divides the elements of a tensor into chunks. All chunks but the first begin at a multiple of the chunk
/// size in the output file, so that no two threads write to one page.
class Chunks {
 public:
  Chunks(std::uint64_t count, std::size_t element_size, std::size_t chunk_size, std::size_t data_offset)
      : count_(count), each_(chunk_size / element_size) {
    const std::uint64_t until_boundary = (chunk_size - data_offset % chunk_size) / element_size;
    first_ = until_boundary == 0 ? each_ : until_boundary;
  }

  struct Chunk {
    std::uint64_t begin;  ///< index of the first element
    std::size_t count;
  };

  [[nodiscard]] std::uint64_t size() const {
    if (count_ == 0) return 0;
    return count_ <= first_ ? 1 : 1 + (count_ - first_ + each_ - 1) / each_;
  }
  [[nodiscard]] Chunk operator[](std::uint64_t index) const {
    const std::uint64_t begin = index == 0 ? 0 : first_ + (index - 1) * each_;
    return {begin, static_cast<std::size_t>(std::min(index == 0 ? first_ : each_, count_ - begin))};
  }

 private:
  std::uint64_t count_;
  std::uint64_t each_;
  std::uint64_t first_;
};

/// The lowest of the positions that many threads find in any order.
class FirstPosition {
 public:
  void note(std::uint64_t position) noexcept {
    std::uint64_t known = position_;
    while (position < known && !position_.compare_exchange_weak(known, position)) {
    }
  }

  /// Nothing if no position was found so far.
  [[nodiscard]] std::optional<std::uint64_t> position() const noexcept {
    const std::uint64_t position = position_;
    return position == kNone ? std::nullopt : std::optional(position);
  }
  [[nodiscard]] bool is_before(std::uint64_t position) const noexcept { return position_ < position; }

 private:
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::atomic<std::uint64_t> position_ = kNone;
};

class Team;

/// The thread pool. No other file uses oneTBB.
///
/// Leaves oneTBB's settings of the process as they are, because they are those of the program that calls the
/// library, too; only a process that is the pool's own gets others.
///
/// An exception in `work` stops it: no further calls begin, and the first exception is thrown again after all
/// threads have stopped. If oneTBB itself throws, because it has no more memory or threads, std::terminate()
/// is called: nobody can tell then which threads are still working.
class Pool {
 public:
  /// Bytes of stack that a thread needs; the deepest frames hold the blocks of a kernel.
  static constexpr std::size_t kStack = 512UL * 1024;

  /// Says that the process is clipper's alone: pools then set the size of stacks to kStack, and may start
  /// more threads than there are CPUs. Before the first pool.
  static void own_process() noexcept;

  /// The most threads that oneTBB gives a pool: those that the process lets it use, or 1 if their stacks are
  /// too small.
  [[nodiscard]] static unsigned limit();

  /// Bytes of stack of each thread that start() starts.
  [[nodiscard]] static std::size_t stack();

  /// The oneTBB library that the program has loaded: "2021.8.0 (interface 12080)".
  [[nodiscard]] static std::string version();

  /// Starts `threads` threads, which include the calling one; at most limit(). Null if oneTBB cannot start,
  /// now or in an earlier call.
  [[nodiscard]] static std::unique_ptr<Pool> start(unsigned threads);

  /// start() with a Team in the place of oneTBB, for one caller at a time and without pipe() and in_turns().
  [[nodiscard]] static std::unique_ptr<Pool> start_team(unsigned threads);

  /// How many threads the arena has that the calling thread is in; 0 if it is in none but that which it has
  /// from an earlier pool.
  [[nodiscard]] static unsigned surrounding_threads();

  /// The threads of that arena. The pool is for the calling thread, while it is there.
  [[nodiscard]] static std::unique_ptr<Pool> surrounding();

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  using Work = std::function<void(std::uint64_t)>;
  enum class Effort : std::uint8_t { even, uneven };

  /// Calls `work(0)` to `work(count - 1)`, several at once and in any order. `work` may call this again: a
  /// thread that waits for the inner call takes no work from the outer one, which could last long.
  void for_each(std::uint64_t count, Effort effort, const Work& work);

  /// Calls both functions for each number: `make` for several numbers at once and at most `ahead` numbers
  /// before `write`, which is called in order.
  void pipe(std::uint64_t count, std::size_t ahead, const Work& make, const Work& write);

  /// Calls all three functions for each number, in one thread: `write` in order, and `read`, too, unless
  /// `reads` says that several may be called at once. `read` returns false if its number and all later ones
  /// are to be left out. Of several exceptions, that of the lowest number is thrown again. A thread that
  /// waits for its turn sleeps: idle threads of oneTBB would look for work meanwhile.
  enum class Reads : std::uint8_t { in_order, at_once };
  void in_turns(std::uint64_t count, Reads reads, const std::function<bool(std::uint64_t)>& read,
                const Work& clip, const Work& write);

  /// Calls `work` in the calling thread, where this_thread() is valid.
  void call(const std::function<void()>& work);

  /// The number of the calling thread: 0 to threads - 1. Only valid in functions that the pool calls.
  [[nodiscard]] static std::size_t this_thread() noexcept;

 private:
  struct Threads;
  Pool(std::unique_ptr<Threads> threads, std::unique_ptr<Team> team);

  std::unique_ptr<Threads> threads_;
  std::unique_ptr<Team> team_;  ///< in place of threads_
};

/// The number of threads that this process may keep busy: the CPUs of its affinity mask, or less if a cgroup
/// CPU quota (version 1 or 2, of its own group or a parent) allows less. At least 1.
[[nodiscard]] unsigned available_threads();

/// The bytes that a thread should handle at a time: half of its L2 cache, which also has room for what is
/// read and written meanwhile; at least 256 KiB, where system calls cost little, and at most 512 KiB, where
/// larger ones gain nothing.
[[nodiscard]] std::size_t cached_chunk();

/// The number of threads that can each have four files open with half of the descriptors that the process may
/// have. At least 1.
[[nodiscard]] unsigned threads_with_files();

/// Threads for work of microseconds. After each work they look for the next one for kAwake, so that calls one
/// after the other do not wait until threads have been woken up. Where that would take a CPU from others,
/// they sleep at once: with at most two CPUs, with more threads than CPUs, and, because they yield, if others
/// want to run.
///
/// A child process has no team: its threads stay in the parent.
class Team {
 public:
  /// How long a thread without work stays awake, in microseconds.
  static constexpr int kAwake = 100;

  /// `threads` include the one that calls share(). Fewer start if the system refuses some.
  Team(unsigned threads, bool stays_awake);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  using Work = std::function<void(std::uint64_t)>;

  /// Calls `work(0)` to `work(count - 1)`, which do not throw, and returns after all of them. The same number
  /// comes to the same thread as in the last call with this count, which may still have its data in its
  /// caches, unless that thread comes late. One call at a time.
  void share(std::uint64_t count, const Work& work);

  /// The number of the calling thread in the work that it does for a team; -1 if it does none.
  [[nodiscard]] static int this_thread() noexcept;

 private:
  /// Of a thread, in cache lines of its own.
  struct alignas(128) Seat {
    std::atomic<std::uint64_t> open = 0;   ///< numbers of the work: the next one, and from bit 32 on the end
    std::atomic<std::uint32_t> calls = 0;  ///< grows when the thread is needed
    std::atomic<bool> sleeps = false;
  };

  void live(unsigned self);
  [[nodiscard]] bool is_needed_soon(const Seat& seat, std::uint32_t calls) const;
  void wake(std::size_t thread);
  void work_from(std::size_t self);

  std::vector<Seat> seats_;
  bool stays_awake_;
  std::atomic<bool> ended_ = false;
  std::atomic<std::size_t> wanted_ = 0;  ///< threads of the current work
  const Work* work_ = nullptr;           ///< for a thread that holds a number
  alignas(128) std::atomic<std::uint64_t> undone_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace clipper
