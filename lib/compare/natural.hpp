#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "element/number.hpp"

namespace clipper {

/// An integer from 0, of any size.
class Natural {
 public:
  Natural() = default;
  explicit Natural(UInt128 value);

  /// Of base 2^32, the lowest digit first.
  explicit Natural(std::span<const std::uint32_t> digits);

  /// The integer that decimal digits spell, times 10^power.
  Natural(std::string_view digits, std::uint64_t power);

  Natural& operator+=(const Natural& other);
  Natural& operator-=(const Natural& other);  ///< `other` must not be larger
  Natural& operator<<=(unsigned bits);
  [[nodiscard]] Natural operator*(const Natural& other) const;

  /// The value, if it is less than 2^128.
  [[nodiscard]] std::optional<UInt128> value() const;

  friend std::strong_ordering operator<=>(const Natural& a, const Natural& b);
  friend bool operator==(const Natural& a, const Natural& b) = default;

 private:
  void trim();

  std::vector<std::uint32_t> digits_;  ///< of base 2^32, the lowest first; the last one is not 0
};

/// A finite element, exactly: (-1)^negative * magnitude * 2^exponent.
struct ExactElement {
  bool negative;
  std::uint64_t magnitude;
  int exponent;
};

/// The value of an integer.
[[nodiscard]] ExactElement exact_element(std::integral auto x) noexcept {
  const auto bits = static_cast<std::uint64_t>(x);
  return {x < 0, x < 0 ? 0 - bits : bits, 0};
}

/// The value of a finite float64.
[[nodiscard]] inline ExactElement exact_element(double x) noexcept {
  constexpr int kFractionBits = 52;
  constexpr int kBias = 1075;  // of an integer with kFractionBits + 1 bits
  constexpr std::uint64_t kHidden = std::uint64_t{1} << kFractionBits;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto field = static_cast<int>(bits >> kFractionBits & 0x7ff);
  return {std::signbit(x), (bits & (kHidden - 1)) | (field != 0 ? kHidden : 0), std::max(field, 1) - kBias};
}

/// The absolute value of a finite number without what lies beyond the 1,100th decimal place: digits *
/// 10^power.
struct Decimal {
  std::string_view digits;  ///< of the Number, which must live as long
  std::int64_t power = 0;

  explicit Decimal(const Number& number);

  /// The number times 10^places, which must be an integer.
  [[nodiscard]] Natural shifted(std::int64_t places) const;
};

}  // namespace clipper
