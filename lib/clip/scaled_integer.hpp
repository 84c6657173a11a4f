#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "clip/clip.hpp"
#include "element/number.hpp"

/// x * scale + bias of one integer, called g, before it is saturated to the dtype and truncated; and its
/// exact comparison with a bound.
namespace clipper {

template <class T>
[[gnu::always_inline]] inline double scaled(T x, double scale, double bias) noexcept {
  return static_cast<double>(x) * scale + bias;
}

/// The product may exceed Int128, so it is capped at 2^126: no 64-bit bias brings a larger one back into T's
/// range.
template <class T>
[[gnu::always_inline]] inline Int128 scaled(T x, Operation::Integer scale, Operation::Integer bias) noexcept {
  const bool x_negative = x < 0;
  const auto x_magnitude = x_negative ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  const auto product = static_cast<UInt128>(x_magnitude) * scale.magnitude;
  const auto magnitude = static_cast<Int128>(std::min(product, UInt128{1} << 126));
  return (x_negative != scale.negative ? -magnitude : magnitude) +
         (bias.negative ? -Int128{bias.magnitude} : Int128{bias.magnitude});
}

/// The least double above all values of T, which may be the double nearest to the highest ones.
template <class T>
inline constexpr double kBeyond = std::is_signed_v<T> ? 0x1p63 : 0x1p64;

/// Whether g < bound. A 64-bit bound may have no double; a g equal to the double nearest to it is an integer.
template <class T>
[[gnu::always_inline]] inline bool is_below(double g, T bound) noexcept {
  const auto near = static_cast<double>(bound);
  if constexpr (sizeof(T) < sizeof(double)) return g < near;
  return g < near || (g == near && g < kBeyond<T> && static_cast<T>(g) < bound);
}

/// Whether g > bound.
template <class T>
[[gnu::always_inline]] inline bool is_above(double g, T bound) noexcept {
  const auto near = static_cast<double>(bound);
  if constexpr (sizeof(T) < sizeof(double)) return g > near;
  return g > near || (g == near && (g >= kBeyond<T> || static_cast<T>(g) > bound));
}

template <class T>
[[gnu::always_inline]] inline bool is_below(Int128 g, T bound) noexcept {
  return g < bound;
}

template <class T>
[[gnu::always_inline]] inline bool is_above(Int128 g, T bound) noexcept {
  return g > bound;
}

}  // namespace clipper
