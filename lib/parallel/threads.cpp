#include "parallel/threads.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <latch>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace clipper {
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

unsigned affinity() {
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&cpus)));
}

}  // namespace

unsigned startable_threads(unsigned wanted, std::size_t stack_size) {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return 1;
  ::pthread_attr_setstacksize(&attributes, stack_size);
  std::latch all_started(1);
  const auto wait = [](void* latch) -> void* {
    static_cast<std::latch*>(latch)->wait();
    return nullptr;
  };
  std::vector<pthread_t> threads;
  threads.reserve(wanted);
  for (pthread_t thread = 0; threads.size() + 1 < wanted; threads.push_back(thread))
    if (::pthread_create(&thread, &attributes, wait, &all_started) != 0) break;
  all_started.count_down();
  for (const pthread_t thread : threads) ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
  return static_cast<unsigned>(threads.size()) + 1;
}

std::size_t cached_chunk() {
  constexpr std::size_t kLowest = 256UL << 10;
  constexpr std::size_t kHighest = 512UL << 10;
#ifdef _SC_LEVEL2_CACHE_SIZE
  const long cache = ::sysconf(_SC_LEVEL2_CACHE_SIZE);  // 0 or -1 if unknown
#else
  const long cache = 0;  // musl
#endif
  const auto half = static_cast<std::size_t>(std::max(cache, 0L)) / 2;
  return std::clamp(std::bit_floor(half), kLowest, kHighest);
}

unsigned threads_with_files() {
  constexpr rlim_t kEach = 4;
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  return static_cast<unsigned>(std::clamp<rlim_t>(limit.rlim_cur / 2 / kEach, 1, kNoLimit));
}

unsigned available_threads() {
  return std::min(affinity(), control_group_limit());
}

}  // namespace clipper
