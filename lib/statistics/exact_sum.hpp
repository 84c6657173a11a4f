#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace clipper {

/// An exact sum of finite float64 numbers and integers, also beyond the range of float64. It does not depend
/// on the order of additions.
class ExactSum {
 public:
  /// Adds a finite number. At most 2^30 calls of add() before the sum is added to another one.
  void add(double x) noexcept;

  /// Adds x * 2^exponent. The exponent is from -1074 to 971.
  void add(std::int64_t x, int exponent) noexcept;

  ExactSum& operator+=(const ExactSum& other) noexcept;

  /// The sum divided by `count`, which must not be 0. The error is at most 2 units in the last place.
  [[nodiscard]] double mean(std::uint64_t count) const noexcept;

 private:
  static constexpr int kLowestExponent = -1074;
  static constexpr int kDigitBits = 32;
  static constexpr std::size_t kDigits = 68;

  void carry() noexcept;

  /// The sum is that of digits_[i] * 2^(kLowestExponent + kDigitBits * i). After carry() all digits but the
  /// last are from 0 to 2^kDigitBits - 1; the last has the sign of the sum.
  std::array<std::int64_t, kDigits> digits_{};
};

}  // namespace clipper
