#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "console/json.hpp"
#include "console/terminal.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "element/text.hpp"
#include "flows/figures.hpp"
#include "info/info_command.hpp"

namespace clipper {
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

/// As a bound it gives the same bytes: of integers without a fraction from 2^53 on, of floats the shortest
/// decimal of the nearest float64 or, if that rounds to another element, all digits.
std::string value_text(DType dtype, const Figure& value) {
  constexpr double kEnd = 18446744073709551616.0;
  const Figure bound = is_floating(dtype) ? value : found_bound(value);
  const double nearest = bound.nearest();
  std::string text = fmt::format("{}", nearest);
  const bool is_same =
      is_floating(dtype) ? nearest_element(dtype, parse_number(text).value()) == nearest_element(dtype, bound)
                         : std::fabs(nearest) > kEnd || !is_integer(bound);
  return is_same ? text : decimal_text(bound);
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
    facts.emplace_back(expression, value ? value_text(dtype, *value) : "none");
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
                {"value", value ? Json::number(dtype, value_text(dtype, *value)) : Json()}});
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
  json.add("npy_version", tensor.has_npy_header
                              ? Json(fmt::format("{}.{}", tensor.version_major, tensor.version_minor))
                              : Json());
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
  for (const auto& [expression, value] : tensor.values)
    row.push_back(value ? value_text(header.dtype, *value) : "none");
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
