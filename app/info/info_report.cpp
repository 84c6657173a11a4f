#include "info/info_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "console/json.hpp"
#include "console/terminal.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "element/text.hpp"

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

namespace {

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

namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

std::string_view word(ByteOrder order) {
  return order == ByteOrder::little ? "little" : "big";
}

/// Whether the elements have a byte order that the type's name does not have.
bool has_order(const npy::Header& header) {
  const std::string name = type_name(header);
  if (header.other) return name.starts_with("float") || name.starts_with("complex");
  return traits(header.dtype).size > 1;
}

std::string dtype_text(const npy::Header& header) {
  std::string text = escape_for_terminal(type_name(header));
  if (has_order(header)) text += fmt::format(", {}-endian", word(header.order));
  if (header.other && text == "|V2") text += " (bfloat16?)";
  if (header.other && text == "|V1") text += " (float8?)";
  return header.stored_as.empty() ? text : text + fmt::format(", written as {}", header.stored_as);
}

/// The commands that take the tensor.
std::vector<std::string> commands_of(const npy::Header& header) {
  if (header.other) return {"info"};
  if (header.meaning.is_complex()) return {"compare", "info", "show"};
  return {"clip", "compare", "info", "show"};
}

std::string data_text(const TensorInfo& tensor) {
  const npy::Header& header = tensor.header;
  const std::string size = header.has_objects() ? "pickled Python objects, which clipper does not read,"
                                                : fmt::format("{} bytes", header.data_size());
  if (!tensor.has_npy_header) return size + " without a .npy header";
  return fmt::format("{} after a {}-byte header, npy {}.{}", size, tensor.header_bytes, tensor.version_major,
                     tensor.version_minor);
}

std::string_view word(Codec method) {
  return method == Codec::stored ? "stored" : "deflated";
}

/// "stored", or "deflated to 12.5 %".
std::string compression_text(const Entry& member) {
  const Contents& contents = member.contents;
  if (member.method == Codec::stored || contents.size == 0) return std::string(word(member.method));
  return fmt::format("{} to {:.3g} %", word(member.method),
                     100 * static_cast<double>(contents.stored_size) / static_cast<double>(contents.size));
}

/// "none" if there is no such element.
std::string optional_text(const npy::Header& header, const std::optional<ElementBits>& element) {
  return element ? element_text(header.dtype, header.meaning, *element) : "none";
}

std::string optional_text(const npy::Header& header, const std::optional<Scalar>& number) {
  return number ? element_text(number->dtype, header.meaning, number->bits) : "none";
}

std::string mean_text(const ElementStatistics& statistics) {
  const std::optional<double> mean = statistics.mean();
  if (!mean) return "none";
  const std::uint64_t finite = statistics.finite_count();
  return fmt::format("{:.6g}", *mean) +
         (finite == statistics.count ? "" : fmt::format(" of {} finite elements", finite));
}

/// "none" if there are no finite elements.
std::string deviation_text(const ElementStatistics& statistics) {
  const std::optional<double> deviation = statistics.standard_deviation();
  return deviation ? fmt::format("{:.6g}", *deviation) : "none";
}

/// As in numpy, dates have no mean: their zero is arbitrary.
bool has_mean(const npy::Header& header) {
  return header.meaning.kind != LogicalType::Kind::datetime;
}

std::string share_text(std::uint64_t count, const ElementStatistics& statistics) {
  if (count == 0) return "0";
  return fmt::format("{} ({:.3g} %)", count,
                     100 * static_cast<double>(count) / static_cast<double>(statistics.count));
}

/// Exact for integers of 64 bits.
std::string value_text(const Figure& value) {
  constexpr double kEnd = 18446744073709551616.0;
  const double nearest = value.nearest();
  return std::fabs(nearest) < kEnd && is_integer(value) ? decimal_text(value) : fmt::format("{}", nearest);
}

void add_statistics(const TensorInfo& tensor, Facts& facts) {
  const ElementStatistics& statistics = *tensor.statistics;
  const DType dtype = statistics.dtype;
  const npy::Header& header = tensor.header;
  facts.emplace_back("min", optional_text(header, statistics.min()));
  facts.emplace_back("max", optional_text(header, statistics.max()));
  if (has_mean(header)) {
    facts.emplace_back("mean", mean_text(statistics));
    facts.emplace_back("std", deviation_text(statistics));
  }
  if (tensor.is_file) facts.emplace_back("median", optional_text(header, tensor.median));
  for (const Percentile& each : tensor.percentiles)
    facts.emplace_back(fmt::format("percentile {}", decimal_text(each.percentage)),
                       optional_text(header, each.value));
  for (const auto& [expression, value] : tensor.values)
    facts.emplace_back(expression, value ? value_text(*value) : "none");
  if (tensor.nodata) facts.emplace_back("nodata", fmt::format("{}", *tensor.nodata));
  if (header.meaning.is_time()) facts.emplace_back("NaT", share_text(statistics.nan, statistics));
  if (is_floating(dtype)) {
    facts.emplace_back("NaN", share_text(statistics.nan, statistics));
    facts.emplace_back("inf", share_text(statistics.positive_infinite, statistics));
    facts.emplace_back("-inf", share_text(statistics.negative_infinite, statistics));
  }
  const auto bound = [&](std::string_view side, const std::optional<Limit>& limit, std::uint64_t count) {
    if (limit) facts.emplace_back(fmt::format("{} {}", side, limit->text), share_text(count, statistics));
  };
  bound("below", tensor.min, statistics.below);
  bound("above", tensor.max, statistics.above);
}

Json element_json(const npy::Header& header, const std::optional<ElementBits>& element) {
  return element ? clipper::element_json(header.dtype, header.meaning, *element) : Json();
}

Json element_json(const npy::Header& header, const std::optional<Scalar>& number) {
  return number ? clipper::element_json(number->dtype, header.meaning, number->bits) : Json();
}

Json limit_json(const npy::Header& header, const std::optional<Limit>& limit) {
  const DType dtype = header.dtype;
  if (!limit) return {};
  if (header.meaning.kind != LogicalType::Kind::number) return element_json(header, limit->element);
  return limit->plan ? array_json(limit->plan->arrays->arrays.front()) : Json::number(dtype, limit->text);
}

Json statistics_json(const TensorInfo& tensor) {
  const npy::Header& header = tensor.header;
  const ElementStatistics& statistics = *tensor.statistics;
  const DType dtype = statistics.dtype;
  const Histogram& histogram = statistics.histogram;
  Json edges = Json::list();
  for (std::size_t row = 0; row <= histogram.rows && histogram.rows != 0; ++row) {
    const bool is_date = header.meaning.kind == LogicalType::Kind::datetime;
    edges.add(is_date ? Json(edge_text(dtype, header.meaning, histogram, row))
                      : Json::number(dtype, edge_text(dtype, histogram, row)));
  }
  Json counts = Json::list();
  for (std::size_t row = 0; row < histogram.rows; ++row) counts.add(histogram.counts[row]);
  Json percentiles = Json::list();
  for (const Percentile& each : tensor.percentiles)
    percentiles.add({{"percent", Json::number(DType::float64, decimal_text(each.percentage))},
                     {"value", element_json(header, each.value)}});
  Json json{{"min", element_json(header, statistics.min())},
            {"max", element_json(header, statistics.max())},
            {"mean", has_mean(header) ? Json(statistics.mean()) : Json()},
            {"standard_deviation", has_mean(header) ? Json(statistics.standard_deviation()) : Json()},
            {"median", element_json(header, tensor.median)},
            {"percentiles", percentiles},
            {"nan", statistics.nan},
            {"positive_infinity", statistics.positive_infinite},
            {"negative_infinity", statistics.negative_infinite},
            {"histogram", {{"edges", edges}, {"counts", counts}}},
            {"bounds",
             {{"min", limit_json(header, tensor.min)},
              {"max", limit_json(header, tensor.max)},
              {"below", statistics.below},
              {"above", statistics.above}}}};
  Json values = Json::list();
  for (const auto& [expression, value] : tensor.values)
    values.add({{"expression", expression},
                {"value", value ? Json::number(DType::int64, value_text(*value)) : Json()}});
  if (!tensor.values.empty()) json.add("values", std::move(values));
  if (tensor.nodata) json.add("nodata", *tensor.nodata);
  return json;
}

Facts tensor_facts(const TensorInfo& tensor) {
  if (!tensor.other.empty()) return {{"dtype", fmt::format("{}: clipper does not read it", tensor.other)}};
  const npy::Header& header = tensor.header;
  if (tensor.total || !tensor.index.empty())
    return {{"dtype", tensor.total ? type_name(header) : dtype_text(header)},
            {"elements", fmt::format("{}", tensor.count)}};
  Facts facts{{"dtype", dtype_text(header)},
              {"shape",
               fmt::format("{}, {} order", shape_text(header.shape), header.fortran_order ? "Fortran" : "C")},
              {"elements", fmt::format("{}", header.count)},
              {"data", data_text(tensor)}};
  const std::vector<std::string> commands = commands_of(header);
  if (commands.front() != "clip") facts.emplace_back("commands", joined(commands, ", "));
  return facts;
}

void add_header_json(const TensorInfo& tensor, Json& json) {
  const npy::Header& header = tensor.header;
  json.add("npy_version", fmt::format("{}.{}", tensor.version_major, tensor.version_minor));
  json.add("dtype", type_name(header));
  json.add("byte_order", has_order(header) || !header.other ? Json(word(header.order)) : Json());
  json.add("shape", header.shape);
  json.add("fortran_order", header.fortran_order);
  json.add("elements", tensor.index.empty() ? header.count : tensor.count);
  json.add("header_bytes", tensor.header_bytes);
  json.add("bytes", header.has_objects() ? Json() : Json(header.data_size()));
  json.add("commands", commands_of(header));
  if (tensor.statistics) json.add("statistics", statistics_json(tensor));
}

/// The members of all objects: which file the object is about, and its exit status.
Json json_about(const std::string& input, const Entry* member, int status) {
  Json json = named_object("info");
  json.add_name("input", input);
  if (member != nullptr) json.add_name("member", member->name);
  json.add("status", status);
  return json;
}

}  // namespace

