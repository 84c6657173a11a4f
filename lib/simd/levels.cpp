#include "simd/levels.hpp"

// Asks glibc, whose loader has tested the CPU already: on a virtual machine, testing it again
// (__builtin_cpu_supports) takes longer than clipping a small file.
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#define _Bool bool  // NOLINT: the header of glibc 2.36 uses _Bool, which clang does not know in C++
#include <sys/platform/x86.h>
#undef _Bool
#define CLIPPER_KNOWS_THE_CPU
#elif defined(_WIN32)
#include <cpuid.h>

#include <initializer_list>
#define CLIPPER_ASKS_THE_CPU
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

bool cpu_has_vbmi() noexcept {
  return CPU_FEATURE_ACTIVE(AVX512_VBMI);
}
#elif defined(CLIPPER_ASKS_THE_CPU)
/// The registers of cpuid, in the order of its answer.
enum Register : std::size_t { kEax, kEbx, kEcx, kEdx };
using Registers = std::array<unsigned, 4>;

Registers ask(unsigned leaf) noexcept {
  Registers r{};
  if (__get_cpuid_count(leaf, 0, &r[kEax], &r[kEbx], &r[kEcx], &r[kEdx]) == 0) r = {};
  return r;
}

bool has_bits(unsigned found, std::initializer_list<int> bits) noexcept {
  for (const int bit : bits)
    if ((found >> bit & 1U) == 0) return false;
  return true;
}

/// The registers that the system saves when it changes threads (XCR0).
unsigned saved_registers() noexcept {
  unsigned low = 0;
  unsigned high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

// The bits are those of Intel's manual, volume 2, CPUID.
bool cpu_has_v3() noexcept {
  const unsigned features = ask(1)[kEcx];
  return has_bits(features, {12, 22, 27, 28, 29}) && has_bits(saved_registers(), {1, 2}) &&
         has_bits(ask(7)[kEbx], {3, 5, 8}) &&
         has_bits(ask(0x80000001)[kEcx], {5});  // FMA to F16C; BMI, AVX2, BMI2; LZCNT
}

bool has_vectors_of_64() noexcept {
  return cpu_has_v3() && has_bits(saved_registers(), {5, 6, 7});
}

bool cpu_has_v4() noexcept {
  return has_vectors_of_64() && has_bits(ask(7)[kEbx], {16, 17, 28, 30, 31});  // F, DQ, CD, BW, VL
}

bool cpu_has_vbmi() noexcept {
  return has_vectors_of_64() && has_bits(ask(7)[kEcx], {1});
}
#else
std::size_t level_count() noexcept {
  return 1;
}

bool cpu_has_vbmi() noexcept {
  return false;
}
#endif

#if defined(CLIPPER_KNOWS_THE_CPU) || defined(CLIPPER_ASKS_THE_CPU)
std::size_t level_count() noexcept {
  if (!cpu_has_v3()) return 1;
  return cpu_has_v4() ? 3 : 2;
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
