#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "element/number.hpp"

/// Differences of integers that float64 lacks, rounded once. Such an integer is a double, the nearest one,
/// and a rest.
namespace clipper {

/// From here on, float64 does not have all integers.
inline constexpr double kIntegersEnd = 0x1p53;

/// x - head, for an integer of at most 64 bits and the double nearest to it.
[[nodiscard]] inline double rest_of(Int128 x, double head) noexcept {
  return static_cast<double>(x - static_cast<Int128>(head));
}

/// a + b, rounded to odd: a sum of it and a far greater number is rounded as if from the exact sum.
[[nodiscard]] inline double sum_to_odd(double a, double b) noexcept {
  const double sum = a + b;
  const double of_b = sum - a;
  const double error = (a - (sum - of_b)) + (b - of_b);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error == 0 || (bits & 1) != 0) return sum;
  return std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

/// (x + x_rest) - (y + y_rest), rounded once.
[[nodiscard]] inline double difference(double x, double x_rest, double y, double y_rest) noexcept {
  const double difference = x - y;
  if ((x_rest == 0 && y_rest == 0) || !std::isfinite(difference)) return difference;
  const double of_y = difference - x;
  const double error = (x - (difference - of_y)) + (-y - of_y);
  return difference + sum_to_odd(error, x_rest - y_rest);
}

}  // namespace clipper
