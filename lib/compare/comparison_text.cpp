#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <vector>

#include "compare/compare_files.hpp"
#include "element/element.hpp"
#include "element/text.hpp"

namespace clipper {
namespace {

double number_of_text(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The value with three significant digits.
std::string rounded(double value) {
  return fmt::format("{:.3g}", value);
}

/// The value, rounded up to three significant digits: a tolerance that lets it pass.
std::string rounded_up(double value) {
  if (std::string text = rounded(value); number_of_text(text) >= value) return text;
  const std::string scientific = fmt::format("{:.2e}", value);
  const double half = number_of_text("0.005" + scientific.substr(scientific.find('e')));
  std::string text = rounded(value + half);
  const double number = number_of_text(text);
  return number >= value && std::isfinite(number) ? text : fmt::format("{}", value);
}

std::string difference_text(const ElementComparison& comparison, Difference difference) {
  return comparison.has_float_differences() ? rounded(float_difference(difference))
                                            : fmt::format("{}", difference);
}

std::string tolerance_text(const ElementComparison& comparison, Difference difference) {
  return comparison.has_float_differences() ? rounded_up(float_difference(difference))
                                            : fmt::format("{}", difference);
}

std::string largest_text(const FileComparison& files) {
  const ElementComparison& comparison = files.comparison;
  if (comparison.largest == 0) return "";
  return fmt::format("max abs {} at {}", difference_text(comparison, comparison.largest),
                     index_text(files.layout, comparison.largest_at));
}

std::string advice_text(const FileComparison& files, Compared compared, const ToleranceNames& names) {
  if (compared != Compared::values) return "";
  std::vector<std::string> options;
  if (const auto absolute = passing_absolute(files.comparison, compared))
    options.push_back(std::string(names.absolute) + tolerance_text(files.comparison, *absolute));
  if (const auto ulps = passing_ulps(files.comparison, compared))
    options.push_back(fmt::format("{}{}", names.ulps, *ulps));
  if (options.empty()) return "; no tolerance would let it pass";
  return fmt::format("; would pass with {}", joined(options, " or "));
}

/// A cosine has more digits than three: near 1 they would all be 1.
std::string metrics_text(const ElementComparison& comparison) {
  if (!comparison.metrics) return "";
  const Metrics metrics = metrics_of(*comparison.metrics, comparison.compared);
  const auto text = [](const std::optional<double>& value) { return value ? rounded(*value) : "none"; };
  const std::string cosine = metrics.cosine ? fmt::format("{:.9g}", *metrics.cosine) : "none";
  return fmt::format("max rel {}, RMSE {}, cosine {}, SQNR {}", text(metrics.relative), text(metrics.rmse),
                     cosine, text(metrics.sqnr)) +
         (metrics.sqnr ? " dB" : "");
}

/// "3 of 1048576 differ (0.000286 %)"
std::string count_text(const FileComparison& files, Compared compared) {
  const ElementComparison& comparison = files.comparison;
  const double percent =
      100 * static_cast<double>(comparison.mismatches) / static_cast<double>(comparison.compared);
  return fmt::format("{} of {}{} differ ({:.3g} %)", comparison.mismatches, comparison.compared,
                     compared == Compared::bytes ? " bytes" : "", percent);
}

}  // namespace

std::optional<Difference> passing_absolute(const ElementComparison& comparison, Compared compared) {
  if (compared != Compared::values || comparison.mismatches == 0) return std::nullopt;
  const bool exists =
      comparison.has_float_differences()
          ? std::isfinite(float_difference(comparison.absolute))
          : !comparison.meaning.is_time() || comparison.absolute != ElementComparison::kNoTicks;
  if (!exists) return std::nullopt;
  return comparison.absolute;
}

std::optional<std::uint64_t> passing_ulps(const ElementComparison& comparison, Compared compared) {
  const bool known = compared == Compared::values && comparison.mismatches != 0 &&
                     comparison.has_float_differences() && comparison.ulps != ElementComparison::kNoUlps;
  return known ? std::optional(comparison.ulps) : std::nullopt;
}

std::string mismatch_text(const FileComparison& files, Compared compared, const Mismatch& mismatch) {
  const DType dtype = files.comparison.dtype;
  const LogicalType& meaning = files.comparison.meaning;
  const auto difference = difference_of(files.comparison, mismatch);
  const auto ulps = ulps_between(files.comparison, mismatch);
  std::vector<std::string> distances;
  if (difference) distances.push_back(difference_text(files.comparison, *difference));
  if (ulps) distances.push_back(fmt::format("{} ulp", *ulps));
  std::string text =
      fmt::format("{} actual {} expected {}", index_text(files.layout, mismatch.position),
                  element_text(files.comparison.actual_dtype.value_or(dtype), meaning, mismatch.actual,
                               mismatch.actual_imaginary),
                  element_text(dtype, meaning, mismatch.expected, mismatch.expected_imaginary));
  if (compared == Compared::bits && difference.value_or(0) == 0 && !meaning.is_complex())
    text += fmt::format(" (bits {:#x} and {:#x})", mismatch.actual, mismatch.expected);
  else if (!distances.empty())
    text += fmt::format(" ({})", joined(distances, ", "));
  return text;
}

std::string summary_text(const FileComparison& files, Compared compared,
                         const std::optional<ToleranceNames>& names) {
  const ElementComparison& comparison = files.comparison;
  const std::string largest = compared == Compared::bytes ? "" : largest_text(files);
  const std::string metrics = metrics_text(comparison);
  const std::string last = (metrics.empty() ? "" : "; ") + metrics;
  if (comparison.mismatches == 0) return largest.empty() ? metrics : largest + last;
  const std::string first = mismatch_text(files, compared, comparison.first.front());
  return fmt::format("{}; first {}{}{}{}{}", count_text(files, compared), first, largest.empty() ? "" : "; ",
                     largest, last, names ? advice_text(files, compared, *names) : "");
}

namespace {

/// "rtol=1e-05, ulp=4"
std::string rule_text(const ComparisonRule& rule, const ToleranceNames& names) {
  if (rule.bits) return "bits are compared";
  std::vector<std::string> given;
  if (rule.preset)
    given.push_back(fmt::format("tolerance={}", kPresetWords.at(static_cast<std::size_t>(*rule.preset))));
  if (rule.tolerance.relative() != 0)
    given.push_back(fmt::format("{}{}", names.relative, rule.tolerance.relative()));
  if (rule.tolerance.absolute() != 0)
    given.push_back(fmt::format("{}{}", names.absolute, rule.tolerance.absolute()));
  if (rule.ulps) given.push_back(fmt::format("{}{}", names.ulps, *rule.ulps));
  return given.empty() ? "no tolerance" : joined(given, ", ");
}

/// "3 NaN against numbers, first [2]"
std::string nan_text(const FileComparison& files, const ComparisonRule& rule) {
  const ElementComparison& comparison = files.comparison;
  const bool is_one = comparison.nan == 1;
  const bool is_time = comparison.meaning.is_time();
  const std::string_view number = is_time ? (is_one ? "a time" : "times") : (is_one ? "a number" : "numbers");
  return fmt::format("{} {} {}{}{}", comparison.nan, is_time ? "NaT" : "NaN",
                     rule.nan_equal ? fmt::format("against {}", number) : "match nothing",
                     is_one ? " at " : ", first ", index_text(files.layout, comparison.nan_at));
}

std::string passing_text(const FileComparison& files, const ComparisonRule& rule,
                         const ToleranceNames& names) {
  const ElementComparison& comparison = files.comparison;
  const auto absolute = passing_absolute(comparison, Compared::values);
  const auto ulps = passing_ulps(comparison, Compared::values);
  const bool any = rule.tolerance.relative() == 0 && rule.tolerance.absolute() == 0 && !rule.ulps;
  const auto options = [&](bool all) {
    std::vector<std::string> passing;
    if (std::isfinite(comparison.relative) && (all || rule.tolerance.relative() != 0))
      passing.push_back(std::string(names.relative) + rounded_up(comparison.relative));
    if (absolute && (all || rule.tolerance.absolute() != 0))
      passing.push_back(std::string(names.absolute) + tolerance_text(comparison, *absolute));
    if (ulps && (all || rule.ulps)) passing.push_back(fmt::format("{}{}", names.ulps, *ulps));
    return joined(passing, " or ");
  };
  std::string text = options(any);
  if (text.empty()) text = options(true);
  return text.empty() ? "no tolerance would let it pass" : "would pass with " + text;
}

}  // namespace

std::string report_text(const FileComparison& files, const ComparisonRule& rule,
                        const ToleranceNames& names) {
  const ElementComparison& comparison = files.comparison;
  const Compared compared = rule.bits ? Compared::bits : Compared::values;
  std::vector<std::string> lines{count_text(files, compared) + "; " + rule_text(rule, names)};
  if (comparison.nan != 0 && !rule.bits) lines.push_back(nan_text(files, rule));
  if (comparison.largest != 0) {
    lines.push_back(largest_text(files));
    if (comparison.largest_relative != 0) lines.back() += ", max rel " + rounded(comparison.largest_relative);
  }
  for (const Mismatch& mismatch : comparison.first) lines.push_back(mismatch_text(files, compared, mismatch));
  if (const std::uint64_t more = comparison.mismatches - comparison.first.size(); more != 0)
    lines.push_back(fmt::format("and {} more", more));
  if (!rule.bits) lines.push_back(passing_text(files, rule, names));
  return joined(lines, "\n  ");
}

}  // namespace clipper
