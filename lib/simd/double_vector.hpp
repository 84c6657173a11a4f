#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "simd/vector.hpp"

/// Converts vectors of 32-bit integers to float64 and back, and narrows them to 16 bits. Intrinsics, because
/// g++ 12 converts the halves of vectors one by one and knows no saturating conversion. As in
/// half_vector.hpp, the functions are inlined into wrappers with the target and the attribute flatten.
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
