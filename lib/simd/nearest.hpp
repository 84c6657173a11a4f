#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "element/half.hpp"
#include "simd/half_vector.hpp"
#include "simd/vector.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

/// Floats as the nearest integers of 32 and 64 bits, half to even, by
/// instructions. g++ 12 finds them in no loop: rint() and a conversion may
/// raise exceptions that the program could ask for.
namespace clipper {

/// Of floats from -2^31 to below 2^31.
[[gnu::always_inline]] inline void to_nearest(const Vector<float, 16>& x,
                                              Vector<std::int32_t, 16>& nearest) noexcept {
  nearest = __builtin_bit_cast(Vector<std::int32_t, 16>, _mm_cvtps_epi32(__builtin_bit_cast(__m128, x)));
}

[[gnu::target("avx2")]] inline void to_nearest(const Vector<float, 32>& x,
                                               Vector<std::int32_t, 32>& nearest) noexcept {
  nearest = __builtin_bit_cast(Vector<std::int32_t, 32>, _mm256_cvtps_epi32(__builtin_bit_cast(__m256, x)));
}

[[gnu::target("avx512f")]] inline void to_nearest(const Vector<float, 64>& x,
                                                  Vector<std::int32_t, 64>& nearest) noexcept {
  nearest = __builtin_bit_cast(Vector<std::int32_t, 64>,
                               _mm512_maskz_cvtps_epi32(kAllLanes, __builtin_bit_cast(__m512, x)));
}

[[gnu::always_inline]] inline std::int64_t to_nearest(float x) noexcept {
  return _mm_cvtss_si64(_mm_set_ss(x));
}
[[gnu::always_inline]] inline std::int64_t to_nearest(double x) noexcept {
  return _mm_cvtsd_si64(_mm_set_sd(x));
}

/// The same of floats in the range of To, which has 32 bits.
template <class To, std::size_t kBytes>
[[gnu::always_inline]] inline void store_nearest(const Vector<float, kBytes>& x, To* out) noexcept {
  using Bits = Vector<std::int32_t, kBytes>;
  Bits nearest;
  if constexpr (std::is_signed_v<To>) {
    to_nearest(x, nearest);
  } else {
    const Bits is_upper = x >= 0x1p31F;  // such floats are integers, so the difference is exact
    const Bits middle = is_upper & std::bit_cast<std::int32_t>(0x1p31F);
    to_nearest(x - __builtin_bit_cast(Vector<float, kBytes>, middle), nearest);
    nearest ^= is_upper << 31;
  }
  std::memcpy(out, &nearest, sizeof nearest);
}

/// The same of an element in the range of To, which has 64 bits.
template <class To, class Working>
[[gnu::always_inline]] inline To nearest_of(Working x) noexcept {
  if constexpr (std::is_signed_v<To>) return to_nearest(x);  // all integers of 32 bits, too
  constexpr auto kMiddle = static_cast<Working>(0x1p63);
  const bool is_upper = x >= kMiddle;
  const auto nearest = static_cast<std::uint64_t>(to_nearest(is_upper ? x - kMiddle : x));
  return static_cast<To>(nearest ^ (is_upper ? std::uint64_t{1} << 63 : 0));
}

/// The same of `count` elements.
template <std::size_t kBytes, class Working, class To>
[[gnu::always_inline]] inline void store_nearest(const Working* in, To* out, std::size_t count) noexcept {
  constexpr std::size_t kLanes = kBytes / sizeof(float);
  std::size_t i = 0;
  if constexpr (sizeof(To) == sizeof(float))
    for (; i + kLanes <= count; i += kLanes) {
      Vector<float, kBytes> x;
      std::memcpy(&x, in + i, sizeof x);
      store_nearest<To, kBytes>(x, out + i);
    }
  for (; i < count; ++i)
    out[i] =
        static_cast<To>(nearest_of<std::conditional_t<sizeof(To) == sizeof(float), std::int64_t, To>>(in[i]));
}

}  // namespace clipper
#endif
