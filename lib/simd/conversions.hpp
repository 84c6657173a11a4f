#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "element/small_floats.hpp"
#include "simd/levels.hpp"
#include "simd/vector.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

/// Converts vectors of 32-bit integers to float64 and back, and narrows them to 16 bits. Intrinsics, because
/// g++ 12 converts the halves of vectors one by one and knows no saturating conversion. As in
/// conversions.hpp, the functions are inlined into wrappers with the target and the attribute flatten.
namespace clipper {

/// The lower and the upper half of a vector of 32-bit integers, as float64.
template <std::size_t kBytes>
struct DoublePair {
  Vector<double, kBytes> low;
  Vector<double, kBytes> high;
};

template <std::size_t kBytes>
using IntVector = Vector<std::int32_t, kBytes>;

inline void to_doubles(const IntVector<16>& x, DoublePair<16>& doubles) noexcept {
  const auto bits = __builtin_bit_cast(__m128i, x);
  doubles.low = _mm_cvtepi32_pd(bits);
  doubles.high = _mm_cvtepi32_pd(_mm_unpackhi_epi64(bits, bits));
}

[[gnu::target("avx2")]] inline void to_doubles(const IntVector<32>& x, DoublePair<32>& doubles) noexcept {
  const auto bits = __builtin_bit_cast(__m256i, x);
  doubles.low = _mm256_cvtepi32_pd(_mm256_castsi256_si128(bits));
  doubles.high = _mm256_cvtepi32_pd(_mm256_extracti128_si256(bits, 1));
}

// g++ 12 warns about the intrinsics without mask, in its own header.
inline constexpr __mmask8 kAllDoubles = 0xff;

[[gnu::target("avx512f")]] inline void to_doubles(const IntVector<64>& x, DoublePair<64>& doubles) noexcept {
  doubles.low = _mm512_maskz_cvtepi32_pd(
      kAllDoubles, __builtin_bit_cast(__m256i, __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7)));
  doubles.high = _mm512_maskz_cvtepi32_pd(
      kAllDoubles, __builtin_bit_cast(__m256i, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15)));
}

/// The lower halves of 32-bit lanes become eight elements of 16 bits: 0, 1, 4, 5, then 2, 3, 6, 7. The upper
/// halves become 0.
[[gnu::target("avx2")]] inline void widen(const Vector<std::uint8_t, 16>& x,
                                          Vector<std::uint32_t, 32>& wide) noexcept {
  const __m256i bytes = _mm256_setr_epi8(0, 1, -1, -1, 2, 3, -1, -1, 8, 9, -1, -1, 10, 11, -1, -1,  //
                                         4, 5, -1, -1, 6, 7, -1, -1, 12, 13, -1, -1, 14, 15, -1, -1);
  const __m256i twice = _mm256_broadcastsi128_si256(__builtin_bit_cast(__m128i, x));
  wide = __builtin_bit_cast(Vector<std::uint32_t, 32>, _mm256_shuffle_epi8(twice, bytes));
}

// Truncates doubles in the range of the integers.

inline void truncate(const DoublePair<16>& doubles, IntVector<16>& x) noexcept {
  x = __builtin_bit_cast(IntVector<16>,
                         _mm_unpacklo_epi64(_mm_cvttpd_epi32(doubles.low), _mm_cvttpd_epi32(doubles.high)));
}

[[gnu::target("avx2")]] inline void truncate(const DoublePair<32>& doubles, IntVector<32>& x) noexcept {
  x = __builtin_bit_cast(IntVector<32>,
                         _mm256_inserti128_si256(_mm256_castsi128_si256(_mm256_cvttpd_epi32(doubles.low)),
                                                 _mm256_cvttpd_epi32(doubles.high), 1));
}

[[gnu::target("avx512f")]] inline void truncate(const DoublePair<64>& doubles, IntVector<64>& x) noexcept {
  x = __builtin_bit_cast(
      IntVector<64>,
      _mm512_maskz_inserti64x4(kAllDoubles,
                               _mm512_castsi256_si512(_mm512_maskz_cvttpd_epi32(kAllDoubles, doubles.low)),
                               _mm512_maskz_cvttpd_epi32(kAllDoubles, doubles.high), 1));
}

// AVX-512 converts unsigned integers, too.

[[gnu::target("avx512f")]] inline void to_doubles(const Vector<std::uint32_t, 64>& x,
                                                  DoublePair<64>& doubles) noexcept {
  doubles.low = _mm512_maskz_cvtepu32_pd(
      kAllDoubles, __builtin_bit_cast(__m256i, __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7)));
  doubles.high = _mm512_maskz_cvtepu32_pd(
      kAllDoubles, __builtin_bit_cast(__m256i, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15)));
}

[[gnu::target("avx512f")]] inline void truncate(const DoublePair<64>& doubles,
                                                Vector<std::uint32_t, 64>& x) noexcept {
  x = __builtin_bit_cast(
      Vector<std::uint32_t, 64>,
      _mm512_maskz_inserti64x4(kAllDoubles,
                               _mm512_castsi256_si512(_mm512_maskz_cvttpd_epu32(kAllDoubles, doubles.low)),
                               _mm512_maskz_cvttpd_epu32(kAllDoubles, doubles.high), 1));
}

