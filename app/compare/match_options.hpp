#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/command_spec.hpp"
#include "compare/compare_files.hpp"
#include "compare/tolerance.hpp"
#include "element/text.hpp"

/// Which elements match, and which results pass: what `clipper compare` and `clipper --verify` share.
namespace clipper {

class RawOptions;

/// How many mismatches pass: a number, or a percentage of all elements.
struct Allowance {
  std::uint64_t count = 0;
  std::optional<Percentage> percentage;

  [[nodiscard]] bool covers(const ElementComparison& comparison) const;
};

/// The limits of metrics. A metric that does not exist fails its limit, unless all elements match.
struct MetricLimits {
  std::optional<Number> min_cosine;
  std::optional<Number> max_rmse;
  std::optional<Number> min_sqnr;  ///< in dB

  [[nodiscard]] bool exist() const noexcept { return min_cosine || max_rmse || min_sqnr; }

  /// The limits that the metrics break: "cosine breaks --min-cosine 0.99"; empty if they break none.
  [[nodiscard]] std::string broken_by(const ElementComparison& comparison) const;
};

struct Matching;

/// A value of --rtol, --atol, --ulp or --max-mismatch for the names that a pattern matches.
struct Adjustment {
  const Option* option;
  std::string pattern;
  std::string value;
  std::string text;  ///< "--rtol 'w*=1e-3'"
  std::function<void(Matching&)> apply;
};

/// What the options below ask for.
struct Matching {
  ComparisonRule rule;
  Compared compared = Compared::values;
  Allowance allowance;
  std::size_t shown = 0;  ///< max mismatches to list
  MetricLimits limits;
  Number rtol{};
  Number atol{};
  std::vector<Adjustment> adjustments{};  ///< of an option, the last one whose pattern matches counts
  std::shared_ptr<std::vector<std::uint64_t>> uses{};  ///< how many pairs each of `adjustments` was for
  bool only_limits = false;  ///< no option says which elements match: mismatches do not fail

  /// The same without `adjustments`, for a pair that has any of these names. Counts it in `uses`.
  [[nodiscard]] Matching of(std::span<const std::string> names) const;

  /// For the closing line: "--rtol 'w*=1e-3' for 2 pairs"; empty without patterns.
  [[nodiscard]] std::string uses_text() const;

  /// MetricLimits::broken_by() for two tensors with this result.
  [[nodiscard]] std::string broken_limits(const FileComparison& result) const;

  /// Whether two tensors with this result pass.
  [[nodiscard]] bool passes(const FileComparison& result) const;
};

/// Throws Error{usage} if a value is invalid.
[[nodiscard]] Matching validate_matching(const RawOptions& raw);

/// Whether an option that says which elements match was given.
[[nodiscard]] bool has_rule(const RawOptions& raw);

namespace match_options {

inline constexpr std::string_view kGroup = "comparison";

/// An option of `clipper compare` that a clip has for --verify.
consteval Option of_matching(Option option) {
  option.group = kGroup;
  option.page = "clipper-compare.1";
  option.needs = "--verify";
  return option;
}

// One block per option, without the indentation that clang-format gives to long texts.
// clang-format off

inline constexpr Option kRtol = of_matching(Option{
    .names = "--rtol", .type = "[GLOB=]R",
    .help = "Tolerance relative to expected elements (default 0)",
    .details = R"(An element may differ by R times the absolute value of the expected one, plus A of `--atol`.
`GLOB=R` is R only for pairs that the pattern matches: by key, by path below the directory, or PATH:KEY. Repeat
it for further patterns; the last that matches counts.)"});

inline constexpr Option kAtol = of_matching(Option{
    .names = "--atol", .type = "[GLOB=]A",
    .help = "Absolute tolerance (default: 0)",
    .details = R"(An element may differ by A, plus R of `--rtol` times the absolute value of the expected one.)"});

inline constexpr Option kUlp = of_matching(Option{
    .names = "--ulp", .type = "[GLOB=]N",
    .help = "Accept floats N units in the last place apart",
    .details = R"(Accept an element also if at most N - 1 values of its dtype lie between it and the expected one.
No effect on integers.)"});

inline constexpr Option kTolerance = of_matching(Option{
    .names = "--tolerance", .type = "PRESET", .words = &words_in<kPresetWords>,
    .excludes = {{"--rtol --atol"}},
    .help = "Tolerances of torch, numpy or allclose",
    .details = R"(R, A and the rule for NaN of torch.testing.assert_close, numpy.testing.assert_allclose or
numpy.allclose; the latter also takes different dtypes. See TOLERANCES.)"});

inline constexpr Option kNanDiffer = of_matching(Option{
    .names = "--nan-differ",
    .help = "NaN matches nothing, not even NaN",
    .details = R"(Let NaN match nothing, as in IEEE 754. By default NaN matches NaN, whatever its bits.)"});

inline constexpr Option kMaxMismatch = of_matching(Option{
    .names = "--max-mismatch", .type = "[GLOB=]N|P%",
    .help = "Accept N mismatches, or P percent",
    .details = R"(Exit with 0 if at most N elements, or P percent of them, differ; default: 0. Nothing is rounded,
and each pair is judged by itself.)"});

inline constexpr Option kShow = of_matching(Option{
    .names = "--show", .type = "N",
    .help = "List the first N mismatches",
    .details = R"(After the line of a pair that differs, list its first N differing elements; at most 1000.)"});

inline constexpr Option kMetrics = of_matching(Option{
    .names = "--metrics",
    .help = "Print relative error, RMSE, cosine and SQNR",
    .details = R"(Print with each pair, also those that match, the largest |a - e| / |e|, the RMSE, the cosine of
the two tensors as vectors, and SQNR, the ratio of the sums of e^2 and (a - e)^2, in dB. See METRICS.)"});

inline constexpr Option kMinCosine = of_matching(Option{
    .names = "--min-cosine", .type = "C",
    .help = "Fail if the cosine is less than C",
    .details = R"(Let a pair pass only if its cosine is C, from -1 to 1, or more, or if all elements match. See
METRICS.)"});

inline constexpr Option kMaxRmse = of_matching(Option{
    .names = "--max-rmse", .type = "E",
    .help = "Fail if the root mean square error is more than E",
    .details = R"(Let a pair pass only if its RMSE is E or less, or if all elements match.)"});

inline constexpr Option kMinSqnr = of_matching(Option{
    .names = "--min-sqnr", .type = "DB",
    .help = "Fail if the SQNR is less than DB decibels",
    .details = R"(Let a pair pass only if its SQNR is DB or more, or if all elements match.)"});

inline constexpr Option kReport = of_matching(Option{
    .names = "--report", .type = "KIND", .words = [] { return Words{"github", "junit=", "csv="}; },
    .help = "Write junit=FILE, csv=FILE or github; repeatable",
    .details = R"(`junit=FILE`: JUnit XML with a case for each pair, complete or not there. `github`: the first 10
failures on standard error as `::error file=` lines. `csv=FILE`: a line for each element that differs. A file
that cannot be written is an error (4) before the work.)"});

// clang-format on

}  // namespace match_options
}  // namespace clipper
