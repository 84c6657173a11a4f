#include "files/file_state.hpp"

#include <algorithm>
#include <ctime>
#include <thread>

#include "files/descriptor.hpp"

namespace clipper {
namespace {

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

os::Status status_of(const Descriptor& fd, const std::string& path) {
  os::Status status{};
  if (os::fstat(fd.get(), &status) != 0) throw_system_error(path, "cannot be examined");
  return status;
}

FileClock clock_of(const Descriptor& fd) {
  if (is_of_one_machine(fd.get())) return FileClock::own;
  const bool is_overlay = os::file_system(fd.get()) == os::FileSystem::overlayfs;
  return is_overlay ? FileClock::own : FileClock::foreign;
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
    if (os::is_sealed(fd.get())) return look;
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

}  // namespace clipper
