#include "compare/compare_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "command_line/values.hpp"

namespace clipper {
namespace {

constexpr std::string_view kDescription =
    "Compares two .npy tensors, or those of two directories: every element a of ACTUAL must match its e in\n"
    "EXPECTED. Without a tolerance that is a = e, with one |a - e| <= A + R*|e|. dtype and shape must be\n"
    "the same; byte order, memory order and how the header is written need not be.";

constexpr std::string_view kFooter = R"(
Examples:
  clipper compare out.npy golden.npy                    prints nothing if they are the same
  clipper compare --atol 1e-6 --rtol 1e-5 out golden    two directories, paired by path
  clipper compare --ulp 2 --show 10 out.npy golden.npy  lists the first ten mismatches
  clipper --max 6 in.npy - | clipper compare - golden.npy

What matches:
  numbers    -0 and 0; floats by float64 arithmetic, integers exactly, R*|e| rounded down
  NaN        NaN, and with --nan differ nothing
  infinity   the same one, with any tolerance
  --ulp      also floats that are at most N steps apart, whatever the tolerance

Exit status:
  0          same
  1          different
  2 or more  trouble, as of clipper; each is a line on standard error
)";

using Words = std::vector<std::string_view>;

constexpr Option kActual{"ACTUAL", "A .npy file, or a directory; - is standard input", {}, Value::tensor};
constexpr Option kExpected{"EXPECTED", "What it is to be, likewise", {}, Value::tensor};
constexpr Option kRtol{"--rtol", "Tolerance relative to EXPECTED (default 0)", "R", Value::text};
constexpr Option kAtol{"--atol", "Absolute tolerance (default 0)", "A", Value::text};
constexpr Option kUlp{"--ulp", "Floats also match within N ulp", "N", Value::text};
constexpr Option kNan{"--nan", "NaN and NaN are equal (default), or they differ", "WHAT", Value::words, [] {
                        return Words{"equal", "differ"};
                      }};
constexpr Option kHeader{"--header", "semantic (default), or strict: the headers' bytes must be equal",
                         "WHAT", Value::words, [] {
                           return Words{"semantic", "strict"};
                         }};
constexpr Option kBits{"--bits", "Elements must have the same bits"};
constexpr Option kBytes{"--bytes", "The files must have the same bytes"};
constexpr Option kDiffOut{"--diff-out", "Write |a - e| of all elements to a .npy file", "FILE",
                          Value::tensor};
constexpr Option kMaxMismatch{
    "--max-mismatch", "Pass if at most N elements, or P percent of them, do not match", "N|P%", Value::text};
constexpr Option kShow{"--show", "List the first N mismatches", "N", Value::text};
constexpr Option kDtype = dtype_option("The dtype; needed for bfloat16 that was saved as |V2");
constexpr Option kJson = json_option("As JSON: one object in a line for each pair");
constexpr Option kVerbose = verbose_option("Print a line for those that are the same, too");

constexpr std::array kPositionals{Positional{&kActual, Arity::optional},
                                  Positional{&kExpected, Arity::optional}};
constexpr std::array kOptions{&kRtol,    &kAtol,    &kUlp,         &kNan,   &kHeader, &kBits,
                              &kBytes,   &kDiffOut, &kMaxMismatch, &kShow,  &kDtype,  &kTrailing,
                              &kThreads, &kJson,    &kVerbose,     &kQuiet, &kHelp};
constexpr std::array kGroups{OptionGroup{kGeneralTitle, kOptions}};
constexpr std::array kExclusions{
    Exclusion{&kRtol, &kBits},    Exclusion{&kRtol, &kBytes},    Exclusion{&kAtol, &kBits},
    Exclusion{&kAtol, &kBytes},   Exclusion{&kUlp, &kBits},      Exclusion{&kUlp, &kBytes},
    Exclusion{&kNan, &kBits},     Exclusion{&kNan, &kBytes},     Exclusion{&kBytes, &kBits},
    Exclusion{&kBytes, &kHeader}, Exclusion{&kBytes, &kDiffOut}, Exclusion{&kTrailing, &kBytes},
    Exclusion{&kQuiet, &kJson},   Exclusion{&kQuiet, &kVerbose},
};

Number parse_tolerance(std::string_view flag, std::string_view text) {
  const std::optional<Number> number = parse_number(text);
  if (!number || !is_tolerance(*number))
    refuse(fmt::format("{}: '{}' is not a finite number from 0", flag, text));
  return *number;
}

Allowance parse_allowance(std::string_view text) {
  constexpr std::string_view kFlag = "--max-mismatch";
  if (!text.ends_with('%')) return {parse_count(kFlag, text, 0, SIZE_MAX), std::nullopt};
  const std::optional<Percentage> percentage = Percentage::parse(text.substr(0, text.size() - 1));
  if (!percentage) refuse(fmt::format("{}: '{}' is not a percentage from 0% to 100%", kFlag, text));
  return {0, percentage};
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
    .summary = "compares two .npy tensors, or those of two directories",
    .description = kDescription,
    .footer = kFooter,
    .positionals = kPositionals,
    .groups = kGroups,
    .exclusions = kExclusions,
};

CompareCommand validate_compare(const RawOptions& raw) {
  constexpr std::size_t kMaxShown = 1000;  // every thread keeps as many
  CompareCommand command;
  if (raw.text(kActual).empty()) refuse("ACTUAL is missing (clipper compare --help says more)");
  if (raw.text(kExpected).empty()) refuse("EXPECTED is missing (clipper compare --help says more)");
  if (raw.text(kActual) == "-" && raw.text(kExpected) == "-") refuse("standard input cannot be both files");
  command.actual = raw.text(kActual);
  command.expected = raw.text(kExpected);
  validate_rule(raw, command);
  if (raw.has(kShow)) command.shown = parse_count("--show", raw.text(kShow), 0, kMaxShown);
  command.rule.listed = std::max<std::size_t>(command.shown, 1);
  command.difference_file = raw.value(kDiffOut);
  if (command.difference_file == "") refuse("--diff-out: no file (an empty variable?)");
  if (raw.has(kDtype)) command.dtype = parse_dtype(raw.text(kDtype));
  if (raw.has(kTrailing)) command.ignore_trailing = is_second_word(kTrailing, raw.text(kTrailing));
  if (raw.has(kThreads)) command.engine.threads = parse_threads(raw.text(kThreads));
  command.json = raw.has(kJson);
  command.verbose = raw.has(kVerbose);
  command.quiet = raw.has(kQuiet);
  return command;
}

bool Allowance::covers(const ElementComparison& comparison) const {
  return percentage ? !percentage->is_exceeded_by(comparison.mismatches, comparison.compared)
                    : comparison.mismatches <= count;
}

}  // namespace clipper
