#pragma once

#include <cstdint>

#include "statistics/exact_sum.hpp"

namespace clipper {

/// The exact sum of finite numbers and that of their squares. Neither depends on the order of additions.
struct Moments {
  ExactSum sum;
  ExactSum squares;

  /// Adds a finite number and its square.
  void add(double x) noexcept;

  Moments& operator+=(const Moments& other) noexcept;

  /// The mean of `count` numbers, from 1 to 2^62, rounded once to float64.
  [[nodiscard]] double mean(std::uint64_t count) const noexcept;

  /// The population standard deviation (divisor: count) of `count` numbers, from 1 to 2^62, rounded once to
  /// float64.
  [[nodiscard]] double standard_deviation(std::uint64_t count) const noexcept;
};

}  // namespace clipper
