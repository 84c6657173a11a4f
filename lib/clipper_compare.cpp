#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clipper.hpp"
#include "clipper_input.hpp"
#include "compare/compare_files.hpp"
#include "compare/tolerance.hpp"
#include "element/number.hpp"
#include "flows/tensor_sources.hpp"
#include "formats/formats.hpp"
#include "request_text.hpp"

/// The functions of clipper.hpp that compare and describe.
namespace clipper {
namespace {

namespace fs = std::filesystem;

void check_tolerance(std::string_view field, const Number& number) {
  if (!is_tolerance(number))
    throw Error(ErrorKind::usage, Term{field, field} + Message(" " + decimal_text(number) +
                                                               ": must be a finite number, 0 or more"));
}

void expect_no_contradiction(const CompareOptions& compare) {
  const auto refuse = [](std::string_view one, std::string_view other) {
    throw Error(ErrorKind::usage,
                Term{one, one} + Message(" and ") + Term{other, other} + " cannot be used together");
  };
  if (compare.any_dtype && compare.bits) refuse("any_dtype", "bits");
  if (compare.tolerance.empty()) return;
  if (compare.rtol != Number()) refuse("tolerance", "rtol");
  if (compare.atol != Number()) refuse("tolerance", "atol");
  if (compare.bits) refuse("tolerance", "bits");
}

ComparisonRule rule_of(const CompareOptions& compare) {
  check_tolerance("rtol", compare.rtol);
  check_tolerance("atol", compare.atol);
  expect_no_contradiction(compare);
  ComparisonRule rule{.bits = compare.bits,
                      .tolerance = {compare.atol, compare.rtol},
                      .ulps = compare.ulp,
                      .listed = std::max<std::size_t>(compare.max_listed, 1)};
  if (!compare.tolerance.empty())
    rule.preset = static_cast<TolerancePreset>(place_of_text("tolerance", compare.tolerance, kPresetWords));
  rule.nan_equal = compare.nan_equal.value_or(!rule.preset || nan_equal(*rule.preset));
  return rule;
}

bool takes_any_dtype(const CompareOptions& compare, const ComparisonRule& rule) {
  return compare.any_dtype || rule.preset == TolerancePreset::allclose;
}

Comparison comparison_of(const FileComparison& result, const ComparisonRule& rule,
                         const CompareOptions& compare) {
  const Difference largest = result.comparison.largest;
  const bool is_compared = result.reason.empty();
  const DType dtype = is_compared ? result.comparison.dtype : result.layout.dtype;
  Comparison comparison{.reason = result.reason,
                        .dtype = dtype,
                        .actual_dtype = result.comparison.actual_dtype.value_or(dtype),
                        .meaning = is_compared ? result.comparison.meaning : result.layout.meaning,
                        .shape = result.layout.shape,
                        .compared = result.comparison.compared,
                        .mismatches = result.comparison.mismatches,
                        .first = {},
                        .largest = result.comparison.has_float_differences() ? float_difference(largest)
                                                                             : static_cast<double>(largest),
                        .summary = result.reason,
                        .report = result.reason};
  if (result.comparison.mismatches != 0) {
    constexpr ToleranceNames kNames{"atol=", "ulp=", "rtol="};
    comparison.summary = summary_text(result, rule.bits ? Compared::bits : Compared::values, kNames);
    comparison.report = report_text(result, rule, kNames);
  }
  for (const Mismatch& mismatch : result.comparison.first)
    comparison.first.push_back({index_of(result.layout, mismatch.position), mismatch.actual,
                                mismatch.expected, mismatch.actual_imaginary, mismatch.expected_imaginary});
  if (compare.max_listed == 0) comparison.first.clear();
  return comparison;
}

Statistics statistics_from(const TensorLayout& layout, const ElementStatistics& read,
                           std::optional<Scalar> median) {
  const bool has_mean = layout.meaning.kind != LogicalType::Kind::datetime;  // the zero of dates is arbitrary
  return {.dtype = layout.dtype,
          .meaning = layout.meaning,
          .shape = layout.shape,
          .count = read.count,
          .nan = read.nan,
          .positive_infinite = read.positive_infinite,
          .negative_infinite = read.negative_infinite,
          .min = read.min(),
          .max = read.max(),
          .mean = has_mean ? read.mean() : std::nullopt,
          .standard_deviation = has_mean ? read.standard_deviation() : std::nullopt,
          .median = median};
}

}  // namespace

Comparison compare_files(const fs::path& actual_path, const fs::path& expected_path,
                         const CompareOptions& compare, const FileOptions& options) {
  const std::string actual = input_named(actual_path, options);
  const std::string expected = input_named(expected_path, options);
  if (actual == "-" && expected == "-") throw Error(ErrorKind::usage, "standard input cannot be both files");
  CompareSettings settings;
  settings.reading = reading_of(options, true);
  settings.rule = rule_of(compare);
  settings.any_dtype = takes_any_dtype(compare, settings.rule);
  Engine engine(engine_options(options));
  InputFile actual_file = open_as(settings.reading, actual);
  InputFile expected_file = open_as(settings.reading, expected);
  FileComparison result;
  compare_files(engine, settings, actual_file, expected_file, result);
  return comparison_of(result, settings.rule, compare);
}

Comparison compare_memory(const TensorView& actual, const TensorView& expected, const CompareOptions& compare,
                          unsigned threads, const std::atomic<bool>* stop) {
  const ComparisonRule rule = rule_of(compare);
  const Packed first(actual, layout_of_any(actual.tensor));
  const Packed second(expected, layout_of_any(expected.tensor));
  FileComparison result;
  result.layout = second.layout();
  result.reason = difference_as_whole(first.layout(), result.layout, takes_any_dtype(compare, rule));
  if (result.reason.empty()) {
    Engine engine({.threads = threads, .stop = stop});
    result.comparison = clipper::compare(engine, {first.elements(), first.layout()},
                                         {second.elements(), result.layout}, rule);
  }
  return comparison_of(result, rule, compare);
}

std::vector<std::optional<Scalar>> percentiles(const fs::path& path, std::span<const Number> percentages,
                                               const FileOptions& options) {
  auto [input, header] = Opened(input_named(path, options), reading_of(options), npy::Types::clipped);
  Engine engine(engine_options(options));
  return as_scalars(header.dtype, read_percentiles(engine, input, header, percentages));
}

std::vector<std::optional<Scalar>> percentiles(const TensorView& tensor, std::span<const Number> percentages,
                                               unsigned threads, const std::atomic<bool>* stop) {
  const Packed packed(tensor, layout_of_numbers(tensor.tensor));
  return as_scalars(packed.layout().dtype,
                    percentiles_in_memory(packed.layout(), packed.elements(), percentages, {threads, stop}));
}

Statistics statistics(const TensorView& tensor, unsigned threads, const std::atomic<bool>* stop) {
  const Packed packed(tensor, layout_of_numbers(tensor.tensor));
  const Workers workers{threads, stop};
  const std::vector found =
      percentiles_in_memory(packed.layout(), packed.elements(), std::array{Number(50)}, workers);
  return statistics_from(packed.layout(), statistics_in_memory(packed.layout(), packed.elements(), workers),
                         as_scalars(packed.layout().dtype, found).front());
}

Statistics statistics(const fs::path& path, const FileOptions& options) {
  auto [input, header] = Opened(input_named(path, options), reading_of(options), npy::Types::clipped);
  Engine engine(engine_options(options));
  std::optional<Scalar> median;
  if (input.is_regular())
    median =
        as_scalars(header.dtype, read_percentiles(engine, input, header, std::array{Number(50)})).front();
  return statistics_from(header, read_statistics(engine, input, header, std::nullopt, std::nullopt), median);
}

}  // namespace clipper
