#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace clipper {

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
