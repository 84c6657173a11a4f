#pragma once

#include <cstdint>

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

template <HalfType T, std::size_t kBytes>
[[gnu::always_inline]] inline void widen(const HalfVector<kBytes>& halves,
                                         FloatPair<kBytes>& floats) noexcept {
  using Bits = Vector<std::int32_t, kBytes>;
  using Floats = Vector<float, kBytes>;
  const auto pairs = __builtin_bit_cast(Vector<std::uint32_t, kBytes>, halves);
  floats.even = widen_bits<T, Floats>(__builtin_bit_cast(Bits, pairs & 0xffff));
  floats.odd = widen_bits<T, Floats>(__builtin_bit_cast(Bits, pairs >> 16));
}

template <HalfType T, std::size_t kBytes>
[[gnu::always_inline]] inline void narrow(const FloatPair<kBytes>& floats,
                                          HalfVector<kBytes>& halves) noexcept {
  using Bits = Vector<std::int32_t, kBytes>;
  const Bits even = narrow_bits<T, Bits>(floats.even);
  const Bits odd = narrow_bits<T, Bits>(floats.odd);
  halves = __builtin_bit_cast(HalfVector<kBytes>, even | odd << 16);
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

}  // namespace clipper
