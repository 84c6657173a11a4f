#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "console/color.hpp"
#include "console/error_line.hpp"
#include "contract/plan.hpp"
#include "npy/header.hpp"
#include "statistics/statistics.hpp"

namespace clipper {

struct Percentile {
  Number percentage;
  std::optional<ElementBits> value;  ///< nothing if all elements are NaN
};

/// What info prints about one file.
struct TensorInfo {
  std::string input;  ///< path as given
  npy::Header header;
  int version_major = 1;  ///< of the .npy format
  int version_minor = 0;
  std::optional<ElementStatistics> statistics;
  bool is_file = true;                ///< not a stream, which can be read only once: it has no percentiles
  std::optional<ElementBits> median;  ///< nothing if all elements are NaN
  std::vector<Percentile> percentiles;
  std::optional<Limit> min;  ///< --min, whose violations are counted
  std::optional<Limit> max;
};

/// Text for people: the path, one line per fact, and a histogram of `width` columns if there are statistics.
[[nodiscard]] std::string as_text(const TensorInfo& tensor, std::size_t width, const Paint& paint);

/// One line: the object `info` of data/clipper.schema.json, for a file or for a failure.
[[nodiscard]] std::string as_json(const TensorInfo& tensor);
[[nodiscard]] std::string as_json(const std::string& input, const Failure& failure);

}  // namespace clipper
