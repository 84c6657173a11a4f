#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

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

}  // namespace clipper
