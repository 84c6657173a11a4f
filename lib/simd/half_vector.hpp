#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "element/half.hpp"
#include "simd/vector.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/// Converts vectors of float16 or bfloat16 to vectors of floats and back.
namespace clipper {

template <std::size_t kBytes>
using HalfVector = Vector<std::int16_t, kBytes>;

/// A vector of halves as floats: those at even and those at odd positions, which shifts and masks can
/// separate.
template <std::size_t kBytes>
struct FloatPair {
  Vector<float, kBytes> even;
  Vector<float, kBytes> odd;
};

#if defined(__x86_64__)
// The x86-64 baseline selects lanes by three instructions, so these functions select none. They give the same
// results as widen_bits() and narrow_bits().

/// `upper` has float16 elements in the upper 16 bits.
[[gnu::always_inline]] inline Vector<float, 16> widen_float16(
    const Vector<std::int32_t, 16>& upper) noexcept {
  using Bits = Vector<std::int32_t, 16>;
  constexpr std::int32_t kSignAndMagnitude = -0x70002000;  // 0x8fffe000
  const auto finite = __builtin_bit_cast(Vector<float, 16>, upper >> 3 & kSignAndMagnitude) * 0x1p112F;
  const Bits is_special = (upper & 0x7c000000) == 0x7c000000;
  return __builtin_bit_cast(Vector<float, 16>, __builtin_bit_cast(Bits, finite) | (is_special & 0x7f800000));
}

/// The lower 16 bits are x as a float16. The lower 13 bits of a NaN must be 0: those of every NaN that
/// calculations with float16 and finite numbers give are.
[[gnu::always_inline]] inline Vector<std::int32_t, 16> narrow_float16(const Vector<float, 16>& x) noexcept {
  using Bits = Vector<std::int32_t, 16>;
  constexpr float kBeyond = 65536;             // rounds to infinity, like all above it
  constexpr float kSmallestNormal = 0x1p-14F;  // 1024 times the smallest subnormal
  const Bits bits = __builtin_bit_cast(Bits, x);
  const Bits magnitude = bits & 0x7fffffff;
  // If x is NaN, these two instructions give their second operand.
  const __m128 capped = _mm_min_ps(_mm_set1_ps(kBeyond), __builtin_bit_cast(__m128, magnitude));
  const auto normal = __builtin_bit_cast(Bits, _mm_max_ps(_mm_set1_ps(kSmallestNormal), capped));
  const __m128 subnormal = _mm_min_ps(capped, _mm_set1_ps(kSmallestNormal));
  // Both parts of the sum include the smallest normal, or are it.
  const Bits rounded = (normal - (112 << 23) + 0xfff + (normal >> 13 & 1)) >> 13;
  const Bits sum = rounded + (__builtin_bit_cast(Bits, subnormal + _mm_set1_ps(0.5F)) - 0x3f000000 - 1024);
  const Bits is_nan = x != x;  // NOLINT(misc-redundant-expression): true for NaN
  return sum | (is_nan & 0x7c00) | (bits >> 16 & 0x8000);
}
#endif

template <HalfType T, std::size_t kBytes>
[[gnu::always_inline]] inline void widen(const HalfVector<kBytes>& halves,
                                         FloatPair<kBytes>& floats) noexcept {
  using Bits = Vector<std::int32_t, kBytes>;
  using Floats = Vector<float, kBytes>;
  const auto pairs = __builtin_bit_cast(Vector<std::uint32_t, kBytes>, halves);
  if constexpr (std::is_same_v<T, BFloat16>) {
    floats.even = __builtin_bit_cast(Floats, pairs << 16);
    floats.odd = __builtin_bit_cast(Floats, pairs & 0xffff0000);
    return;
  }
#if defined(__x86_64__)
  if constexpr (kBytes == vector_bytes(SimdLevel::baseline)) {
    floats.even = widen_float16(__builtin_bit_cast(Bits, pairs << 16));
    floats.odd = widen_float16(__builtin_bit_cast(Bits, pairs));
    return;
  }
#endif
  floats.even = widen_bits<T, Floats>(__builtin_bit_cast(Bits, pairs & 0xffff));
  floats.odd = widen_bits<T, Floats>(__builtin_bit_cast(Bits, pairs >> 16));
}

/// The upper 16 bits are x as a bfloat16, as by narrow_to_bfloat16(). A NaN must have 0 as its lower 16 bits:
/// every NaN that calculations with bfloat16 and finite numbers give has.
template <std::size_t kBytes>
[[gnu::always_inline]] inline Vector<std::uint32_t, kBytes> rounded_to_bfloat16(
    const Vector<float, kBytes>& x) noexcept {
  const auto bits = __builtin_bit_cast(Vector<std::uint32_t, kBytes>, x);
  return bits + (bits >> 16 & 1) + 0x7fff;
}

#if defined(__x86_64__)
// (a + b + 1) / 2 of integers without sign, calculated in 17 bits.

[[gnu::target("avx2")]] inline void average(const Vector<std::uint16_t, 32>& a,
                                            Vector<std::uint16_t, 32>& b) noexcept {
  b = __builtin_bit_cast(Vector<std::uint16_t, 32>,
                         _mm256_avg_epu16(__builtin_bit_cast(__m256i, a), __builtin_bit_cast(__m256i, b)));
}

[[gnu::target("avx512bw")]] inline void average(const Vector<std::uint16_t, 64>& a,
                                                Vector<std::uint16_t, 64>& b) noexcept {
  b = __builtin_bit_cast(Vector<std::uint16_t, 64>,
                         _mm512_avg_epu16(__builtin_bit_cast(__m512i, a), __builtin_bit_cast(__m512i, b)));
}

/// The lower 16 bits of `even` and the upper ones of `odd`.
template <std::size_t kBytes, std::size_t... kIndex>
[[gnu::always_inline]] inline Vector<std::uint16_t, kBytes> alternating(
    const Vector<std::uint32_t, kBytes>& even, const Vector<std::uint32_t, kBytes>& odd,
    std::index_sequence<kIndex...> /*of the halves*/) noexcept {
  using Halves = Vector<std::uint16_t, kBytes>;
  return __builtin_shufflevector(__builtin_bit_cast(Halves, even), __builtin_bit_cast(Halves, odd),
                                 (kIndex % 2 == 0 ? kIndex : sizeof...(kIndex) + kIndex)...);
}

/// rounded_to_bfloat16() of both in fewer instructions: the upper 16 bits grow by 1 if the lower ones +
/// 0x7fff + (upper & 1) carry.
template <std::size_t kBytes>
[[gnu::always_inline]] inline void narrow_together(const FloatPair<kBytes>& floats,
                                                   HalfVector<kBytes>& halves) noexcept {
  using Pairs = Vector<std::uint32_t, kBytes>;
  constexpr auto kIndexes = std::make_index_sequence<kBytes / 2>{};
  const auto even = __builtin_bit_cast(Pairs, floats.even);
  const auto odd = __builtin_bit_cast(Pairs, floats.odd);
  const auto upper = alternating<kBytes>(even >> 16, odd, kIndexes);
  auto sum = (upper & 1) | 0x7ffe;
  average(alternating<kBytes>(even, odd << 16, kIndexes), sum);
  halves = __builtin_bit_cast(HalfVector<kBytes>, upper + (sum >> 15));
}
#endif

/// Of NaNs, only those that calculations with halves and finite numbers give.
template <HalfType T, std::size_t kBytes>
[[gnu::always_inline]] inline void narrow(const FloatPair<kBytes>& floats,
                                          HalfVector<kBytes>& halves) noexcept {
  if constexpr (std::is_same_v<T, BFloat16>) {
#if defined(__x86_64__)
    if constexpr (kBytes > vector_bytes(SimdLevel::baseline)) return narrow_together<kBytes>(floats, halves);
#endif
    halves =
        __builtin_bit_cast(HalfVector<kBytes>, rounded_to_bfloat16<kBytes>(floats.even) >> 16 |
                                                   (rounded_to_bfloat16<kBytes>(floats.odd) & 0xffff0000));
  } else {
    using Bits = Vector<std::int32_t, kBytes>;
#if defined(__x86_64__)
    static_assert(kBytes == vector_bytes(SimdLevel::baseline), "wider vectors have instructions of F16C");
    const Bits even = narrow_float16(floats.even) & 0xffff;
    const Bits odd = narrow_float16(floats.odd);
#else
    const Bits even = narrow_bits<T, Bits>(floats.even);
    const Bits odd = narrow_bits<T, Bits>(floats.odd);
#endif
    halves = __builtin_bit_cast(HalfVector<kBytes>, even | odd << 16);
  }
}

#if defined(__x86_64__)
// Intrinsics for F16C and AVX-512, because the compilers' vector types have no operation for them. These
// functions cannot be always_inline, which needs a caller with the same target: the wrappers that the callers
// are inlined into have the target and the attribute flatten.

[[gnu::target("avx2,f16c")]] inline void widen_f16c(const HalfVector<16>& halves,
                                                    Vector<float, 32>& floats) noexcept {
  floats = _mm256_cvtph_ps(__builtin_bit_cast(__m128i, halves));
}

[[gnu::target("avx2,f16c")]] inline void narrow_f16c(const Vector<float, 32>& floats,
                                                     HalfVector<16>& halves) noexcept {
  halves = __builtin_bit_cast(HalfVector<16>, _mm256_cvtps_ph(floats, _MM_FROUND_TO_NEAREST_INT));
}

// g++ 12 warns about the intrinsics without mask, in its own header.
inline constexpr __mmask16 kAllLanes = 0xffff;

[[gnu::target("avx512f")]] inline void widen_f16c(const HalfVector<32>& halves,
                                                  Vector<float, 64>& floats) noexcept {
  floats = _mm512_maskz_cvtph_ps(kAllLanes, __builtin_bit_cast(__m256i, halves));
}

[[gnu::target("avx512f")]] inline void narrow_f16c(const Vector<float, 64>& floats,
                                                   HalfVector<32>& halves) noexcept {
  halves =
      __builtin_bit_cast(HalfVector<32>, _mm512_maskz_cvtps_ph(kAllLanes, floats, _MM_FROUND_TO_NEAREST_INT));
}
#endif

/// An element as float, without a branch, which g++ would not vectorize.
template <HalfType T>
[[gnu::always_inline]] inline float widen_straight(T x) noexcept {
  const std::uint32_t half = x.bits;
  if constexpr (std::is_same_v<T, BFloat16>) return std::bit_cast<float>(half << 16);
  const float finite = std::bit_cast<float>((half & 0x7fff) << 13) * 0x1p112F;
  const std::uint32_t special = (half & 0x7c00) == 0x7c00 ? 0x7f80'0000 : 0;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(finite) | special | (half & 0x8000) << 16);
}

/// Widens halves in memory, for registers of kBytes.
template <std::size_t kBytes, HalfType T>
[[gnu::always_inline]] inline void widen_block(const T* halves, std::size_t count, float* floats) noexcept {
  std::size_t i = 0;
#if defined(__x86_64__)
  if constexpr (std::is_same_v<T, Float16> && kBytes > vector_bytes(SimdLevel::baseline)) {
    constexpr std::size_t kLanes = kBytes / sizeof(float);
    for (; i + kLanes <= count; i += kLanes) {
      HalfVector<kBytes / 2> x;
      Vector<float, kBytes> wide;
      std::memcpy(&x, halves + i, sizeof(x));
      widen_f16c(x, wide);
      std::memcpy(floats + i, &wide, sizeof(wide));
    }
  }
#endif
  for (; i < count; ++i) floats[i] = widen_straight(halves[i]);
}

/// Narrows floats in memory to float16, for registers of kBytes that F16C has.
template <std::size_t kBytes>
[[gnu::always_inline]] inline void narrow_block(const float* floats, std::size_t count,
                                                Float16* halves) noexcept {
  std::size_t i = 0;
#if defined(__x86_64__)
  constexpr std::size_t kLanes = kBytes / sizeof(float);
  for (; i + kLanes <= count; i += kLanes) {
    Vector<float, kBytes> x;
    HalfVector<kBytes / 2> narrow;
    std::memcpy(&x, floats + i, sizeof(x));
    narrow_f16c(x, narrow);
    std::memcpy(halves + i, &narrow, sizeof(narrow));
  }
#endif
  for (; i < count; ++i) halves[i] = narrow_half<Float16>(floats[i]);
}

}  // namespace clipper