std::string as_text(const TensorInfo& tensor, std::size_t width, const Paint& paint) {
  Facts facts = tensor_facts(tensor);
  if (tensor.statistics) add_statistics(tensor, facts);
  std::size_t longest = 0;
  for (const auto& [name, value] : facts) longest = std::max(longest, name.size());
  std::string text = escape_for_terminal(tensor.path) + "\n";
  for (const auto& [name, value] : facts) text += fmt::format("  {:{}}  {}\n", name, longest, value);
  if (tensor.statistics && tensor.statistics->histogram.rows != 0)
    text += "\n" +
            histogram_text(*tensor.statistics, tensor.header.meaning, tensor.min, tensor.max, width, paint);
  return text;
}

namespace {

/// As numpy gives it for the index. The tensors of a total may have different ones.
std::string shape_cell(const TensorInfo& tensor) {
  if (tensor.total) return "-";
  std::vector<std::int64_t> shape;
  for (std::size_t axis = 0; axis < tensor.header.shape.size(); ++axis)
    if (tensor.index.empty() || !tensor.index[axis]) shape.push_back(tensor.header.shape[axis]);
  return shape_text(shape) + (tensor.header.fortran_order ? ", Fortran order" : "");
}

/// Without what follows the number in as_text().
std::string cell_of(const Facts& facts, const std::string& name) {
  for (const auto& [fact, value] : facts)
    if (fact == name || fact.starts_with(name + " ") || (fact == "NaT" && name == "NaN"))
      return value.substr(0, value.find(' '));
  return "-";
}

}  // namespace

