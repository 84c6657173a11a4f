/// Preloaded into tests and clipper, so that they find another machine: machines.py says what it has.
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

extern "C" {

long sysconf(int name) noexcept {
  static const auto real = reinterpret_cast<long (*)(int)>(::dlsym(RTLD_NEXT, "sysconf"));
  const char* const bytes = std::getenv("CLIPPER_MACHINE_L2");
  return name == _SC_LEVEL2_CACHE_SIZE && bytes != nullptr ? std::atol(bytes) : real(name);
}

/// Adds CPUs up to a number, except to a mask that was reduced to one CPU: threads_test does that.
int sched_getaffinity(pid_t process, size_t size, cpu_set_t* cpus) noexcept {
  using Function = int (*)(pid_t, size_t, cpu_set_t*);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "sched_getaffinity"));
  const int result = real(process, size, cpus);
  const char* const number = std::getenv("CLIPPER_MACHINE_CPUS");
  if (result < 0 || number == nullptr || CPU_COUNT_S(size, cpus) == 1) return result;
  for (int cpu = 0; cpu < std::min(std::atoi(number), static_cast<int>(8 * size)); ++cpu)
    CPU_SET_S(cpu, size, cpus);
  return result;
}

}  // extern "C"
