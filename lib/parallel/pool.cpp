#include "parallel/pool.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "os/os.hpp"

namespace clipper {
namespace {

/// Keeps the first exception of many threads.
class FirstFailure {
 public:
  /// Calls `work`, unless an earlier call has failed.
  template <class Work>
  void guard(const Work& work) noexcept {
    if (failed_) return;
    try {
      work();
    } catch (...) {
      if (!failed_.exchange(true)) exception_ = std::current_exception();
    }
  }

  [[nodiscard]] bool is_known() const noexcept { return failed_; }

  /// Only after all threads have left guard().
  void throw_again() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::atomic<bool> failed_ = false;
  std::exception_ptr exception_;
};

/// Gives the threads that hold consecutive numbers their turns.
class Turns {
 public:
  explicit Turns(std::size_t threads) : waiting_(threads) {}

  /// Calls `work` after all lower numbers have had their turns.
  template <class Work>
  void take(std::uint64_t number, const Work& work) {
    std::unique_lock lock(mutex_);
    waiting_[number % waiting_.size()].wait(lock, [&] { return turn_ == number; });
    lock.unlock();
    work();
    lock.lock();
    ++turn_;
    waiting_[turn_ % waiting_.size()].notify_one();
  }

 private:
  std::mutex mutex_;
  std::vector<std::condition_variable>
      waiting_;  ///< each for one thread, because each thread holds one number
  std::uint64_t turn_ = 0;
};

using Control = tbb::global_control;

std::atomic<bool> owns_process = false;

/// The threads of the arena that oneTBB gave the calling thread because of a pool; 0 if there is none.
thread_local int threads_of_own_arena = 0;

/// Notes the arena that the calling thread gets meanwhile.
class OwnArena {
 public:
  OwnArena() = default;
  OwnArena(const OwnArena&) = delete;
  OwnArena& operator=(const OwnArena&) = delete;
  ~OwnArena() {
    if (is_new_ && tbb::this_task_arena::current_thread_index() >= 0)
      threads_of_own_arena = tbb::this_task_arena::max_concurrency();
  }

 private:
  bool is_new_ = tbb::this_task_arena::current_thread_index() < 0;
};

}  // namespace

struct Pool::Threads {
  explicit Threads(unsigned threads) : arena(static_cast<int>(threads)) {
    if (!owns_process) return;
    count.emplace(Control::max_allowed_parallelism, threads);  // may exceed the number of CPUs
    stack.emplace(Control::thread_stack_size, kStack);
  }
  explicit Threads(tbb::attach surrounding) : arena(surrounding) {}

  template <class Work>
  void execute(const Work& work) noexcept {
    const OwnArena noted;
    arena.execute(work);
  }

