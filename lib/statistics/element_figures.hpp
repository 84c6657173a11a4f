#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "contract/expression.hpp"
#include "contract/profile.hpp"
#include "element/number.hpp"
#include "simd/levels.hpp"
#include "statistics/figure.hpp"
#include "statistics/percentiles.hpp"
#include "statistics/statistics.hpp"

namespace clipper {

/// The values of expressions in a group, in their order; nothing for one of whose figures no element has. NaN
/// for what lies between infinities. Figures alone and rules are exact, but mean and std are rounded once.
struct GroupNumbers {
  std::vector<std::optional<Figure>> figures;
  std::vector<std::string_view> flat{};           ///< of each what is 0, "the mad is 0"; "" without such
  bool has_numbers = false;                       ///< whether any element is not NaN; all may be infinite
  const ElementStatistics* statistics = nullptr;  ///< of the elements, if a figure needs them
};

/// Finds the figures of expressions, each once, of each group of the source; calls `found` with the values
/// for one group after the other. One pass for all others together, those of percentiles_of_groups() for
/// percentiles, median and iqr, and those of median_deviations() for mad; of groups that read() gathers one
/// for all.
void figures_of_groups(const ElementSource& source, std::span<const Expression> expressions, SimdLevel level,
                       const std::function<void(std::uint64_t, const GroupNumbers&)>& found);

/// Finds the norm of each group of the source, whose dtype has kernels: exact, and rounded once to float64.
/// NaN if an element is, otherwise infinity if one is; 0 of no elements. One pass.
void norms_of_groups(const ElementSource& source, Norm norm, SimdLevel level,
                     const std::function<void(std::uint64_t group, double)>& found);

/// For each group of the source the median of |x - center| over the elements that are not NaN, exactly, as
/// scipy.stats.median_abs_deviation defines it if the centers are medians; nothing for a group without a
/// center, and NaN for an infinite one.
///
/// One pass over the elements for 8 and 16 bits and for few elements, otherwise two, or four to six if more
/// than 128 Ki different elements are near the middle. Error{io} if the elements changed between two passes.
[[nodiscard]] std::vector<std::optional<Number>> median_deviations(
    const ElementSource& source, std::span<const std::optional<Number>> centers, SimdLevel level);

}  // namespace clipper