Table member_table() {
  using enum Table::Align;
  return Table({{"key", left}, {"dtype", left}, {"shape", left}, {"size", right}, {"compression", left}});
}

Table tensor_table(const std::vector<std::string>& facts, Table::Format format) {
  using enum Table::Align;
  std::vector<Table::Column> columns{{"file", left}, {"dtype", left}, {"shape", left}};
  if (facts.empty()) columns.push_back({"size", right});
  for (const std::string& fact : facts) columns.push_back({fact, right});
  return Table(std::move(columns), format);
}

Table::Row as_row(const TensorInfo& tensor, const std::vector<std::string>& facts) {
  const npy::Header& header = tensor.header;
  Table::Row row{escape_for_terminal(tensor.path)};
  if (tensor.other.empty()) {
    const bool is_usual = header.order == kNativeOrder && header.stored_as.empty() && !header.other;
    row.insert(row.end(), {is_usual ? type_name(header) : dtype_text(header), shape_cell(tensor)});
  } else {
    row.insert(row.end(), {std::string(tensor.other), "-"});
  }
  if (facts.empty() && !tensor.other.empty())
    row.push_back(fmt::format("{}", tensor.member->contents.size));
  else if (facts.empty())
    row.push_back(header.has_objects() ? "-" : fmt::format("{}", header.data_size()));
  Facts found;
  if (tensor.statistics) add_statistics(tensor, found);
  for (const std::string& fact : facts) row.push_back(cell_of(found, fact));
  return row;
}

Table::Row as_row(const TensorInfo& tensor, std::string_view key) {
  Table::Row row = as_row(tensor, std::vector<std::string>{});
  row.front() = escape_for_terminal(key);
  row.push_back(compression_text(*tensor.member));
  return row;
}

std::string as_json(const TensorInfo& tensor) {
  Json json = json_about(tensor.input, tensor.member, 0);
  if (tensor.member != nullptr) {
    json.add("compression", word(tensor.member->method));
    json.add("compressed_bytes", tensor.member->contents.stored_size);
  }
  if (!tensor.index.empty()) json.add("index", tensor.index);
  if (tensor.total) {
    json.add("total", *tensor.total);
    json.add("dtype", type_name(tensor.header));
    json.add("elements", tensor.count);
    json.add("statistics", statistics_json(tensor));
  } else if (tensor.other.empty()) {
    add_header_json(tensor, json);
  } else {
    json.add("kind", tensor.other);
  }
  return json.dump() + "\n";
}

std::string as_json(const std::string& input, const Entry* member, const Failure& failure) {
  Json json = json_about(input, member, static_cast<int>(failure.kind));
  json.add("error", failure.message);
  return json.dump() + "\n";
}

std::string empty_archive_json(const std::string& input) {
  Json json = json_about(input, nullptr, 0);
  json.add("empty", true);
  return json.dump() + "\n";
}

}  // namespace clipper