  std::optional<Control> count;
  std::optional<Control> stack;
  tbb::task_arena arena;
};

Pool::Pool(std::unique_ptr<Threads> threads, std::unique_ptr<Team> team)
    : threads_(std::move(threads)), team_(std::move(team)) {}

Pool::~Pool() = default;

std::string Pool::version() {
  return fmt::format("{} (interface {})", TBB_runtime_version(), TBB_runtime_interface_version());
}

void Pool::own_process() noexcept {
  owns_process = true;
}

unsigned Pool::limit() {
  if (owns_process) return std::numeric_limits<unsigned>::max();
  // An arena of more threads makes oneTBB write a warning to stderr.
  return stack() < kStack ? 1
                          : static_cast<unsigned>(Control::active_value(Control::max_allowed_parallelism));
}

std::size_t Pool::stack() {
  return owns_process ? kStack : Control::active_value(Control::thread_stack_size);
}

unsigned Pool::surrounding_threads() {
  if (tbb::this_task_arena::current_thread_index() < 0) return 0;
  const int threads = tbb::this_task_arena::max_concurrency();
  // An arena of the caller's that cannot be told from the thread's own has as many threads as a new one.
  const bool is_own = threads == threads_of_own_arena && tbb::task::current_context() == nullptr;
  return is_own ? 0 : static_cast<unsigned>(threads);
}

std::unique_ptr<Pool> Pool::surrounding() {
  return std::unique_ptr<Pool>(new Pool(std::make_unique<Threads>(tbb::attach{}), nullptr));
}

std::unique_ptr<Pool> Pool::start(unsigned threads) {
  // If its start throws, oneTBB 2021 stays in the state "pending" (atomic_do_once) and keeps some of its
  // locks: any later use, even by a destructor, waits forever. So the object is leaked and oneTBB is not used
  // again.
  static std::atomic<bool> has_failed = false;
  if (has_failed) return nullptr;
  const OwnArena noted;
  auto started = std::make_unique<Threads>(threads);
  try {
    started->arena.initialize();
  } catch (...) {
    has_failed = true;
    static_cast<void>(started.release());
    return nullptr;
  }
  return std::unique_ptr<Pool>(new Pool(std::move(started), nullptr));
}

std::unique_ptr<Pool> Pool::start_team(unsigned threads) {
  if (os::thread_stack() < kStack) return nullptr;
  const unsigned cpus = available_threads();
  return std::unique_ptr<Pool>(
      new Pool(nullptr, std::make_unique<Team>(threads, cpus > 2 && threads <= cpus)));
}

void Pool::for_each(std::uint64_t count, Effort effort, const Work& work) {
  FirstFailure failure;
  const auto guard_one = [&](std::uint64_t i) { failure.guard([&] { work(i); }); };
  if (team_) {
    team_->share(count, guard_one);
    return failure.throw_again();
  }
  const auto guarded = [&](const tbb::blocked_range<std::uint64_t>& range) {
    for (std::uint64_t i = range.begin(); i < range.end(); ++i) guard_one(i);
  };
  const tbb::blocked_range<std::uint64_t> all(0, count);
  const auto share = [&] {
    if (effort == Effort::uneven)
      tbb::parallel_for(all, guarded, tbb::simple_partitioner());  // one task per number
    else
      tbb::parallel_for(all, guarded);
  };
  threads_->execute([&] { tbb::this_task_arena::isolate(share); });
  failure.throw_again();
}

void Pool::call(const std::function<void()>& work) {
  if (team_) return for_each(1, Effort::even, [&](std::uint64_t /*number*/) { work(); });
  FirstFailure failure;
  threads_->execute([&] { failure.guard(work); });
  failure.throw_again();
}

void Pool::pipe(std::uint64_t count, std::size_t ahead, const Work& make, const Work& write) {
  FirstFailure failure;
  std::uint64_t next = 0;
  const auto take = [&](tbb::flow_control& control) {
    if (next == count || failure.is_known()) control.stop();
    return next++;
  };
  const auto make_one = [&](std::uint64_t i) {
    failure.guard([&] { make(i); });
    return i;
  };
  const auto write_one = [&](std::uint64_t i) { failure.guard([&] { write(i); }); };
  using tbb::filter_mode;
  const auto steps = tbb::make_filter<void, std::uint64_t>(filter_mode::serial_in_order, take) &
                     tbb::make_filter<std::uint64_t, std::uint64_t>(filter_mode::parallel, make_one) &
                     tbb::make_filter<std::uint64_t, void>(filter_mode::serial_in_order, write_one);
  const auto run = [&] { tbb::parallel_pipeline(ahead, steps); };
  threads_->execute([&] { tbb::this_task_arena::isolate(run); });
  failure.throw_again();
}

void Pool::in_turns(std::uint64_t count, Reads reads, const std::function<bool(std::uint64_t)>& read,
                    const Work& clip, const Work& write) {
  const auto threads = static_cast<std::size_t>(threads_->arena.max_concurrency());
  Turns turns(threads);
  FirstFailure failure;
  std::mutex reading;
  std::uint64_t next = 0;
  std::atomic<bool> ended = false;
  const auto take_numbers = [&](std::uint64_t /*thread*/) {
    for (;;) {
      std::unique_lock lock(reading);
      if (next == count || ended || failure.is_known()) return;
      const std::uint64_t i = next++;
      if (reads == Reads::at_once) lock.unlock();
      bool goes_on = false;
      std::exception_ptr failed;
      try {
        goes_on = read(i);
        if (lock) lock.unlock();
        if (goes_on) clip(i);
      } catch (...) {
        failed = std::current_exception();
      }
      if (failed || !goes_on) ended = true;
      if (lock) lock.unlock();
      turns.take(i, [&] {
        failure.guard([&] {
          if (failed) std::rethrow_exception(failed);
          if (goes_on) write(i);
        });
      });
    }
  };
  for_each(threads, Effort::uneven, take_numbers);
  failure.throw_again();
}

std::size_t Pool::this_thread() noexcept {
  const int of_team = Team::this_thread();
  return static_cast<std::size_t>(of_team >= 0 ? of_team : tbb::this_task_arena::current_thread_index());
}

namespace {

constexpr unsigned kNoLimit = std::numeric_limits<unsigned>::max();

unsigned cpus_of(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return kNoLimit;
  return std::max(1U, static_cast<unsigned>(std::lround(quota / period)));
}

unsigned quota_v2(const std::string& group) {
  std::ifstream file("/sys/fs/cgroup" + group + "/cpu.max");
  double quota = 0;  // stays 0 for "max"
  double period = 0;
  file >> quota >> period;
  return cpus_of(quota, period);
}

unsigned quota_v1(const std::string& group) {
  double quota = 0;
  double period = 0;
  std::ifstream("/sys/fs/cgroup/cpu" + group + "/cpu.cfs_quota_us") >> quota;
  std::ifstream("/sys/fs/cgroup/cpu" + group + "/cpu.cfs_period_us") >> period;
  return cpus_of(quota, period);
}

template <class Quota>
unsigned lowest_quota(std::string group, Quota quota) {
  unsigned lowest = kNoLimit;
  for (;;) {
    if (group == "/") group.clear();
    lowest = std::min(lowest, quota(group));
    if (group.empty()) return lowest;
    group.resize(group.rfind('/'));
  }
}

/// Lines of /proc/self/cgroup are `hierarchy:controllers:group`; cgroup version 2 has hierarchy 0 and no
/// controllers.
unsigned control_group_limit() {
  unsigned limit = kNoLimit;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos || second + 1 >= line.size() || line[second + 1] != '/') continue;
    line[first] = line[second] = ',';
    const std::string_view controllers = std::string_view(line).substr(first, second - first + 1);
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") limit = std::min(limit, lowest_quota(group, quota_v2));
    if (controllers.find(",cpu,") != std::string_view::npos)
      limit = std::min(limit, lowest_quota(group, quota_v1));
  }
  return limit;
}

}  // namespace

std::size_t cached_chunk() {
  constexpr std::size_t kLowest = 256UL << 10;
  constexpr std::size_t kHighest = 512UL << 10;
  return std::clamp(std::bit_floor(os::second_level_cache() / 2), kLowest, kHighest);
}

unsigned threads_with_files() {
  constexpr unsigned kEach = 4;
  const auto limit = os::limit_of(os::Limit::descriptors);
  return limit ? static_cast<unsigned>(std::clamp<std::uint64_t>(*limit / 2 / kEach, 1, kNoLimit)) : kNoLimit;
}

unsigned available_threads() {
  return std::min(os::cpus(), control_group_limit());
}

}  // namespace clipper

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
