#include "info/histogram_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "element/element.hpp"
#include "element/number.hpp"

namespace clipper {
namespace {

constexpr std::size_t kShortestBar = 10;

struct Label {
  std::string begin;
  std::string end;  ///< empty: the row holds one value
};

Number edge_number(DType dtype, const Histogram& histogram, std::size_t row) {
  return *parse_number(edge_text(dtype, histogram, row));
}

/// How many significant digits distinguish edges that are a hundredth of a row's width apart.
int digits_of_edges(const Histogram& histogram) {
  const auto first = static_cast<double>(histogram.first);
  const double largest = std::max(std::fabs(first), std::fabs(first + static_cast<double>(histogram.rows)));
  return std::min(static_cast<int>(std::log10(std::max(largest, 1.0))) + 3, 17);
}

Label label_of(const ElementStatistics& statistics, const Meaning& meaning, std::size_t row) {
  const Histogram& histogram = statistics.histogram;
  const DType dtype = statistics.dtype;
  if (histogram.rows == 1 && statistics.finite->lowest == statistics.finite->highest)
    return {element_text(dtype, meaning, statistics.finite->lowest), ""};
  if (is_floating(dtype)) {
    const int digits = digits_of_edges(histogram);
    return {edge_text(dtype, histogram, row, digits), edge_text(dtype, histogram, row + 1, digits)};
  }
  if (histogram.exponent == 0) return {edge_text(dtype, meaning, histogram, row), ""};
  return {edge_text(dtype, meaning, histogram, row), edge_text(dtype, meaning, histogram, row + 1)};
}

/// The limit's nearest element within it: 2 for integers and a min of 1.5. Without such an element, the
/// limit.
Number next_within(DType dtype, const Limit& limit) {
  return limit.element ? number_of(dtype, *limit.element) : limit.number;
}

/// The row that holds the lower bound. The bound's line is printed above this row.
std::size_t row_of_min(const ElementStatistics& statistics, const Limit& min) {
  const Number bound = next_within(statistics.dtype, min);
  std::size_t row = 0;
  while (row < statistics.histogram.rows &&
         edge_number(statistics.dtype, statistics.histogram, row + 1) <= bound)
    ++row;
  return row;
}

/// The row after the one that holds the upper bound. The bound's line is printed above this row. For a float
/// bound that begins a row, this row itself, although it may hold elements equal to the bound.
std::size_t row_of_max(const ElementStatistics& statistics, const Limit& max) {
  const Number bound = next_within(statistics.dtype, max);
  std::size_t row = 0;
  while (row < statistics.histogram.rows) {
    const Number begin = edge_number(statistics.dtype, statistics.histogram, row);
    if (begin > bound || (begin == bound && is_floating(statistics.dtype))) break;
    ++row;
  }
  return row;
}

std::string bound_line(std::string_view name, const Limit& limit, std::size_t width, const Paint& paint) {
  const std::string text = fmt::format(" {} {}", name, limit.text);
  const std::size_t dashes = std::max(width, text.size() + 4) - text.size() - 2;
  return "  " + paint(Ink::bound, std::string(dashes, '-') + text) + "\n";
}

/// "[ -2,   0)", or a value.
std::string range_text(const Label& label, std::size_t begin_width, std::size_t end_width) {
  if (label.end.empty()) return fmt::format("{:>{}}", label.begin, begin_width);
  return fmt::format("[{:>{}}, {:>{}})", label.begin, begin_width, label.end, end_width);
}

}  // namespace

std::string edge_text(DType dtype, const Meaning& meaning, const Histogram& histogram, std::size_t row) {
  const std::string number = edge_text(dtype, histogram, row);
  if (meaning.kind == Meaning::Kind::number || meaning.kind == Meaning::Kind::timedelta) return number;
  std::int64_t element = std::numeric_limits<std::int64_t>::max();  // of an edge beyond all elements
  std::from_chars(number.data(), number.data() + number.size(), element);
  return element_text(dtype, meaning, to_bits(element));
}

std::string histogram_text(const ElementStatistics& statistics, const Meaning& meaning,
                           const std::optional<Limit>& min, const std::optional<Limit>& max,
                           std::size_t width, const Paint& paint) {
  const Histogram& histogram = statistics.histogram;
  std::vector<Label> labels;
  std::size_t begin_width = 0;
  std::size_t end_width = 0;
  for (std::size_t row = 0; row < histogram.rows; ++row) {
    labels.push_back(label_of(statistics, meaning, row));
    begin_width = std::max(begin_width, labels.back().begin.size());
    end_width = std::max(end_width, labels.back().end.size());
  }
  const std::uint64_t max_count = *std::max_element(histogram.counts.begin(), histogram.counts.end());
  const std::size_t count_width = std::to_string(max_count).size();

  std::string text;
  for (std::size_t row = 0; row <= histogram.rows; ++row) {
    if (min && !min->plan && row_of_min(statistics, *min) == row)
      text += bound_line("min", *min, width, paint);
    if (max && !max->plan && row_of_max(statistics, *max) == row)
      text += bound_line("max", *max, width, paint);
    if (row == histogram.rows) break;
    const auto count = static_cast<double>(histogram.counts[row]);
    std::string line = "  " + range_text(labels[row], begin_width, end_width);
    line += fmt::format("  {:>{}}  {:>6.2f} %  ", histogram.counts[row], count_width,
                        100 * count / static_cast<double>(statistics.finite_count()));
    const std::size_t room = std::max(width, line.size() + kShortestBar) - line.size();
    // Rounded up: a single element is visible.
    line.append(static_cast<std::size_t>(
                    std::ceil(static_cast<double>(room) * count / static_cast<double>(max_count))),
                '#');
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace clipper
