#include "compare/compare_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "command_line/terminal_options.hpp"
#include "command_line/values.hpp"
#include "compare/compare_option_details.hpp"

namespace clipper {
namespace {

constexpr std::string_view kDescription =
    "Compares two .npy tensors, two .npz archives, member by member, or two directories of them, paired by "
    "path. An element a of ACTUAL matches the element e of EXPECTED if |a - e| <= A + R*|e|. dtype and shape "
    "must be equal; byte order, memory order and the spelling of the header may differ.";

constexpr std::array<std::string_view, 1> kForms{"[OPTIONS] ACTUAL EXPECTED"};

constexpr std::string_view kFooter = R"(
Examples:
  clipper compare out.npy golden.npy
  clipper compare --rtol 1e-5 --atol 1e-8 out.npy golden.npy
  clipper compare --ulp 2 --show 10 out.npy golden.npy
  clipper compare out/ golden/
  clipper compare out.npz golden.npz
  clipper compare out.npz:weights golden.npy
  clipper --max 6 in.npy - | clipper compare - golden.npy

Matching:
  numbers    -0 matches 0; integers compare exactly, floats in float64
  NaN        matches NaN; with --nan differ NaN matches nothing
  infinity   matches only the infinity of the same sign, whatever the tolerance
  --ulp N    floats at most N units in the last place apart match, too

Exit status:
  0          all elements match
  1          a difference was found
  2 or more  an error; see the exit status of clipper
)";

using Words = std::vector<std::string_view>;

constexpr Option kActual =
    with_details({"ACTUAL", "Tensor, archive or directory to check; - is standard input", {}, Value::tensor},
                 compare_details::kActual);
constexpr Option kExpected = with_details(
    {"EXPECTED", "Reference tensor, archive or directory; - is standard input", {}, Value::tensor},
    compare_details::kExpected);
constexpr Option kRtol =
    with_details({"--rtol", "Tolerance relative to the expected element (default: 0)", "R", Value::text},
                 compare_details::kRtol);
constexpr Option kAtol =
    with_details({"--atol", "Absolute tolerance (default: 0)", "A", Value::text}, compare_details::kAtol);
constexpr Option kUlp =
    with_details({"--ulp", "Accept floats at most N units in the last place apart", "N", Value::text},
                 compare_details::kUlp);
constexpr Option kNan =
    with_details({"--nan", "NaN and NaN are equal (default) or differ", "WHAT", Value::words,
                  [] {
                    return Words{"equal", "differ"};
                  }},
                 compare_details::kNan);
constexpr Option kHeader = with_details(
    {"--header", "Compare the headers' meaning (semantic, default) or bytes (strict)", "WHAT", Value::words,
     [] {
       return Words{"semantic", "strict"};
     }},
    compare_details::kHeader);
constexpr Option kBits =
    with_details({"--bits", "Compare elements bit by bit: -0 and 0 differ"}, compare_details::kBits);
constexpr Option kBytes =
    with_details({"--bytes", "Compare whole files byte by byte"}, compare_details::kBytes);
constexpr Option kDiffOut = with_details(
    {"--diff-out", "Write |a - e| of all elements to FILE, a .npy tensor", "FILE", Value::tensor},
    compare_details::kDiffOut);
constexpr Option kMaxMismatch = with_details(
    {"--max-mismatch", "Accept at most N mismatches, or P percent of the elements", "N|P%", Value::text},
    compare_details::kMaxMismatch);
constexpr Option kShow =
    with_details({"--show", "List the first N mismatches", "N", Value::text}, compare_details::kShow);
constexpr Option kDtype =
    dtype_option("Read tensors as DTYPE (for bfloat16 saved as |V2)", compare_details::kDtype);
constexpr Option kJson =
    json_option("Print one line of JSON per pair of files or members", compare_details::kJson);
constexpr Option kVerbose =
    verbose_option("Print a line for each pair that matches, too", compare_details::kVerbose);

constexpr std::array kPositionals{Positional{&kActual, Arity::optional},
                                  Positional{&kExpected, Arity::optional}};
constexpr std::array kOptions{&kRtol,     &kAtol,        &kUlp,   &kNan,     &kHeader,   &kBits,    &kBytes,
                              &kDiffOut,  &kMaxMismatch, &kShow,  &kDtype,   &kTrailing, &kThreads, &kJson,
                              &kProgress, &kNoProgress,  &kColor, &kVerbose, &kQuiet,    &kHelp};
constexpr std::array kGroups{OptionGroup{kGeneralTitle, kOptions}};
constexpr std::array kExclusions{
    OptionPair{&kRtol, &kBits},    OptionPair{&kRtol, &kBytes},    OptionPair{&kAtol, &kBits},
    OptionPair{&kAtol, &kBytes},   OptionPair{&kUlp, &kBits},      OptionPair{&kUlp, &kBytes},
    OptionPair{&kNan, &kBits},     OptionPair{&kNan, &kBytes},     OptionPair{&kBytes, &kBits},
    OptionPair{&kBytes, &kHeader}, OptionPair{&kBytes, &kDiffOut}, OptionPair{&kTrailing, &kBytes},
    OptionPair{&kQuiet, &kJson},
};
constexpr std::array kOverrides{OptionPair{&kQuiet, &kVerbose}, OptionPair{&kProgress, &kNoProgress}};

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

void validate_rule(const RawOptions& raw, CompareCommand& command) {
  if (raw.has(kBits)) command.compared = Compared::bits;
  if (raw.has(kBytes)) command.compared = Compared::bytes;
  command.rule.bits = raw.has(kBits);
  const auto tolerance = [&](const Option& option) {
    return raw.has(option) ? parse_tolerance(long_name(option), raw.text(option)) : Number{};
  };
  command.rule.tolerance = {tolerance(kAtol), tolerance(kRtol)};
  if (raw.has(kUlp)) command.rule.ulps = parse_count("--ulp", raw.text(kUlp), 0, SIZE_MAX);
  if (raw.has(kNan)) command.rule.nan_equal = !is_second_word(kNan, raw.text(kNan));
  if (raw.has(kHeader)) command.strict_header = is_second_word(kHeader, raw.text(kHeader));
  if (raw.has(kMaxMismatch)) command.allowance = parse_allowance(raw.text(kMaxMismatch));
}

}  // namespace

