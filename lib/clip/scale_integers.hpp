#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "clip/clip.hpp"
#include "element/number.hpp"
#include "simd/levels.hpp"

/// x * scale + bias of integers.
namespace clipper {

/// x * scale + bias of integer elements, clipped to the operation's bounds and truncated toward zero: all of
/// clip(). Not for Arithmetic::none. Elements with numbers of their own are saturated to their type and not
/// clipped. Clipping afterwards gives the same element as clipping before the truncation, because the bounds
/// are integers.
void scale_integers(const Operation& operation, const Operands& operands, const std::byte* in, std::byte* out,
                    std::size_t count, SimdLevel level) noexcept;

/// How many elements with numbers of their own clip() raises and lowers, by x * scale + bias before it is
/// saturated and truncated.
[[nodiscard]] ElementCounts count_scaled(const Operation& operation, const Operands& operands,
                                         const std::byte* in, std::size_t count, SimdLevel level) noexcept;

// x * scale + bias of one integer, called g, before it is saturated to the dtype and truncated; and its
// exact comparison with a bound.

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

/// The integers x whose x * scale + bias is within the bounds of an operation. It never falls, or with a
/// negative scale never rises, as x rises, rounded or not, so these integers are consecutive, and a kernel
/// that does not scale counts the elements beyond them.
class InputRange {
 public:
  /// `scaling` has an integer dtype, an arithmetic and lo <= hi.
  explicit InputRange(const Operation& scaling) noexcept;

  /// Clips elements to the range, without scale and bias.
  [[nodiscard]] const Operation& operation() const noexcept { return operation_; }

  /// How many elements the scaling operation raises and lowers of `count` elements for which operation()
  /// gives the counts `beyond`.
  [[nodiscard]] ElementCounts counts(const ElementCounts& beyond, std::size_t count) const noexcept;

 private:
  template <class T, class Factor>
  void find(Factor scale, Factor bias, double slope, double offset) noexcept;

  Operation operation_;
  bool falls_;          ///< elements below the range are lowered, those above it raised
  bool empty_ = false;  ///< no integer is in the range: those that operation() does not raise are above it
};

/// What scale_integers() does to integers of 16 bits, in float32, which takes half as long or less: only if
/// scale and bias have so few bits that no operation rounds. Otherwise it returns false and writes nothing.
/// Needs x86-64-v3.
[[nodiscard]] bool scale_16_bits(const Operation& operation, const std::byte* in, std::byte* out,
                                 std::size_t count) noexcept;

}  // namespace clipper
