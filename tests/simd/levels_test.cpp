#include "simd/levels.hpp"

#include "support/catch.hpp"

namespace clipper {

TEST_CASE("simd_levels() begins with the baseline and is in ascending order") {
  const std::span<const SimdLevel> levels = simd_levels();
  REQUIRE_FALSE(levels.empty());
  CHECK(levels.front() == SimdLevel::baseline);
  CHECK(std::adjacent_find(levels.begin(), levels.end(), std::greater_equal<>{}) == levels.end());
}

#if defined(__x86_64__)
TEST_CASE("simd_levels() are those that the CPU has") {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  CHECK(simd_levels().size() == (avx512 ? 3 : avx2 ? 2 : 1));
  CHECK(has_vbmi() == (__builtin_cpu_supports("avx512vbmi") != 0));
}
#endif

TEST_CASE("the levels have the names that users know") {
  CHECK(to_string(SimdLevel::baseline) == "baseline");
  CHECK(to_string(SimdLevel::v3) == "v3");
  CHECK(to_string(SimdLevel::v4) == "v4");
}

}  // namespace clipper
