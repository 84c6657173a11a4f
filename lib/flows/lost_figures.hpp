#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "contract/plan.hpp"
#include "element/number.hpp"

namespace clipper {

/// Collects the figures that a tensor, or groups of its elements, do not have.
class LostFigures {
 public:
  /// `text` is the figure as given, `place` that of the group: "", or " at [0, 2, 0]". All groups after the
  /// first one are only counted.
  void add(std::string_view field, const std::string& text, std::string place, std::string_view why);

  /// Appends what was collected, one entry for all figures that are lost in the same way, and forgets it.
  void move_to(std::vector<LostBound>& lost);

 private:
  struct Entry {
    std::string_view field;
    std::string text;
    std::string place;  ///< of the first group
    std::string_view why;
    std::uint64_t groups = 1;
  };

  std::vector<Entry> entries_;
};

/// A percentile that is no bound. For a step that needs finite ones, that of an empty range.
[[nodiscard]] Number widest(const Request& request, const TensorLayout& layout, bool is_min);

/// What the user is told: "--min 1% is no bound: all elements are NaN".
[[nodiscard]] std::string lost_text(const LostBound& lost);

}  // namespace clipper
