#pragma once

#include <optional>

#include "contract/profile.hpp"
#include "element/dtype.hpp"
#include "element/number.hpp"
#include "statistics/statistics.hpp"

/// The steps before a subtrahend and a divisor, and the statistics of their results.
namespace clipper {

/// The clip alone, whose elements have all numbers that are subtracted from: those of the tensor's dtype, or
/// float64.
[[nodiscard]] Request first_steps(const Request& request, DType dtype);

/// first_steps() of integers of 64 bits without float64. What has no value becomes `otherwise`, and so does a
/// replacement that is no element. Fractions of bounds, which are less than 2^53, are rounded.
[[nodiscard]] Request exact_steps(const Request& request, DType dtype, ElementBits otherwise);

/// Nothing if there are no such elements.
[[nodiscard]] std::optional<Number> value_of(Statistic statistic, const ElementStatistics& of);

/// Whether the statistic is an element.
[[nodiscard]] constexpr bool is_extreme(Statistic statistic) {
  return statistic == Statistic::min || statistic == Statistic::max;
}

[[nodiscard]] constexpr bool is_long_integer(DType dtype) {
  return dtype == DType::int64 || dtype == DType::uint64;
}

}  // namespace clipper