constexpr CommandSpec kCompareSpec{
    .name = "compare",
    .summary = "compare two tensors, two archives or two directories",
    .description = kDescription,
    .forms = kForms,
    .footer = kFooter,
    .positionals = kPositionals,
    .groups = kGroups,
    .exclusions = kExclusions,
    .overrides = kOverrides,
};

CompareCommand validate_compare(const RawOptions& raw) {
  constexpr std::size_t kMaxShown = 1000;  // limits memory: every thread keeps as many mismatches
  CompareCommand command;
  if (!raw.has(kActual)) refuse("ACTUAL is missing; see clipper compare --help");
  if (!raw.has(kExpected)) refuse("EXPECTED is missing; see clipper compare --help");
  if (raw.text(kActual) == "-" && raw.text(kExpected) == "-")
    refuse("standard input cannot be both ACTUAL and EXPECTED");
  command.actual = raw.text(kActual);
  command.expected = raw.text(kExpected);
  validate_rule(raw, command);
  if (raw.has(kShow)) command.shown = parse_count("--show", raw.text(kShow), 0, kMaxShown);
  command.rule.listed = std::max<std::size_t>(command.shown, 1);
  command.difference_file = raw.value(kDiffOut);
  if (raw.has(kDtype)) command.dtype = parse_dtype(raw.text(kDtype));
  if (raw.has(kTrailing)) command.ignore_trailing = is_second_word(kTrailing, raw.text(kTrailing));
  if (raw.has(kThreads)) command.engine.threads = parse_threads(raw.text(kThreads));
  command.json = raw.has(kJson);
  command.verbose = raw.has(kVerbose);
  command.quiet = raw.has(kQuiet);
  command.progress = command.quiet ? Progress::When::never : progress_when(raw);
  return command;
}

bool Allowance::covers(const ElementComparison& comparison) const {
  return percentage ? !percentage->is_exceeded_by(comparison.mismatches, comparison.compared)
                    : comparison.mismatches <= count;
}

}  // namespace clipper
