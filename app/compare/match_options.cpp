#include "compare/match_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "compare/tolerance.hpp"

namespace clipper {
namespace {

using namespace match_options;

Number parse_tolerance(std::string_view flag, std::string_view text) {
  const std::optional<Number> number = parse_number(text);
  if (!number || !is_tolerance(*number))
    refuse(fmt::format("{}: '{}' is not a finite number >= 0", flag, text));
  return *number;
}

double parse_limit(std::string_view flag, std::string_view text) {
  const std::optional<Number> number = parse_number(text);
  if (!number || number->kind == Number::Kind::nan)
    refuse(fmt::format("{}: '{}' is not a number", flag, text));
  return round_to<double>(*number);
}

Allowance parse_allowance(std::string_view text) {
  constexpr std::string_view kFlag = "--max-mismatch";
  if (!text.ends_with('%')) return {parse_count(kFlag, text, 0, SIZE_MAX), std::nullopt};
  return {0, parse_percentage(kFlag, text)};
}

}  // namespace

Words match_options::preset_words() {
  return {kPresetWords.begin(), kPresetWords.end()};
}

bool has_rule(const RawOptions& raw) {
  constexpr std::array kRule{&kRtol,      &kAtol,      &kUlp,     &kTolerance,
                             &kNanDiffer, &kMinCosine, &kMaxRmse, &kMinSqnr};
  return std::ranges::any_of(kRule, [&](const Option* option) { return raw.has(*option); });
}

Matching validate_matching(const RawOptions& raw) {
  constexpr std::size_t kMaxShown = 1000;  // limits memory: every thread keeps as many mismatches
  Matching matching;
  ComparisonRule& rule = matching.rule;
  const auto tolerance = [&](const Option& option) {
    return raw.has(option) ? parse_tolerance(long_name(option), raw.text(option)) : Number{};
  };
  rule.tolerance = {tolerance(kAtol), tolerance(kRtol)};
  if (raw.has(kTolerance)) rule.preset = static_cast<TolerancePreset>(word_of(raw, kTolerance));
  if (raw.has(kUlp)) rule.ulps = parse_count("--ulp", raw.text(kUlp), 0, SIZE_MAX);
  rule.nan_equal = !raw.has(kNanDiffer) && (!rule.preset || nan_equal(*rule.preset));
  if (raw.has(kMaxMismatch)) matching.allowance = parse_allowance(raw.text(kMaxMismatch));
  if (raw.has(kShow)) matching.shown = parse_count("--show", raw.text(kShow), 0, kMaxShown);
  const auto limit = [&](const Option& option) {
    return raw.has(option) ? std::optional(parse_limit(long_name(option), raw.text(option))) : std::nullopt;
  };
  matching.limits = {limit(kMinCosine), limit(kMaxRmse), limit(kMinSqnr)};
  rule.metrics = raw.has(kMetrics) || matching.limits.exist();
  const bool has_tolerance =
      raw.has(kRtol) || raw.has(kAtol) || raw.has(kUlp) || raw.has(kTolerance) || raw.has(kMaxMismatch);
  matching.only_limits = matching.limits.exist() && !has_tolerance;
  rule.listed = std::max<std::size_t>(matching.shown, 1);
  return matching;
}

std::string MetricLimits::broken_by(const Metrics& metrics) const {
  std::vector<std::string> broken;
  const auto check = [&](const Option& option, std::string_view name, const std::optional<double>& limit,
                         const std::optional<double>& metric, double sign) {
    if (!limit || (metric && sign * *metric >= sign * *limit)) return;
    broken.push_back(fmt::format("{} breaks {} {}", name, long_name(option), *limit));
  };
  check(kMinCosine, "cosine", min_cosine, metrics.cosine, 1);
  check(kMaxRmse, "RMSE", max_rmse, metrics.rmse, -1);
  check(kMinSqnr, "SQNR", min_sqnr, metrics.sqnr, 1);
  return fmt::format("{}", fmt::join(broken, ", "));
}

std::string Matching::broken_limits(const FileComparison& result) const {
  const ElementComparison& comparison = result.comparison;
  if (!limits.exist() || !result.reason.empty() || comparison.mismatches == 0) return "";
  return limits.broken_by(metrics_of(comparison.metrics.value_or(MetricSums{}), comparison.compared));
}

bool Matching::passes(const FileComparison& result) const {
  return result.reason.empty() && (only_limits || allowance.covers(result.comparison)) &&
         broken_limits(result).empty();
}

bool Allowance::covers(const ElementComparison& comparison) const {
  return percentage ? !percentage->is_exceeded_by(comparison.mismatches, comparison.compared)
                    : comparison.mismatches <= count;
}

}  // namespace clipper
