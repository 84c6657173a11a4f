#pragma once

#include <cstdint>

#include "element/number.hpp"

namespace clipper {

/// Whether the number can be an A or an R: neither negative nor, as a double, infinite or NaN.
[[nodiscard]] bool is_tolerance(const Number& number);

/// A and R of the rule |a - e| <= A + R * |e|, made ready for elements of any dtype.
///
/// Of floats everything is float64: A and R are the nearest ones, and the difference, the product and the sum
/// are rounded to nearest each; without tolerances nothing is rounded. Of integers nothing is rounded to
/// nearest: A counts without its fraction, and so does R * |e|, of which the first 19 digits of R are exact.
class Tolerance {
 public:
  Tolerance() = default;

  /// Both are is_tolerance().
  Tolerance(const Number& absolute, const Number& relative);

  [[nodiscard]] double absolute() const noexcept { return absolute_; }
  [[nodiscard]] double relative() const noexcept { return relative_; }

  /// A without its fraction, at most 2^64 - 1.
  [[nodiscard]] std::uint64_t whole() const noexcept { return whole_; }

  /// R * magnitude without its fraction, at most 2^64 - 1.
  [[nodiscard]] std::uint64_t whole_share(std::uint64_t magnitude) const noexcept;

 private:
  double absolute_ = 0;
  double relative_ = 0;
  std::uint64_t whole_ = 0;
  UInt128 digits_ = 0;  ///< R = digits / divisor
  UInt128 divisor_ = 1;
};

}  // namespace clipper
