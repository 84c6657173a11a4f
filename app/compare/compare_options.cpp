#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "command_line/values.hpp"
#include "compare/compare_command.hpp"

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

// One block per option, without the indentation that clang-format gives to long texts.
// clang-format off

constexpr Option kActual{
    .names = "ACTUAL", .value = Value::tensor,
    .help = "Tensor, archive or directory to check; - is standard input",
    .details = R"(The tensor that is checked, an .npz archive, or a directory. With two directories, every
.npy and .npz file below one is compared with the file of the same path below the other; a file without a
partner is a difference. With two archives, the members of the same name are compared, in any order, stored or
deflated; members that are no tensors that clipper reads are compared byte by byte. ARCHIVE.npz:NAME is one
tensor of an archive.)"};

constexpr Option kExpected{
    .names = "EXPECTED", .value = Value::tensor,
    .help = "Reference tensor, archive or directory; - is standard input",
    .details = R"(The tensor, archive or directory that ACTUAL should be equal to. One of the two files may be
`-`, standard input.)"};

constexpr Option kRtol{
    .names = "--rtol", .type = "R",
    .help = "Tolerance relative to the expected element (default: 0)",
    .details = R"(R is a finite number from 0. An element may differ by R times the absolute value of the
expected element, plus A of `--atol`. For example `--rtol 1e-5 --atol 1e-8` is the tolerance of
numpy.allclose. Excludes `--bits` and `--bytes`.)"};

constexpr Option kAtol{
    .names = "--atol", .type = "A",
    .help = "Absolute tolerance (default: 0)",
    .details = R"(A is a finite number from 0. An element may differ by A, plus R of `--rtol` times the
absolute value of the expected element. Excludes `--bits` and `--bytes`.)"};

constexpr Option kUlp{
    .names = "--ulp", .type = "N",
    .help = "Accept floats at most N units in the last place apart",
    .details = R"(An element also matches if at most N - 1 values of its dtype lie between it and the expected
one. `--ulp 1` accepts the next larger and the next smaller value. It has no effect on integers, and works
besides `--rtol` and `--atol`: an element that satisfies one of them matches. Excludes `--bits` and
`--bytes`.)"};

constexpr Option kNan{
    .names = "--nan", .type = "WHAT", .words = [] { return Words{"equal", "differ"}; },
    .help = "NaN and NaN are equal (default) or differ",
    .details = R"(`equal`: NaN matches NaN, whatever its bits, and nothing else. `differ`: NaN matches
nothing, as in IEEE 754. Excludes `--bits` and `--bytes`.)"};

constexpr Option kHeader{
    .names = "--header", .type = "WHAT", .words = [] { return Words{"semantic", "strict"}; },
    .excludes = {"--bytes"},
    .help = "Compare the headers' meaning (semantic, default) or bytes (strict)",
    .details = R"(`semantic`: dtype and shape must be equal, while byte order, memory order, the version of
the format and the spelling of the header may differ. `strict`: the bytes of the headers must be equal,
too.)"};

constexpr Option kBits{
    .names = "--bits", .excludes = {"--rtol", "--atol", "--ulp", "--nan", "--bytes"},
    .help = "Compare elements bit by bit: -0 and 0 differ",
    .details = R"(Elements match only if they have the same bits: 0 and -0 differ, and so do NaN with
different payloads. Excludes the tolerances, `--nan` and `--bytes`.)"};

constexpr Option kBytes{
    .names = "--bytes", .excludes = {"--rtol", "--atol", "--ulp", "--nan", "--trailing"},
    .help = "Compare whole files byte by byte",
    .details = R"(Compare two files byte by byte, header included, as cmp(1) does, without reading them as
tensors or archives. Excludes every other rule of matching, `--trailing` and `--diff-out`.)"};

constexpr Option kDiffOut{
    .names = "--diff-out", .type = "FILE", .value = Value::tensor, .excludes = {"--bytes"},
    .help = "Write |a - e| of all elements to FILE, a .npy tensor",
    .details = R"(Write the absolute difference of every pair of elements to FILE, a tensor of the same shape:
float32 for float16, bfloat16 and float32, float64 for float64, and the unsigned dtype of the same size for
integers. dtype and shape of the two tensors must be equal. Not for directories and archives, but for their
tensors.)"};

constexpr Option kMaxMismatch{
    .names = "--max-mismatch", .type = "N|P%",
    .help = "Accept at most N mismatches, or P percent of the elements",
    .details = R"(Exit with 0 if at most N elements differ, or at most P percent (`--max-mismatch 0.1%`);
nothing is rounded. The default is 0. With directories and archives each pair is judged by itself.)"};

constexpr Option kShow{
    .names = "--show", .type = "N",
    .help = "List the first N mismatches",
    .details = R"(After the line of a pair that differs, list its first N differing elements with their index,
both values and their distance; at most 1000.)"};

constexpr Option kDtype{
    .names = "--dtype", .type = "DTYPE", .words = &dtype_names,
    .help = "Read tensors as DTYPE (for bfloat16 saved as |V2)",
    .details = R"(Read both tensors as DTYPE. Needed for bfloat16 that NumPy saved as |V2, a header that does
not name the type.)"};

constexpr Option kJson{
    .names = "--json", .excludes = {"--quiet"},
    .help = "Print one line of JSON per pair of files or members",
    .details = R"(Print one JSON object in one line for every pair instead of text. JSON lists the members.
Excludes `--quiet`.)"};

constexpr Option kVerbose{
    .names = "-v,--verbose",
    .help = "Print a line for each pair that matches, too",
    .details = R"(Print a line that begins with ok for every pair that matches, not only the lines that begin
with FAIL.)"};

// clang-format on

constexpr std::array kPositionals{Positional{&kActual, Arity::optional},
                                  Positional{&kExpected, Arity::optional}};
constexpr std::array kOptions{&kRtol,     &kAtol,        &kUlp,   &kNan,     &kHeader,   &kBits,    &kBytes,
                              &kDiffOut,  &kMaxMismatch, &kShow,  &kDtype,   &kTrailing, &kThreads, &kJson,
                              &kProgress, &kNoProgress,  &kColor, &kVerbose, &kQuiet,    &kHelp};

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
  CompareSettings& settings = command.settings;
  settings.whole_files = raw.has(kBytes);
  settings.rule.bits = raw.has(kBits);
  const auto tolerance = [&](const Option& option) {
    return raw.has(option) ? parse_tolerance(long_name(option), raw.text(option)) : Number{};
  };
  settings.rule.tolerance = {tolerance(kAtol), tolerance(kRtol)};
  if (raw.has(kUlp)) settings.rule.ulps = parse_count("--ulp", raw.text(kUlp), 0, SIZE_MAX);
  settings.rule.nan_equal = word_of(raw, kNan) == 0;
  settings.strict_header = word_of(raw, kHeader) != 0;
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
    .options = kOptions,
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
  command.settings.rule.listed = std::max<std::size_t>(command.shown, 1);
  command.settings.difference_file = raw.value(kDiffOut);
  if (raw.has(kDtype)) command.settings.dtype = static_cast<DType>(word_of(raw, kDtype));
  command.settings.ignore_trailing = word_of(raw, kTrailing) != 0;
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
