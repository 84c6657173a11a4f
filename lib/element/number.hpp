#pragma once

#include <cstdint>
#include <string>

#include "element/dtype.hpp"

/// The one conversion of a Number to an element type, and its decimal text.
namespace clipper {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

/// The number in decimal, exactly: "-0.5", "1e+400", "inf", "nan".
[[nodiscard]] std::string decimal_text(const Number& number);

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
