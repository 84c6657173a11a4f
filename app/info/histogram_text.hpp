#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "contract/plan.hpp"
#include "statistics/statistics.hpp"

namespace clipper {

/// The histogram as lines of ASCII: range, count, share and bar of each row, at most `width` columns wide if
/// that leaves room for a bar. Between the lines for the bounds is all that lies within them. There must be
/// rows.
[[nodiscard]] std::string histogram_text(const ElementStatistics& statistics, const std::optional<Limit>& min,
                                         const std::optional<Limit>& max, std::size_t width);

}  // namespace clipper
