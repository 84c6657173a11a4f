#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "dtype.hpp"

/// float16 and bfloat16 elements to float and back, for the kernels. Widening is exact. Narrowing rounds to
/// nearest even; a NaN keeps its sign and the upper bits of its payload and is quiet afterwards: what the
/// F16C instructions do, so that every way gives the same bytes. Branch-free, for the vectorizer.
namespace clipper {

[[gnu::always_inline]] inline float widen(BFloat16 x) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

[[gnu::always_inline]] inline float widen(Float16 x) noexcept {
  const std::uint32_t magnitude = x.bits & 0x7fffU;
  const std::uint32_t sign = (x.bits & 0x8000U) << 16;
  // The fraction and exponent fields moved into a float's places, then the exponent bias corrected by a power
  // of two, which is exact also for subnormals.
  const float finite = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  const std::uint32_t special = 0x7f800000U | (magnitude << 13);
  const std::uint32_t bits = magnitude < Float16::kInfinity ? std::bit_cast<std::uint32_t>(finite) : special;
  return std::bit_cast<float>(bits | sign);
}

template <HalfType T>
T narrow_half(float x) noexcept;

template <>
[[gnu::always_inline]] inline BFloat16 narrow_half(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40U;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded)};
}

template <>
[[gnu::always_inline]] inline Float16 narrow_half(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  // Subnormal result: adding 0.5 puts the last fraction bit of a float where a float16 subnormal has its own,
  // so that the addition does the rounding.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F);
  const std::uint32_t normal = (magnitude - (112U << 23) + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const std::uint32_t quiet = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
  std::uint32_t half = magnitude < 0x38800000U ? subnormal : normal;           // 2^-14, the smallest normal
  half = magnitude >= 0x47800000U ? std::uint32_t{Float16::kInfinity} : half;  // 2^16
  half = magnitude > 0x7f800000U ? quiet : half;
  return {static_cast<std::uint16_t>(half | sign)};
}

template <HalfType T>
[[gnu::always_inline]] inline void widen_all(const T* in, float* out, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) out[i] = widen(in[i]);
}

template <HalfType T>
[[gnu::always_inline]] inline void narrow_all(const float* in, T* out, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) out[i] = narrow_half<T>(in[i]);
}

#if defined(__x86_64__)
/// The same by F16C instructions, for CPUs that have them.
void widen_all_f16c(const Float16* in, float* out, std::size_t count) noexcept;
void narrow_all_f16c(const float* in, Float16* out, std::size_t count) noexcept;
#endif

}  // namespace clipper
