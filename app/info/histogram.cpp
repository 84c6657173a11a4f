#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "element/element.hpp"
#include "element/number.hpp"
#include "element/text.hpp"
#include "info/info_command.hpp"

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

Label label_of(const ElementStatistics& statistics, const LogicalType& meaning, std::size_t row) {
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

/// Where the bound lies among the rows: 2.5 is the middle of row 2. Integers have the width 1, as in their
/// rows.
std::optional<double> place_of(const ElementStatistics& statistics, const std::optional<Limit>& limit,
                               bool is_max) {
  if (!limit || limit->plan) return std::nullopt;
  const double step = is_max && !is_floating(statistics.dtype) ? 1 : 0;
  const Histogram& histogram = statistics.histogram;
  const double bound = round_to<double>(next_within(statistics.dtype, *limit)) + step;
  return std::clamp(std::ldexp(bound, -histogram.exponent) - static_cast<double>(histogram.first), 0.,
                    static_cast<double>(histogram.rows));
}

constexpr double kPlotLeft = 20;
constexpr double kPlotWidth = 600;
constexpr double kPlotBottom = 260;
constexpr double kPlotHeight = 200;

/// The part of a bar from `begin` to `end`, in rows.
std::string bar_svg(double begin, double end, double height, std::string_view kind) {
  if (begin >= end) return "";
  return fmt::format(R"(<rect class="{}" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>)", kind,
                     kPlotLeft + begin, kPlotBottom - height, end - begin, height);
}

std::string text_svg(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.2f}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, text);
}

std::string bound_svg(std::string_view name, const Limit& limit, double x, double y) {
  const bool is_right = x > kPlotLeft + kPlotWidth / 2;
  return fmt::format("<path class=\"bound\" d=\"M{0:.2f} {1}V{2}\"/>\n", x, y - 10, kPlotBottom) +
         text_svg(x + (is_right ? -4 : 4), y, is_right ? "end" : "start",
                  fmt::format("{} {}", name, limit.text));
}

}  // namespace

std::string edge_text(DType dtype, const LogicalType& meaning, const Histogram& histogram, std::size_t row) {
  const std::string number = edge_text(dtype, histogram, row);
  if (meaning.kind == LogicalType::Kind::number || meaning.kind == LogicalType::Kind::timedelta)
    return number;
  std::int64_t element = std::numeric_limits<std::int64_t>::max();  // of an edge beyond all elements
  std::from_chars(number.data(), number.data() + number.size(), element);
  return element_text(dtype, meaning, to_bits(element));
}

std::string histogram_text(const ElementStatistics& statistics, const LogicalType& meaning,
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

std::string histogram_svg(const TensorInfo& tensor) {
  const ElementStatistics& statistics = *tensor.statistics;
  const Histogram& histogram = statistics.histogram;
  std::string text =
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 290" font-family="sans-serif" font-size="13">
<style>.kept{fill:#4477aa}.clipped{fill:#cc5544}.bound{stroke:#222;stroke-dasharray:4 3}</style>
<rect width="640" height="290" fill="#fff"/>
)";
  text += text_svg(kPlotLeft, 18, "start", fmt::format("{} finite elements", statistics.finite_count()));
  const std::optional<double> min = place_of(statistics, tensor.min, false);
  const std::optional<double> max = place_of(statistics, tensor.max, true);
  const std::uint64_t max_count = *std::ranges::max_element(histogram.counts);
  const double width = kPlotWidth / static_cast<double>(std::max<std::size_t>(histogram.rows, 1));
  for (std::size_t row = 0; row < histogram.rows; ++row) {
    const double begin = static_cast<double>(row) * width;
    const double end = begin + width;
    const double low = std::clamp(min.value_or(0) * width, begin, end);
    const double high = std::clamp(max.value_or(static_cast<double>(histogram.rows)) * width, low, end);
    const double height =
        kPlotHeight * static_cast<double>(histogram.counts[row]) / static_cast<double>(max_count);
    const Label label = label_of(statistics, tensor.header.meaning, row);
    text += fmt::format("<g><title>{}: {}</title>{}{}{}</g>\n", range_text(label, 0, 0),
                        histogram.counts[row], bar_svg(begin, low, height, "clipped"),
                        bar_svg(low, high, height, "kept"), bar_svg(high, end, height, "clipped"));
  }
  if (histogram.rows != 0) {
    const Label last = label_of(statistics, tensor.header.meaning, histogram.rows - 1);
    text +=
        text_svg(kPlotLeft, kPlotBottom + 18, "start", label_of(statistics, tensor.header.meaning, 0).begin);
    text +=
        text_svg(kPlotLeft + kPlotWidth, kPlotBottom + 18, "end", last.end.empty() ? last.begin : last.end);
  }
  if (min) text += bound_svg("min", *tensor.min, kPlotLeft + *min * width, 40);
  if (max) text += bound_svg("max", *tensor.max, kPlotLeft + *max * width, 54);
  return text + "</svg>\n";
}

}  // namespace clipper
