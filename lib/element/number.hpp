#pragma once

#include <cstdint>
#include <string>

#include "element/dtype.hpp"

/// Conversions of a Number to element types, integers and decimal text.
namespace clipper {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

/// The exact number in decimal: "-0.5", "1e+400", "inf", "nan".
[[nodiscard]] std::string decimal_text(const Number& number);

/// Whether the number is finite and has no fraction.
[[nodiscard]] bool is_integer(const Number& number);

/// The nearest T, ties to even, rounded once from the exact value; infinity beyond the largest T. Keeps the
/// sign of zero; NaN becomes the positive quiet NaN. T: Float16, BFloat16, float, double.
template <class T>
[[nodiscard]] T round_to(const Number& number);

/// The number as a float, rounded to odd: see half.hpp. Rounding the result to a shorter float equals
/// rounding the number.
[[nodiscard]] float round_to_odd(const Number& number);

/// The nearest T to a double, ties to even. Which NaN a NaN becomes depends on the machine. T: Float16,
/// BFloat16, float.
template <class T>
[[nodiscard]] T narrow(double value);

/// The number as an integer of any size. Keeps the sign of zero, infinity and NaN.
[[nodiscard]] Number rounded(const Number& number, Round round);

enum class Rounding : std::uint8_t { toward_zero, down, up, half_even };

/// The number as an integer, saturated to +-2^100. The number must not be NaN.
[[nodiscard]] Int128 to_integer(const Number& number, Rounding rounding);

}  // namespace clipper
