#pragma once

#include <cstdint>

#include "element/dtype.hpp"

/// float16 and bfloat16 to float and back. Widening is exact. Narrowing rounds to nearest even; a NaN keeps
/// its sign and the upper bits of its payload and becomes quiet, as by the F16C instructions.
///
/// Bits is std::int32_t or a vector of it, Float is float or a vector of equal length. A half's bits are the
/// lower 16 of 32; the upper ones are 0.
namespace clipper {

template <HalfType T, class Float, class Bits>
[[gnu::always_inline]] inline Float widen_bits(const Bits& half) noexcept {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return __builtin_bit_cast(Float, half << 16);
  } else {
    const Bits magnitude = half & 0x7fff;
    // Moves fraction and exponent to their places in a float. The product corrects the exponent bias, exactly
    // even for subnormals.
    const Float finite = __builtin_bit_cast(Float, magnitude << 13) * 0x1p112F;
    const Bits special = magnitude << 13 | 0x7f800000;
    const Bits bits = magnitude < Float16::kInfinity ? __builtin_bit_cast(Bits, finite) : special;
    return __builtin_bit_cast(Float, bits | (half ^ magnitude) << 16);
  }
}

template <class Bits, class Float>
[[gnu::always_inline]] inline Bits narrow_to_float16(const Float& x) noexcept {
  const Bits bits = __builtin_bit_cast(Bits, x);
  const Bits magnitude = bits & 0x7fffffff;
  // Subnormal result: adding 0.5 moves the last fraction bit of the float to that of a float16 subnormal, so
  // the addition rounds.
  const Bits subnormal = __builtin_bit_cast(Bits, __builtin_bit_cast(Float, magnitude) + 0.5F) - 0x3f000000;
  const Bits normal = (magnitude - (112 << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  const Bits infinity = Bits{} + Float16::kInfinity;
  const Bits quiet = ((magnitude >> 13) & 0x3ff) | 0x7e00;
  Bits half = magnitude < 0x38800000 ? subnormal : normal;  // 2^-14, the smallest normal
  half = magnitude < 0x47800000 ? half : infinity;          // 2^16
  half = magnitude > 0x7f800000 ? quiet : half;
  return half | ((bits >> 16) & 0x8000);
}

template <class Bits, class Float>
[[gnu::always_inline]] inline Bits narrow_to_bfloat16(const Float& x) noexcept {
  const Bits bits = __builtin_bit_cast(Bits, x);
  const auto is_number = x == x;  // NOLINT(misc-redundant-expression): false for NaN, also in vectors
  // Rounding a NaN could carry into its sign.
  const Bits rounded = is_number ? bits + 0x7fff + ((bits >> 16) & 1) : bits | 0x400000;
  return (rounded >> 16) & 0xffff;
}

template <HalfType T, class Bits, class Float>
[[gnu::always_inline]] inline Bits narrow_bits(const Float& x) noexcept {
  if constexpr (std::is_same_v<T, BFloat16>)
    return narrow_to_bfloat16<Bits>(x);
  else
    return narrow_to_float16<Bits>(x);
}

template <HalfType T>
[[nodiscard]] inline float widen(T x) noexcept {
  return widen_bits<T, float>(std::int32_t{x.bits});
}

/// The value itself if it is a float, otherwise the one of its two neighbours whose last bit is set. A float
/// rounded to odd is a tie between two 16-bit floats only if the value is, so rounding it again equals
/// rounding the value once.
[[gnu::always_inline]] inline float round_to_odd(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  const auto bits = __builtin_bit_cast(std::uint32_t, nearest);
  const std::uint32_t is_inexact = back != value && value == value ? 1 : 0;  // NOLINT: NaN stays as it is
  const std::uint32_t is_beyond = __builtin_fabs(back) > __builtin_fabs(value) ? 1 : 0;
  return __builtin_bit_cast(float, (bits - is_beyond) | is_inexact);
}

/// An element as float64: exact except for 64-bit integers.
template <class T>
[[nodiscard]] inline double as_double(T x) noexcept {
  if constexpr (HalfType<T>)
    return static_cast<double>(widen(x));
  else
    return static_cast<double>(x);
}

template <HalfType T>
[[nodiscard]] inline T narrow_half(float x) noexcept {
  return {static_cast<std::uint16_t>(narrow_bits<T, std::int32_t>(x))};
}

}  // namespace clipper
