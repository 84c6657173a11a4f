#pragma once

#include <optional>
#include <span>
#include <vector>

#include "element/number.hpp"
#include "simd/levels.hpp"
#include "statistics/percentiles.hpp"

namespace clipper {

/// For each group of the source the median of |x - center| over the elements that are not NaN, exactly, as
/// scipy.stats.median_abs_deviation defines it if the centers are medians; nothing for a group without a
/// center, and NaN for an infinite one.
///
/// One pass over the elements for 8 and 16 bits and for few elements, otherwise two, three for many equal
/// ones. Error{io} if the elements changed between two passes.
[[nodiscard]] std::vector<std::optional<Number>> median_deviations(
    const ElementSource& source, std::span<const std::optional<Number>> centers, SimdLevel level);

}  // namespace clipper