// Packs integers in the range of the 16-bit lanes. The 128-bit parts of the result take turns: first that of
// `low`, then that of `high`.

inline void pack(const IntVector<16>& low, const IntVector<16>& high, Vector<std::int16_t, 16>& x) noexcept {
  x = __builtin_bit_cast(Vector<std::int16_t, 16>, _mm_packs_epi32(__builtin_bit_cast(__m128i, low),
                                                                   __builtin_bit_cast(__m128i, high)));
}

[[gnu::target("avx2")]] inline void pack(const IntVector<32>& low, const IntVector<32>& high,
                                         Vector<std::int16_t, 32>& x) noexcept {
  x = __builtin_bit_cast(Vector<std::int16_t, 32>, _mm256_packs_epi32(__builtin_bit_cast(__m256i, low),
                                                                      __builtin_bit_cast(__m256i, high)));
}

[[gnu::target("avx512bw")]] inline void pack(const IntVector<64>& low, const IntVector<64>& high,
                                             Vector<std::int16_t, 64>& x) noexcept {
  x = __builtin_bit_cast(Vector<std::int16_t, 64>, _mm512_packs_epi32(__builtin_bit_cast(__m512i, low),
                                                                      __builtin_bit_cast(__m512i, high)));
}

/// SSE2 packs to signed integers only, so bit 15 is made the sign.
inline void pack(const IntVector<16>& low, const IntVector<16>& high, Vector<std::uint16_t, 16>& x) noexcept {
  Vector<std::int16_t, 16> packed;
  pack(low << 16 >> 16, high << 16 >> 16, packed);
  x = __builtin_bit_cast(Vector<std::uint16_t, 16>, packed);
}

[[gnu::target("avx2")]] inline void pack(const IntVector<32>& low, const IntVector<32>& high,
                                         Vector<std::uint16_t, 32>& x) noexcept {
  x = __builtin_bit_cast(Vector<std::uint16_t, 32>, _mm256_packus_epi32(__builtin_bit_cast(__m256i, low),
                                                                        __builtin_bit_cast(__m256i, high)));
}

[[gnu::target("avx512bw")]] inline void pack(const IntVector<64>& low, const IntVector<64>& high,
                                             Vector<std::uint16_t, 64>& x) noexcept {
  x = __builtin_bit_cast(Vector<std::uint16_t, 64>, _mm512_packus_epi32(__builtin_bit_cast(__m512i, low),
                                                                        __builtin_bit_cast(__m512i, high)));
}

}  // namespace clipper
#endif

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

/// Whether there is no instruction that makes doubles of a vector of 64-bit integers.
template <SimdLevel kLevel>
constexpr bool kAddsLongs =
#if defined(__x86_64__)
    kLevel != SimdLevel::v4;
#else
    false;
#endif

/// A 64-bit integer as the nearest double, by additions that all instruction sets have for vectors: the one
/// of both halves is rounded, once.
template <class T>
[[gnu::always_inline]] inline double nearest_double(T x) noexcept {
  constexpr bool kSigned = std::is_signed_v<T>;
  constexpr std::uint64_t kUpper = 0x4530'0000'0000'0000;  // 2^84
  constexpr std::uint64_t kLower = 0x4330'0000'0000'0000;  // 2^52
  const auto bits = static_cast<std::uint64_t>(x);
  const auto upper = std::bit_cast<double>((bits >> 32 ^ (kSigned ? 1U << 31 : 0U)) | kUpper);
  const auto lower = std::bit_cast<double>((bits & 0xffff'ffffU) | kLower);
  return upper - (0x1p84 + 0x1p52 + (kSigned ? 0x1p63 : 0)) + lower;
}

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

/// The same of elements within 2^51, in vectors: a double near 1.5 * 2^52 has the integer in its last bits.
/// Returns false if there are others.
template <class Working, class To>
[[gnu::always_inline]] inline bool store_moderate(const Working* __restrict in, To* __restrict out,
                                                  std::size_t count) noexcept {
  constexpr double kNoFraction = 0x1.8p52;
  std::uint64_t beyond = 0;
  for (std::size_t i = 0; i < count; ++i) beyond |= std::fabs(double{in[i]}) < 0x1p51 ? 0 : 1;
  if (beyond != 0) return false;
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<To>(std::bit_cast<std::uint64_t>(in[i] + kNoFraction) -
                             std::bit_cast<std::uint64_t>(kNoFraction));
  return true;
}

/// The same of `count` elements.
template <std::size_t kBytes, class Working, class To>
[[gnu::always_inline]] inline void store_nearest(const Working* in, To* out, std::size_t count) noexcept {
  constexpr std::size_t kLanes = kBytes / sizeof(float);
  std::size_t i = 0;
  if constexpr (sizeof(To) == sizeof(double))
    if (store_moderate(in, out, count)) return;
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
