#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

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

/// The integer mantissa and the exponent of a finite number, of which |x| is mantissa * 2^exponent.
[[nodiscard]] inline std::pair<std::uint64_t, int> parts_of(double x) noexcept {
  constexpr int kFraction = std::numeric_limits<double>::digits - 1;
  constexpr int kBias = std::numeric_limits<double>::max_exponent - 1 + kFraction;
  constexpr std::uint64_t kHidden = std::uint64_t{1} << kFraction;
  const std::uint64_t bits = to_bits(x) & ~(std::uint64_t{1} << 63);
  const auto field = static_cast<int>(bits >> kFraction);
  return {(bits & (kHidden - 1)) | (field != 0 ? kHidden : 0), std::max(field, 1) - kBias};
}

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

/// dividend / divisor * 2^exponent, rounded once; the divisor is less than 2^53 or a power of 10.
[[nodiscard]] double nearest_quotient(UInt128 dividend, std::uint64_t divisor, int exponent) noexcept;

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

  /// A float64 that rounds to each shorter float as the number does.
  [[nodiscard]] double odd() const;

  [[nodiscard]] Figure operator-() const;
  [[nodiscard]] Figure magnitude() const { return negative_ ? -*this : *this; }

  // Exact, and for what is not finite as those of Numbers.
  friend Figure sum(const Figure& a, const Figure& b);
  friend Figure product(const Figure& a, const Number& factor);
  friend Figure interpolate(const Figure& a, const Figure& b, std::uint64_t fraction);

  /// Below 0 if a is less than b, above 0 if it is greater. Neither may be NaN.
  friend int compare(const Figure& a, const Figure& b);

  /// The nearest element of a float dtype: see element.hpp.
  friend ElementBits nearest_element(DType dtype, const Figure& figure);

 private:
  [[nodiscard]] std::optional<Figure> times(Int128 factor, int places) const;
  [[nodiscard]] std::optional<Int128> in_units(int exponent, int places) const noexcept;

  Int128 numerator_ = 0;
  int exponent_ = 0;
  int places_ = 0;
  bool negative_ = false;  ///< also of -0
  std::optional<Number> number_{};
};

/// total / count, rounded once to float64; from 2^53 on, where float64 lacks integers, with 8 binary places,
/// the last of which is 1 for what is left. The count is less than 2^53.
[[nodiscard]] Figure mean_of_integers(Int128 total, std::uint64_t count);

/// a + (b - a) * fraction / kFractionOne, exactly. Both must be finite, and the fraction at most
/// kFractionOne.
[[nodiscard]] Figure interpolate(const Figure& a, const Figure& b, std::uint64_t fraction);

/// An exact sum of float64 numbers, of their squares, or of integers. It does not depend on the order of
/// additions.
class ExactSum {
 public:
  static constexpr int kLowestExponent = -2176;  ///< at most that of a squared float64, -2148
  static constexpr int kDigitBits = 32;
  static constexpr std::size_t kDigits = 136;  ///< enough for 2^63 squares of a float64

  /// The absolute value of the sum is that of digits[i] * 2^(kLowestExponent + kDigitBits * i).
  struct Magnitude {
    bool negative = false;
    std::array<std::uint32_t, kDigits> digits{};
  };

  /// Adds x * 2^exponent. |x| is less than 2^127, the exponent from kLowestExponent to 2000. At most 2^30
  /// calls of add() before the sum is added to another one.
  [[gnu::noinline]] void add(Int128 x, int exponent) noexcept;  // loops of all instruction sets call it

  ExactSum& operator+=(const ExactSum& other) noexcept;
  ExactSum& operator-=(const ExactSum& other) noexcept;

  [[nodiscard]] Magnitude magnitude() const noexcept;

 private:
  void carry() noexcept;

  /// After carry() all digits but the last are from 0 to 2^kDigitBits - 1; the last has the sign of the sum.
  std::array<std::int64_t, kDigits> digits_{};
};

/// The exact sum of finite numbers and that of their squares. Neither depends on the order of additions.
struct Moments {
  ExactSum sum;
  ExactSum squares;

  /// Adds a finite number and its square.
  [[gnu::noinline]] void add(double x) noexcept;

  Moments& operator+=(const Moments& other) noexcept;

  /// The mean of `count` numbers, from 1 to 2^62, rounded once to float64.
  [[nodiscard]] double mean(std::uint64_t count) const noexcept;

  /// The population standard deviation (divisor: count) of `count` numbers, from 1 to 2^62, rounded once to
  /// float64.
  [[nodiscard]] double standard_deviation(std::uint64_t count) const noexcept;
};

}  // namespace clipper
