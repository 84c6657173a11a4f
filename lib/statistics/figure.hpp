#pragma once

#include <cstdint>
#include <optional>

#include "element/dtype.hpp"
#include "element/number.hpp"

namespace clipper {

/// A natural number of 256 bits.
struct UInt256 {
  UInt128 high = 0;
  UInt128 low = 0;

  void add(UInt128 x) noexcept;
  void add_product(UInt128 a, UInt128 b) noexcept;
};

/// A number in [leading, leading + 1) * 2^exponent.
struct Truncated {
  UInt128 leading = 0;
  int exponent = 0;
  bool exact = true;  ///< the number is leading * 2^exponent
};

/// dividend * 2^exponent / divisor, with 126 or 127 bits and an even exponent. The divisor is less than 2^63.
[[nodiscard]] Truncated quotient(UInt256 dividend, int exponent, std::uint64_t divisor) noexcept;

/// The square root of a number with an even exponent, with half as many bits.
[[nodiscard]] Truncated square_root(const Truncated& x) noexcept;

/// The nearest float64, ties to even. The number has more than 53 bits or is 0.
[[nodiscard]] double rounded(const Truncated& x) noexcept;

/// The denominator of fractions between two elements.
inline constexpr std::uint64_t kFractionOne = 1'000'000'000'000'000'000;

/// A number that was found in elements, exactly: an integer times a power of two and one of ten if 126 bits
/// hold it, which needs no memory of its own; otherwise a Number.
class Figure {
 public:
  // NOLINTBEGIN(google-explicit-constructor): the conversions are exact.
  Figure(double value);
  Figure(const Number& number);
  operator Number() const;
  // NOLINTEND(google-explicit-constructor)

  /// numerator * 2^exponent / 10^places, with |numerator| < 2^126.
  Figure(Int128 numerator, int exponent, int places = 0) noexcept
      : numerator_(numerator), exponent_(exponent), places_(places), negative_(numerator < 0) {}

  [[nodiscard]] static Figure of(DType dtype, ElementBits element);

  [[nodiscard]] bool is_finite() const noexcept { return !number_ || number_->kind == Number::Kind::finite; }
  [[nodiscard]] bool is_zero() const noexcept { return !number_ && numerator_ == 0; }

  /// The nearest float64, ties to even.
  [[nodiscard]] double nearest() const;

  /// The float64 rounded to odd (see small_floats.hpp): rounding it to a shorter float equals rounding the
  /// number.
  [[nodiscard]] double odd() const;

  [[nodiscard]] Figure operator-() const;
  [[nodiscard]] Figure magnitude() const { return negative_ ? -*this : *this; }

  // Exact, and for what is not finite as those of Numbers.
  friend Figure sum(const Figure& a, const Figure& b);
  friend Figure product(const Figure& a, const Number& factor);
  friend Figure interpolate(const Figure& a, const Figure& b, std::uint64_t fraction);
  friend int compare(const Figure& a, const Figure& b);

 private:
  [[nodiscard]] std::optional<Figure> times(Int128 factor, int places) const;
  [[nodiscard]] std::optional<Int128> in_units(int exponent, int places) const noexcept;

  Int128 numerator_ = 0;
  int exponent_ = 0;
  int places_ = 0;
  bool negative_ = false;  ///< also of -0
  std::optional<Number> number_{};
};

/// a + (b - a) * fraction / kFractionOne, exactly. Both must be finite, and the fraction at most
/// kFractionOne.
[[nodiscard]] Figure interpolate(const Figure& a, const Figure& b, std::uint64_t fraction);

/// Below 0 if a is less than b, above 0 if it is greater. Neither may be NaN.
[[nodiscard]] int compare(const Figure& a, const Figure& b);

/// The nearest element of a float dtype: see element.hpp.
[[nodiscard]] ElementBits nearest_element(DType dtype, const Figure& figure);

}  // namespace clipper
