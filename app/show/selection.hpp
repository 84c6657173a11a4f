#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace clipper {

/// The indexes of one axis that are shown, in order; an index without a slice takes the axis away.
struct AxisSelection {
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
  bool is_index = false;
};

/// What `text` selects of a tensor, as numpy understands it between brackets: "0, :5", "-1", "..., ::2".
/// Error{usage}, with the shape, if there are too many indexes, or if one is outside of its axis.
[[nodiscard]] std::vector<AxisSelection> parse_selection(std::string_view text,
                                                         std::span<const std::int64_t> shape);

}  // namespace clipper
