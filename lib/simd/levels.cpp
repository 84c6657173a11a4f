#include "simd/levels.hpp"

// Asks glibc, whose loader has tested the CPU already: on a virtual machine, testing it again
// (__builtin_cpu_supports) takes longer than clipping a small file.
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#define _Bool bool  // NOLINT: the header of glibc 2.36 uses _Bool, which clang does not know in C++
#include <sys/platform/x86.h>
#undef _Bool
#define CLIPPER_KNOWS_THE_CPU
#endif

namespace clipper {
namespace {

#if defined(CLIPPER_KNOWS_THE_CPU)
bool cpu_has_v3() noexcept {
  return CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(FMA) && CPU_FEATURE_ACTIVE(F16C) &&
         CPU_FEATURE_ACTIVE(BMI1) && CPU_FEATURE_ACTIVE(BMI2) && CPU_FEATURE_ACTIVE(LZCNT) &&
         CPU_FEATURE_ACTIVE(MOVBE);
}

bool cpu_has_v4() noexcept {
  return CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512BW) && CPU_FEATURE_ACTIVE(AVX512CD) &&
         CPU_FEATURE_ACTIVE(AVX512DQ) && CPU_FEATURE_ACTIVE(AVX512VL);
}

std::size_t level_count() noexcept {
  if (!cpu_has_v3()) return 1;
  return cpu_has_v4() ? 3 : 2;
}

bool cpu_has_vbmi() noexcept {
  return CPU_FEATURE_ACTIVE(AVX512_VBMI);
}
#else
std::size_t level_count() noexcept {
  return 1;
}

bool cpu_has_vbmi() noexcept {
  return false;
}
#endif

}  // namespace

std::string_view to_string(SimdLevel level) noexcept {
  switch (level) {
    case SimdLevel::baseline: return "baseline";
    case SimdLevel::v3: return "v3";
    case SimdLevel::v4: return "v4";
  }
  __builtin_unreachable();
}

std::span<const SimdLevel> simd_levels() noexcept {
  static const std::size_t count = level_count();
  return std::span(kSimdLevels).first(count);
}

bool has_vbmi() noexcept {
  static const bool result = cpu_has_vbmi();
  return result;
}

}  // namespace clipper
