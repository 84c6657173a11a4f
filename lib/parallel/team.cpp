#include "parallel/team.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "os/os.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace clipper {
namespace {

thread_local int number_of_thread = -1;

void pause_briefly() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

constexpr std::uint64_t kNext = 0xffff'ffff;  // the bits of Seat::open that are the next number

}  // namespace

Team::Team(unsigned threads, bool stays_awake) : seats_(threads), stays_awake_(stays_awake) {
  threads_.reserve(threads);
  try {
    for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this, i] { live(i); });
  } catch (const std::system_error&) {
    // Seats without a thread stay empty: others do their work.
  }
}

Team::~Team() {
  ended_ = true;
  for (Seat& seat : seats_) {
    ++seat.calls;
    seat.calls.notify_one();
  }
  for (std::thread& thread : threads_) thread.join();
}

int Team::this_thread() noexcept {
  return number_of_thread;
}

void Team::share(std::uint64_t count, const Work& work) {
  const std::size_t wanted = std::min<std::uint64_t>(seats_.size(), count);
  work_ = &work;
  undone_.store(count, std::memory_order_relaxed);
  wanted_.store(wanted, std::memory_order_relaxed);
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::uint64_t begin = i * count / wanted;
    const std::uint64_t end = (i + 1) * count / wanted;
    seats_[i].open.store(end << 32 | begin, std::memory_order_release);
    ++seats_[i].calls;
  }
  wake(1);
  const int outer = std::exchange(number_of_thread, 0);
  work_from(0);
  number_of_thread = outer;
  constexpr int kPauses = 1000;
  for (int i = 0; undone_.load(std::memory_order_acquire) != 0; ++i)
    i < kPauses ? pause_briefly() : std::this_thread::yield();
}

/// Two threads that are awake wake two others each: the system call takes a thread several microseconds.
void Team::wake(std::size_t thread) {
  if (thread < wanted_.load(std::memory_order_relaxed) && seats_[thread].sleeps)
    seats_[thread].calls.notify_one();
}

/// Takes the numbers of the thread's own seat, then what late threads have left. A number can only be taken
/// while its work goes on, because share() waits for it.
void Team::work_from(std::size_t self) {
  const std::size_t wanted = wanted_.load(std::memory_order_relaxed);
  std::uint64_t done = 0;
  for (std::size_t k = 0; k < wanted; ++k) {
    std::atomic<std::uint64_t>& open = seats_[(self + k) % wanted].open;
    std::uint64_t numbers = open.load(std::memory_order_acquire);
    while ((numbers & kNext) < numbers >> 32) {
      if (!open.compare_exchange_weak(numbers, numbers + 1, std::memory_order_acq_rel)) continue;
      (*work_)(numbers & kNext);
      ++done;
      ++numbers;
    }
  }
  if (done != 0) undone_.fetch_sub(done, std::memory_order_release);
}

/// Whether the thread is called while it is awake.
bool Team::is_needed_soon(const Seat& seat, std::uint32_t calls) const {
  using Clock = std::chrono::steady_clock;
  if (!stays_awake_) return false;
  constexpr int kPauses = 64;  // a few microseconds
  const auto end = Clock::now() + std::chrono::microseconds(kAwake);
  do {
    for (int i = 0; i < kPauses; ++i) {
      if (seat.calls.load(std::memory_order_acquire) != calls) return true;
      pause_briefly();
    }
    std::this_thread::yield();
  } while (Clock::now() < end);
  return false;
}

void Team::live(unsigned self) {
  os::block_signals();  // their handlers belong to the program
  number_of_thread = static_cast<int>(self);
  Seat& seat = seats_[self];
  for (std::uint32_t calls = 0;;) {
    if (!is_needed_soon(seat, calls)) {
      seat.sleeps = true;
      seat.calls.wait(calls);
      seat.sleeps = false;
    }
    calls = seat.calls;
    if (ended_) return;
    wake(2UL * self);
    wake(2UL * self + 1);
    work_from(self);
  }
}

}  // namespace clipper
