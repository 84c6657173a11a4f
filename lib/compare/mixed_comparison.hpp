#pragma once

#include <cstdint>
#include <optional>

#include "compare/comparison.hpp"

/// Comparisons of elements of two dtypes: see MixedPair.
namespace clipper {

/// Compares pairs with ElementPairs::actual_dtype, and adds them to the result.
void compare_mixed(const ElementPairs& pairs, const ComparisonRule& rule, SimdLevel level,
                   ElementComparison& result);

/// difference_of() and ulps_between() of a mismatch of such pairs.
[[nodiscard]] std::optional<Difference> mixed_difference(const ElementComparison& comparison,
                                                         const Mismatch& mismatch);
[[nodiscard]] std::optional<std::uint64_t> mixed_ulps(const ElementComparison& comparison,
                                                      const Mismatch& mismatch);

}  // namespace clipper
