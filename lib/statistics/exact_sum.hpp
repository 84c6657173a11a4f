#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace clipper {

/// A sum of finite float64 numbers and integers, without any rounding and beyond the range of float64: the
/// order in which it is made does not matter.
class ExactSum {
 public:
  /// At most 2^30 additions before the sum is added to another.
  void add(double x) noexcept;  ///< finite

  /// Adds x * 2^exponent; exponent from -1074 to 971.
  void add(std::int64_t x, int exponent) noexcept;

  ExactSum& operator+=(const ExactSum& other) noexcept;

  /// The sum divided by `count`, to the last or last but one bit of a float64. `count` is not 0.
  [[nodiscard]] double mean(std::uint64_t count) const noexcept;

 private:
  static constexpr int kLowestExponent = -1074;
  static constexpr int kDigitBits = 32;
  static constexpr std::size_t kDigits = 68;

  void carry() noexcept;

  /// The sum of digits_[i] * 2^(kLowestExponent + kDigitBits * i). After carry() all but the last are from 0
  /// to 2^kDigitBits - 1; the last has the sign of the sum.
  std::array<std::int64_t, kDigits> digits_{};
};

}  // namespace clipper
