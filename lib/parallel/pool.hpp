#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace clipper {

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

}  // namespace clipper
