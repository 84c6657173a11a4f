#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "element/number.hpp"

namespace clipper {

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
