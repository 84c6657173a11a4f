#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "element/dtype.hpp"

/// Numbers as they were written, exact, and their one conversion to an element type.
namespace clipper {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

/// A number of any size and precision: (-1)^negative * 0.DIGITS * 10^exponent, infinite, or not a number.
struct Number {
  enum class Kind : std::uint8_t { finite, infinite, nan };

  Kind kind = Kind::finite;
  bool negative = false;      ///< also of zero: "-0"
  std::string digits;         ///< decimal, neither leading nor trailing zeros; empty for zero
  std::int64_t exponent = 0;  ///< 0 for zero
};

/// The number that the whole of `text` spells, or nothing: decimal ("-12", ".5", "1e-3", "5."), hexadecimal
/// floating point ("0x1.8p3"), "inf", "infinity" or "nan" in any case, each with an optional sign. No white
/// space, no locale, no limit of length.
[[nodiscard]] std::optional<Number> parse_number(std::string_view text);

/// The number that `value` is, exactly.
[[nodiscard]] Number number_of(double value);

/// Which of two numbers is the larger one; -0 equals 0. Unordered if one is NaN.
[[nodiscard]] std::partial_ordering operator<=>(const Number& a, const Number& b);
[[nodiscard]] bool operator==(const Number& a, const Number& b);

/// Finite and without a fractional part.
[[nodiscard]] bool is_integer(const Number& number);

/// The nearest T, ties to even, rounded once from the exact value, beyond the largest to infinity. The sign
/// of zero is kept; NaN gives the positive quiet NaN. T: Float16, BFloat16, float, double.
template <class T>
[[nodiscard]] T round_to(const Number& number);

/// The nearest T to a double, ties to even. T: Float16, BFloat16, float.
template <class T>
[[nodiscard]] T narrow(double value);

enum class Rounding : std::uint8_t { toward_zero, down, up };

/// The number as an integer; saturated to +-2^100, infinities too. The number is not NaN.
[[nodiscard]] Int128 to_integer(const Number& number, Rounding rounding);

}  // namespace clipper
