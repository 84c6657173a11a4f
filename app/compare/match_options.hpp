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
#include "compare/comparison_text.hpp"
#include "element/percentage.hpp"

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

inline constexpr std::string_view kGroup = "Comparison";

[[nodiscard]] Words preset_words();

// One block per option, without the indentation that clang-format gives to long texts.
// clang-format off

inline constexpr Option kRtol{
    .names = "--rtol", .type = "[GLOB=]R", .group = kGroup,
    .needs = "--verify",
    .help = "Tolerance relative to the expected element (default: 0)",
    .details = R"(R is a finite number from 0. An element may differ by R times the absolute value of the
expected element, plus A of `--atol`. `--rtol 'GLOB=R'` is R only for pairs that the pattern matches: a member by its key, a file by its
path below the directory, or both as PATH:KEY; `*` stands for any characters, also `/`. Give `--rtol`, `--atol`, `--ulp`
and `--max-mismatch` several times for several patterns: of an option, the last one that matches counts, and one without
a pattern matches all. The closing line says for how many pairs each was used.)"};

inline constexpr Option kAtol{
    .names = "--atol", .type = "[GLOB=]A", .group = kGroup,
    .needs = "--verify",
    .help = "Absolute tolerance (default: 0)",
    .details = R"(A is a finite number from 0. An element may differ by A, plus R of `--rtol` times the
absolute value of the expected element.)"};

inline constexpr Option kUlp{
    .names = "--ulp", .type = "[GLOB=]N", .group = kGroup,
    .needs = "--verify",
    .help = "Accept floats at most N units in the last place apart",
    .details = R"(An element also matches if at most N - 1 values of its dtype lie between it and the expected
one. `--ulp 1` accepts the next larger and the next smaller value. It has no effect on integers, and works
besides `--rtol` and `--atol`: an element that satisfies one of them matches.)"};

inline constexpr Option kTolerance{
    .names = "--tolerance", .type = "PRESET", .words = &preset_words, .group = kGroup,
    .excludes = {{"--rtol --atol"}},
    .needs = "--verify",
    .help = "The tolerances of torch.testing.assert_close, numpy.testing.assert_allclose or numpy.allclose",
    .details = R"(`torch`: R and A that torch.testing.assert_close has for the dtype: 1e-3 and 1e-5 for float16,
1.6e-2 and 1e-5 for bfloat16, 1.3e-6 and 1e-5 for float32, 1e-7 and 1e-7 for float64; integers must be equal,
and NaN matches nothing. `numpy`: those of numpy.testing.assert_allclose, 1e-7 and 0 for every dtype; NaN
matches NaN. `allclose`: those of numpy.allclose, 1e-5 and 1e-8; NaN matches nothing, and compare takes different dtypes, as
with `--any-dtype`. Excludes `--rtol` and `--atol`; `--ulp` accepts more elements.)"};

inline constexpr Option kNanDiffer{
    .names = "--nan-differ", .group = kGroup,
    .needs = "--verify",
    .help = "NaN matches nothing, not even NaN",
    .details = R"(NaN matches nothing, as in IEEE 754. Without this option NaN matches NaN, whatever its bits.)"};

inline constexpr Option kMaxMismatch{
    .names = "--max-mismatch", .type = "[GLOB=]N|P%", .group = kGroup,
    .needs = "--verify",
    .help = "Accept at most N mismatches, or P percent of the elements",
    .details = R"(Exit with 0 if at most N elements differ, or at most P percent (`--max-mismatch 0.1%`);
nothing is rounded. The default is 0. Each pair of files or members is judged by itself.)"};

inline constexpr Option kShow{
    .names = "--show", .type = "N", .group = kGroup,
    .needs = "--verify",
    .help = "List the first N mismatches",
    .details = R"(After the line of a pair that differs, list its first N differing elements with their index,
both values and their distance; at most 1000.)"};

inline constexpr Option kMetrics{
    .names = "--metrics", .group = kGroup,
    .needs = "--verify",
    .help = "Print the max relative error, RMSE, cosine and SQNR of each pair",
    .details = R"(Calculate, while the elements are compared: the largest |a - e| / |e|; RMSE, the root of the
mean square of a - e; the cosine of the angle between the two tensors as vectors; SQNR, the ratio of the sum of
e^2 to the sum of (a - e)^2, in dB. Print them with each pair that is printed, and print pairs that match, too. The
digits do not depend on the number of threads. Tensors with an infinity or NaN have no metrics, a zero vector has
no cosine; the SQNR of equal tensors is inf. Excludes `--bytes`.)"};

inline constexpr Option kMinCosine{
    .names = "--min-cosine", .type = "C", .group = kGroup,
    .needs = "--verify",
    .help = "Fail if the cosine is less than C",
    .details = R"(A pair passes if its cosine is C, a number from -1 to 1, or more, or if all elements match. Neither the
cosine nor C is rounded before they are compared. With this option, `--max-rmse` or `--min-sqnr`, and without
`--rtol`, `--atol`, `--ulp`, `--tolerance` and `--max-mismatch`, only these limits decide; otherwise all must
hold.)"};

inline constexpr Option kMaxRmse{
    .names = "--max-rmse", .type = "E", .group = kGroup,
    .needs = "--verify",
    .help = "Fail if the root mean square error is more than E",
    .details = R"(A pair passes if its RMSE is E, a number from 0, or less, or if all elements match. Neither the RMSE nor E
is rounded before they are compared. `--min-cosine` says what decides besides.)"};

inline constexpr Option kMinSqnr{
    .names = "--min-sqnr", .type = "DB", .group = kGroup,
    .needs = "--verify",
    .help = "Fail if the signal to noise ratio is less than DB decibels",
    .details = R"(A pair passes if its SQNR is DB or more, or if all elements match. `--min-cosine` says what decides
besides.)"};

inline constexpr Option kReport{
    .names = "--report", .type = "KIND", .words = [] { return Words{"github", "junit=", "csv="}; }, .group = kGroup,
    .needs = "--verify",
    .help = "Also write a report: junit=FILE, csv=FILE, or github on stderr; may be given again",
    .details = R"(`junit=FILE`: write FILE, JUnit XML by the schema of Jenkins, with a test case for each pair of
files or members. FILE is complete or not there, also if pairs fail; if it cannot be written, clipper exits with
4 before the work. The time of a case is the time since the previous one ended. `github`: print the first 10 pairs that fail on standard error as
`::error file=`, which GitHub shows beside the expected file, then a line that counts all. `csv=FILE`: write FILE, a line for each element that differs, with the two files, the
member, the index, and the actual and the expected element; one thread compares then. Give the option again for another report. Excludes
`--shard`.)"};

// clang-format on

}  // namespace match_options
}  // namespace clipper
