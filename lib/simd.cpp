#include "simd.hpp"

#include <algorithm>
#include <array>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace clipper {
namespace {

constexpr std::array kLevels{SimdLevel::baseline, SimdLevel::v3, SimdLevel::v4};

#if defined(__x86_64__)
bool cpu_has_v3() noexcept {
  // __builtin_cpu_supports, which also asks whether the system saves the registers, has no names for these
  // three.
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & bit_F16C) == 0 || (ecx & bit_MOVBE) == 0)
    return false;
  if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) == 0 || (ecx & bit_LZCNT) == 0) return false;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}

bool cpu_has_v4() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

std::size_t level_count() noexcept {
  if (!cpu_has_v3()) return 1;
  return cpu_has_v4() ? 3 : 2;
}
#else
std::size_t level_count() noexcept {
  return 1;
}
#endif

}  // namespace

std::string_view name(SimdLevel level) noexcept {
  switch (level) {
    case SimdLevel::baseline: return "baseline";
    case SimdLevel::v3: return "v3";
    case SimdLevel::v4: return "v4";
  }
  __builtin_unreachable();
}

std::optional<SimdLevel> simd_level_named(std::string_view text) noexcept {
  const auto* const found =
      std::find_if(kLevels.begin(), kLevels.end(), [=](SimdLevel level) { return name(level) == text; });
  if (found == kLevels.end()) return std::nullopt;
  return *found;
}

std::span<const SimdLevel> simd_levels() noexcept {
  static const std::size_t count = level_count();
  return std::span(kLevels).first(count);
}

}  // namespace clipper
