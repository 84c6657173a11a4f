#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "element/dtype.hpp"

/// Conversions of a Number to element types, integers and decimal text, and exact arithmetic.
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

/// The number as a float, rounded to odd: see small_floats.hpp. Rounding the result to a shorter float equals
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

// Exact arithmetic with Numbers. What is not finite is calculated as float64: inf - inf is NaN.

[[nodiscard]] Number sum(const Number& a, const Number& b);
[[nodiscard]] Number difference(const Number& a, Number b);

/// The product with a number of at most kFactorDigits digits.
[[nodiscard]] Number product(const Number& a, const Number& factor);
inline constexpr int kFactorDigits = 18;

/// From here on, float64 does not have all integers.
inline constexpr double kIntegersEnd = 0x1p53;

/// x - head, for an integer of at most 64 bits and the double nearest to it.
[[nodiscard]] inline double rest_of(Int128 x, double head) noexcept {
  return static_cast<double>(x - static_cast<Int128>(head));
}

/// A number as the nearest double and what it exceeds that by, which is 0 unless it is an integer of 64 bits
/// that float64 lacks.
struct DoubleDouble {
  double head = 0;
  double rest = 0;

  constexpr DoubleDouble() = default;
  constexpr DoubleDouble(double number) : head(number) {}  // NOLINT(google-explicit-constructor)
  constexpr DoubleDouble(double nearest, double beyond) : head(nearest), rest(beyond) {}

  /// An integer of at most 64 bits.
  template <class Integer>
  [[nodiscard]] static DoubleDouble of(Integer integer) noexcept {
    const auto head = static_cast<double>(integer);
    return {head, rest_of(Int128{integer}, head)};
  }

  /// That of a number without a fraction whose magnitude is below 2^126.
  [[nodiscard]] Int128 integer() const noexcept {
    return static_cast<Int128>(head) + static_cast<Int128>(rest);
  }
};

/// a + b, rounded to odd: a sum of it and a far greater number is rounded as if from the exact sum.
[[nodiscard]] inline double sum_to_odd(double a, double b) noexcept {
  const double sum = a + b;
  const double of_b = sum - a;
  const double error = (a - (sum - of_b)) + (b - of_b);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error == 0 || (bits & 1) != 0) return sum;
  return std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

/// x - y, rounded once.
[[nodiscard]] inline double difference(const DoubleDouble& x, const DoubleDouble& y) noexcept {
  const double difference = x.head - y.head;
  if ((x.rest == 0 && y.rest == 0) || !std::isfinite(difference)) return difference;
  const double of_y = difference - x.head;
  const double error = (x.head - (difference - of_y)) + (-y.head - of_y);
  return difference + sum_to_odd(error, x.rest - y.rest);
}

}  // namespace clipper
