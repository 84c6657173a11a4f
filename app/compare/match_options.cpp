#include "compare/match_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "formats/container.hpp"

namespace clipper {
namespace {

using namespace match_options;

Number parse_tolerance(std::string_view flag, std::string_view text) {
  const std::optional<Number> number = parse_number(text);
  if (!number || !is_tolerance(*number))
    refuse(fmt::format("{}: '{}' is not a finite number >= 0", flag, text));
  return *number;
}

/// A limit that a metric from `least` to `most` can break.
Number parse_limit(std::string_view flag, std::string_view text, double least, double most) {
  const std::optional<Number> number = parse_number(text);
  if (!number || number->kind == Number::Kind::nan)
    refuse(fmt::format("{}: '{}' is not a number", flag, text));
  if (*number < least) refuse(fmt::format("{}: '{}' is less than {}", flag, text, least));
  if (*number > most) refuse(fmt::format("{}: '{}' is more than {}", flag, text, most));
  return *number;
}

/// The texts of "GLOB=R" before and after the last =; without a pattern "*".
std::pair<std::string, std::string> pattern_and_value(const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos) return {"*", text};
  return {text.substr(0, at), text.substr(at + 1)};
}

/// Sets the values of the option: for all pairs if no value has a pattern, otherwise for those that each
/// pattern matches. `parse` returns what sets a value.
template <class Parse>
void take_values(const RawOptions& raw, const Option& option, Matching& matching, const Parse& parse) {
  const auto& texts = raw.texts(option);
  const bool has_patterns =
      std::ranges::any_of(texts, [](const std::string& text) { return text.find('=') != std::string::npos; });
  for (const std::string& text : texts) {
    const auto [pattern, value] = pattern_and_value(text);
    if (pattern.empty()) refuse(fmt::format("{}: '{}' has no pattern before the =", long_name(option), text));
    std::function<void(Matching&)> apply = parse(value);
    if (!has_patterns)
      apply(matching);
    else
      matching.adjustments.push_back(
          {&option, pattern, value, fmt::format("{} '{}'", long_name(option), text), std::move(apply)});
  }
}

Allowance parse_allowance(std::string_view text) {
  constexpr std::string_view kFlag = "--max-mismatch";
  if (text.ends_with('%')) return {0, parse_percentage(kFlag, text)};
  if (const auto count = integer_in<std::size_t>(text)) return {*count, std::nullopt};
  refuse(fmt::format("{}: '{}' is neither a number of elements nor a percentage such as 1.5%", kFlag, text));
}

/// Options that may be given for several patterns.
void take_tolerances(const RawOptions& raw, Matching& matching) {
  const auto tolerance = [&](const Option& option, Number Matching::*member) {
    take_values(raw, option, matching, [&, member](const std::string& text) {
      const Number number = parse_tolerance(long_name(option), text);
      return [=](Matching& to) { to.*member = number; };
    });
  };
  tolerance(kRtol, &Matching::rtol);
  tolerance(kAtol, &Matching::atol);
  take_values(raw, kUlp, matching, [](const std::string& text) {
    const std::size_t ulps = parse_count("--ulp", text, 0, SIZE_MAX);
    return [=](Matching& to) { to.rule.ulps = ulps; };
  });
  take_values(raw, kMaxMismatch, matching, [](const std::string& text) {
    const Allowance allowance = parse_allowance(text);
    return [=](Matching& to) { to.allowance = allowance; };
  });
  matching.uses = std::make_shared<std::vector<std::uint64_t>>(matching.adjustments.size());
}

}  // namespace

bool has_rule(const RawOptions& raw) {
  constexpr std::array kRule{&kRtol,      &kAtol,      &kUlp,     &kTolerance,
                             &kNanDiffer, &kMinCosine, &kMaxRmse, &kMinSqnr};
  return std::ranges::any_of(kRule, [&](const Option* option) { return raw.has(*option); });
}

Matching validate_matching(const RawOptions& raw) {
  constexpr std::size_t kMaxShown = 1000;  // limits memory: every thread keeps as many mismatches
  Matching matching;
  ComparisonRule& rule = matching.rule;
  take_tolerances(raw, matching);
  rule.tolerance = {matching.atol, matching.rtol};
  if (raw.has(kTolerance)) rule.preset = static_cast<TolerancePreset>(word_of(raw, kTolerance));
  rule.nan_equal = !raw.has(kNanDiffer) && (!rule.preset || nan_equal(*rule.preset));
  if (raw.has(kShow)) matching.shown = parse_count("--show", raw.text(kShow), 0, kMaxShown);
  const auto limit = [&](const Option& option, double least, double most) {
    return raw.has(option) ? std::optional(parse_limit(long_name(option), raw.text(option), least, most))
                           : std::nullopt;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  matching.limits = {limit(kMinCosine, -1, 1), limit(kMaxRmse, 0, kInfinity),
                     limit(kMinSqnr, -kInfinity, kInfinity)};
  rule.metrics = raw.has(kMetrics) || matching.limits.exist();
  rule.exact_metrics = matching.limits.exist();
  const bool has_tolerance =
      raw.has(kRtol) || raw.has(kAtol) || raw.has(kUlp) || raw.has(kTolerance) || raw.has(kMaxMismatch);
  matching.only_limits = matching.limits.exist() && !has_tolerance;
  rule.listed = std::max<std::size_t>(matching.shown, 1);
  return matching;
}

Matching Matching::of(std::span<const std::string> names) const {
  Matching result = *this;
  if (adjustments.empty()) return result;
  result.adjustments.clear();
  std::map<const Option*, std::size_t> used;
  for (std::size_t i = 0; i < adjustments.size(); ++i)
    if (std::ranges::any_of(names,
                            [&](const std::string& name) { return matches(adjustments[i].pattern, name); }))
      used[adjustments[i].option] = i;
  for (const auto& [option, i] : used) {
    ++(*uses)[i];
    adjustments[i].apply(result);
  }
  result.rule.tolerance = {result.atol, result.rtol};
  return result;
}

std::string Matching::uses_text() const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < adjustments.size(); ++i)
    texts.push_back(
        fmt::format("{} for {} pair{}", adjustments[i].text, (*uses)[i], (*uses)[i] == 1 ? "" : "s"));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string MetricLimits::broken_by(const ElementComparison& comparison) const {
  std::vector<std::string> broken;
  const auto check = [&](const Option& option, std::string_view name, const std::optional<Number>& limit,
                         const auto& holds) {
    if (!limit || holds(*limit, comparison.metrics.value_or(MetricSums{}), comparison.compared)) return;
    broken.push_back(fmt::format("{} breaks {} {}", name, long_name(option), decimal_text(*limit)));
  };
  check(kMinCosine, "cosine", min_cosine, has_cosine_from);
  check(kMaxRmse, "RMSE", max_rmse, has_rmse_to);
  check(kMinSqnr, "SQNR", min_sqnr, has_sqnr_from);
  return fmt::format("{}", fmt::join(broken, ", "));
}

std::string Matching::broken_limits(const FileComparison& result) const {
  const ElementComparison& comparison = result.comparison;
  if (!limits.exist() || !result.reason.empty() || comparison.mismatches == 0) return "";
  return limits.broken_by(comparison);
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
