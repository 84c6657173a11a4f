#include "compare/compare_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "console/escape_for_terminal.hpp"
#include "console/json.hpp"
#include "element/element.hpp"

namespace clipper {
namespace {

double number_of_text(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The value, rounded up to two significant digits.
std::string rounded_up(double value) {
  std::string text = fmt::format("{:.2g}", value);
  if (number_of_text(text) >= value) return text;
  const std::string scientific = fmt::format("{:.1e}", value);
  const double half = number_of_text("0.05" + scientific.substr(scientific.find('e')));
  text = fmt::format("{:.2g}", value + half);
  return number_of_text(text) >= value ? text : fmt::format("{}", value);
}

double float_value(Difference difference) {
  return std::bit_cast<double>(difference);
}

std::string difference_text(DType dtype, Difference difference) {
  return is_floating(dtype) ? rounded_up(float_value(difference)) : fmt::format("{}", difference);
}

Json difference_json(DType dtype, std::optional<Difference> difference) {
  if (!difference) return {};
  return is_floating(dtype) ? Json(float_value(*difference)) : Json(*difference);
}

/// The smallest --atol with which all elements would match; nothing if no --atol would do.
std::optional<Difference> passing_absolute(const PairReport& report) {
  const ElementComparison& comparison = report.comparison;
  if (report.compared != Compared::values || comparison.mismatches == 0) return std::nullopt;
  if (is_floating(comparison.dtype) && !std::isfinite(float_value(comparison.absolute))) return std::nullopt;
  return comparison.absolute;
}

std::optional<std::uint64_t> passing_ulps(const PairReport& report) {
  const ElementComparison& comparison = report.comparison;
  const bool known = report.compared == Compared::values && comparison.mismatches != 0 &&
                     is_floating(comparison.dtype) && comparison.ulps != ElementComparison::kNoUlps;
  return known ? std::optional(comparison.ulps) : std::nullopt;
}

std::string mismatch_text(const PairReport& report, const Mismatch& mismatch) {
  const DType dtype = report.comparison.dtype;
  const auto difference = difference_of(dtype, mismatch.actual, mismatch.expected);
  const auto ulps = ulps_between(dtype, mismatch.actual, mismatch.expected);
  std::vector<std::string> distances;
  if (difference) distances.push_back(difference_text(dtype, *difference));
  if (ulps) distances.push_back(fmt::format("{} ulp", *ulps));
  std::string text =
      fmt::format("{} actual {} expected {}", npy::index_text(report.header, mismatch.position),
                  element_text(dtype, mismatch.actual), element_text(dtype, mismatch.expected));
  if (report.compared == Compared::bits && difference == Difference{0})
    text += fmt::format(" (bits {:#x} and {:#x})", mismatch.actual, mismatch.expected);
  else if (!distances.empty())
    text += fmt::format(" ({})", fmt::join(distances, ", "));
  return text;
}

std::string largest_text(const PairReport& report) {
  const ElementComparison& comparison = report.comparison;
  if (comparison.largest == 0) return "";
  return fmt::format("max abs {} at {}", difference_text(comparison.dtype, comparison.largest),
                     npy::index_text(report.header, comparison.largest_at));
}

std::string advice_text(const PairReport& report) {
  if (report.compared != Compared::values) return "";
  std::vector<std::string> options;
  if (const auto absolute = passing_absolute(report))
    options.push_back("--atol " + difference_text(report.comparison.dtype, *absolute));
  if (const auto ulps = passing_ulps(report)) options.push_back(fmt::format("--ulp {}", *ulps));
  if (options.empty()) return "; no tolerance would let it pass";
  return fmt::format("; would pass with {}", fmt::join(options, " or "));
}

/// "3 of 1048576 differ (0.000286 %)"
std::string count_text(const PairReport& report) {
  const ElementComparison& comparison = report.comparison;
  const double percent =
      100 * static_cast<double>(comparison.mismatches) / static_cast<double>(comparison.compared);
  return fmt::format("{} of {}{} differ ({:.3g} %)", comparison.mismatches, comparison.compared,
                     report.compared == Compared::bytes ? " bytes" : "", percent);
}

Json mismatch_json(const PairReport& report, const Mismatch& mismatch) {
  const DType dtype = report.comparison.dtype;
  const auto difference = difference_of(dtype, mismatch.actual, mismatch.expected);
  const auto ulps = ulps_between(dtype, mismatch.actual, mismatch.expected);
  return {{"index", npy::index_of(report.header, mismatch.position)},
          {"actual", Json::number(dtype, element_text(dtype, mismatch.actual))},
          {"expected", Json::number(dtype, element_text(dtype, mismatch.expected))},
          {"difference", difference_json(dtype, difference)},
          {"ulp", ulps}};
}

void add_comparison(const PairReport& report, Json& json) {
  const ElementComparison& comparison = report.comparison;
  const auto absolute = passing_absolute(report);
  const auto ulps = passing_ulps(report);
  json.add("dtype", traits(comparison.dtype).name);
  json.add("shape", report.header.shape);
  json.add("compared", comparison.compared);
  json.add("mismatches", comparison.mismatches);
  Json largest;
  if (comparison.largest != 0)
    largest = {{"difference", difference_json(comparison.dtype, comparison.largest)},
               {"index", npy::index_of(report.header, comparison.largest_at)}};
  json.add("largest", std::move(largest));
  Json passes_with;
  if (comparison.mismatches != 0)
    passes_with = {{"atol", difference_json(comparison.dtype, absolute)}, {"ulp", ulps}};
  json.add("passes_with", std::move(passes_with));
  Json first = Json::list();
  for (const Mismatch& mismatch : comparison.first) first.add(mismatch_json(report, mismatch));
  json.add("first", std::move(first));
}

Json start_of(const PairReport& report, int status) {
  Json json{{"version", kJsonVersion}, {"actual", report.actual}, {"expected", report.expected}};
  if (report.member) json.add("member", *report.member);
  json.add("status", status);
  if (!report.notes.empty()) json.add("notes", report.notes);
  return json;
}

}  // namespace

std::string as_text(const PairReport& report, std::size_t shown, const Paint& paint) {
  const ElementComparison& comparison = report.comparison;
  const std::string word = report.status == 0 ? paint(Ink::good, "ok") : paint(Ink::error, "FAIL");
  const auto line = [&](const std::string& text) { return word + " " + escape_for_terminal(text) + "\n"; };
  std::string text = report.member ? report.member_path : report.actual;
  if (!report.reason.empty()) return line(fmt::format("{}: {}", text, report.reason));
  const std::string largest = report.compared == Compared::bytes ? "" : largest_text(report);
  if (comparison.mismatches == 0) return line(text + (largest.empty() ? "" : ": ") + largest);
  text += fmt::format(": {}; first {}", count_text(report), mismatch_text(report, comparison.first.front()));
  if (!largest.empty()) text += "; " + largest;
  text = line(text + advice_text(report));
  for (std::size_t i = 0; i < std::min(shown, comparison.first.size()); ++i)
    text += fmt::format("  {}\n", mismatch_text(report, comparison.first[i]));
  return text;
}

std::string as_json(const PairReport& report) {
  Json json = start_of(report, report.status);
  if (report.without_members)
    json.add("members", 0);
  else if (report.reason.empty())
    add_comparison(report, json);
  else
    json.add("reason", report.reason);
  return json.dump() + "\n";
}

std::string as_json(const PairReport& report, const Failure& failure) {
  Json json = start_of(report, static_cast<int>(failure.kind));
  json.add("error", failure.message);
  return json.dump() + "\n";
}

}  // namespace clipper
