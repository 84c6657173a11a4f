#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "console/terminal.hpp"
#include "contract/plan.hpp"
#include "statistics/statistics.hpp"

namespace clipper {

/// The begin of a row of the histogram, or the end of the last one: a number, a date or a flag.
[[nodiscard]] std::string edge_text(DType dtype, const LogicalType& meaning, const Histogram& histogram,
                                    std::size_t row);

/// The histogram as lines of ASCII: range, count, share and bar of each row, at most `width` columns wide if
/// that leaves room for a bar. Colored lines mark bounds that are numbers: the rows between them lie within
/// the bounds.
/// The histogram must have rows.
[[nodiscard]] std::string histogram_text(const ElementStatistics& statistics, const LogicalType& meaning,
                                         const std::optional<Limit>& min, const std::optional<Limit>& max,
                                         std::size_t width, const Paint& paint);

struct TensorInfo;

/// The histogram as an SVG picture, from edge to edge of its rows: lines mark bounds that are numbers, and
/// the parts of bars beyond them have another color. The tensor must have statistics.
[[nodiscard]] std::string histogram_svg(const TensorInfo& tensor);

}  // namespace clipper
