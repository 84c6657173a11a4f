#include "compare/match_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "command_line/command_line.hpp"
#include "command_line/values.hpp"
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
  constexpr std::array kRule{&kRtol, &kAtol, &kUlp, &kTolerance, &kNanDiffer};
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
  rule.listed = std::max<std::size_t>(matching.shown, 1);
  return matching;
}

bool Allowance::covers(const ElementComparison& comparison) const {
  return percentage ? !percentage->is_exceeded_by(comparison.mismatches, comparison.compared)
                    : comparison.mismatches <= count;
}

}  // namespace clipper
