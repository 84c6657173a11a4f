#pragma once

#include <compare>
#include <cstdint>

#include "clip/clip.hpp"
#include "element/number.hpp"

namespace clipper {

/// An integer of up to 129 bits, sign and magnitude: x * scale + bias of 64-bit integers is exact in it.
struct Wide {
  bool negative = false;  ///< false for 0
  UInt128 magnitude = 0;

  [[nodiscard]] static constexpr Wide lowest() { return {true, ~UInt128{0}}; }
  [[nodiscard]] static constexpr Wide highest() { return {false, ~UInt128{0}}; }
  [[nodiscard]] static constexpr Wide of(bool negative, UInt128 magnitude) {
    return {negative && magnitude != 0, magnitude};
  }
  [[nodiscard]] static constexpr Wide of(Int128 value) {
    return value < 0 ? Wide{true, UInt128{0} - static_cast<UInt128>(value)}
                     : Wide{false, static_cast<UInt128>(value)};
  }

  friend constexpr bool operator==(const Wide&, const Wide&) = default;
  friend constexpr std::strong_ordering operator<=>(const Wide& a, const Wide& b) {
    if (a.negative != b.negative) return b.negative <=> a.negative;
    return a.negative ? b.magnitude <=> a.magnitude : a.magnitude <=> b.magnitude;
  }

  /// The lower 64 bits in two's complement.
  [[nodiscard]] constexpr std::uint64_t bits() const {
    const auto low = static_cast<std::uint64_t>(magnitude);
    return negative ? 0 - low : low;
  }
};

/// x * scale + bias.
template <class T>
[[nodiscard]] constexpr Wide wide_scaled(T x, Operation::Integer scale, Operation::Integer bias) noexcept {
  const Wide from = Wide::of(Int128{x});
  const UInt128 product = from.magnitude * scale.magnitude;
  const bool negative = from.negative != scale.negative;
  if (negative == bias.negative) return Wide::of(negative, product + bias.magnitude);
  return product >= bias.magnitude ? Wide::of(negative, product - bias.magnitude)
                                   : Wide::of(bias.negative, bias.magnitude - product);
}

}  // namespace clipper
