#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "console/color.hpp"
#include "console/error_line.hpp"
#include "contract/plan.hpp"
#include "npy/header.hpp"
#include "statistics/statistics.hpp"

namespace clipper {

/// What is known of a file.
struct TensorInfo {
  std::string input;  ///< as it was given
  npy::Header header;
  int version_major = 1;  ///< of the file format
  int version_minor = 0;
  std::optional<ElementStatistics> statistics;
  std::optional<Limit> min;  ///< that statistics were asked for
  std::optional<Limit> max;
};

/// For people: the path and a line for each fact, with a histogram that is `width` columns wide.
[[nodiscard]] std::string as_text(const TensorInfo& tensor, std::size_t width, const Paint& paint);

/// One JSON object in a line. Elements, bounds, edges and the mean are text, since JSON has no infinity and
/// few readers keep 64 bits; bytes of a path that are not UTF-8 become U+FFFD. Always:
///     version         of this schema: 1
///     input           the path as given
///     status          0, or of a failure its exit status
///     error           of a failure only, which has nothing further: its message
///     npy_version     "1.0"
///     dtype           "float32"
///     byte_order      "little" or "big"; of single bytes this machine's
///     shape           [4, 6]
///     fortran_order   false: C order
///     elements        the product of the shape
///     header_bytes    before the first element
///     bytes           of the elements
/// With statistics also:
///     statistics      {min, max, mean, nan, positive_infinity, negative_infinity, histogram, bounds}
///       min, max      of all elements but NaN; null if there are none
///       mean          of the finite elements, rounded to float64; null if there are none
///       nan, positive_infinity, negative_infinity: how many elements
///       histogram     {edges, counts} as numpy.histogram has them, of the finite elements: counts[i] of them
///                     are >= edges[i] and < edges[i + 1]. Both empty if there are none
///       bounds        {min, max, below, above}: the bounds as typed, or the elements in @FILEs (null: not
///                     given), and how many elements are less than min and greater than max, exactly
[[nodiscard]] std::string as_json(const TensorInfo& tensor);
[[nodiscard]] std::string as_json(const std::string& input, const Failure& failure);

}  // namespace clipper
