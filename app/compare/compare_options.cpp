#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "command_line/command_line.hpp"
#include "command_line/input_names.hpp"
#include "command_line/shared_options.hpp"
#include "compare/compare_command.hpp"
#include "compare/compare_report.hpp"
#include "error.hpp"
#include "files/place.hpp"
#include "formats/container.hpp"

namespace clipper {
namespace {

using namespace match_options;

constexpr std::string_view kDescription =
    "Compares two tensors (.npy, .pb, raw), two archives (.npz, safetensors), member by member, or two "
    "directories of them, paired by path. An element a of ACTUAL matches the element e of EXPECTED if |a - "
    "e| <= A + R*|e|. dtype and shape "
    "must be equal; byte order, memory order and the spelling of the header may differ.";

constexpr std::array<std::string_view, 1> kForms{"[OPTIONS] ACTUAL EXPECTED"};

constexpr std::string_view kFooter = R"(
Examples:
  clipper compare out.npy golden.npy
  clipper compare --rtol 1e-5 --atol 1e-8 out.npy golden.npy
  clipper compare --ulp 2 --show 10 out.npy golden.npy
  clipper compare out/ golden/
  clipper compare --rtol 1e-6 --rtol 'bias*=1e-3' out.npz golden.npz
  clipper compare out.npz:weights golden.npy
  clipper --max 6 in.npy - | clipper compare - golden.npy

Matching:
  numbers    -0 matches 0; integers compare exactly, floats in float64
  NaN        matches NaN; with --nan-differ NaN matches nothing
  infinity   matches only the infinity of the same sign, whatever the tolerance
  --ulp N    floats at most N units in the last place apart match, too

Tolerances of --tolerance (R and A):
  torch      float16 1e-3 and 1e-5, bfloat16 1.6e-2 and 1e-5, float32 1.3e-6 and
             1e-5, float64 1e-7 and 1e-7, integers 0 and 0; NaN matches nothing
  numpy      1e-7 and 0; NaN matches NaN
  allclose   1e-5 and 1e-8; NaN matches nothing, dtypes may differ

Exit status:
  0          all elements match
  1          a difference was found
  2 or more  an error; see the exit status of clipper
)";

// One block per option, without the indentation that clang-format gives to long texts.
// clang-format off

constexpr Option kActual{
    .names = "ACTUAL", .value = Value::tensor,
    .help = "Tensor, archive or directory to check; - is stdin",
    .details = R"(The tensor, archive or directory that is checked. ARCHIVE.npz:NAME is one tensor of an archive;
`-` is standard input.)"};

constexpr Option kExpected{
    .names = "EXPECTED", .value = Value::tensor,
    .help = "Reference tensor, archive or directory",
    .details = R"(What ACTUAL should be equal to. One of the two may be `-`.)"};

constexpr Option kHeader{
    .names = "--header", .type = "WHAT", .words = [] { return Words{"semantic", "strict"}; },
    .excludes = {{"--bytes"}},
    .help = "Compare headers by meaning (semantic) or by bytes",
    .details = R"(`semantic` (default): dtype and shape must be equal. `strict`: their bytes must also be equal.)"};

constexpr Option kBits{
    .names = "--bits",
    .excludes = {{"--rtol --atol --ulp --tolerance --nan-differ --bytes"}},
    .help = "Compare elements bit by bit: -0 and 0 differ",
    .details = R"(Let elements match only if they have the same bits: 0 and -0 differ, and so do NaN of different
payloads.)"};

constexpr Option kBytes{
    .names = "--bytes",
    .excludes = {{"--rtol --atol --ulp --tolerance --nan-differ --trailing --metrics --min-cosine --max-rmse --min-sqnr"}},
    .help = "Compare whole files byte by byte",
    .details = R"(Compare two files as cmp(1) does, header included, without reading them as tensors. Only
`--max-mismatch` applies, to bytes.)"};

constexpr Option kAnyDtype{
    .names = "--any-dtype",
    .excludes = {{"--bits --bytes --diff-out"}},
    .help = "Compare numbers of different dtypes: int 3 is 3.0",
    .details = R"(Compare elements of different dtypes exactly, as numbers: int64 3 matches float32 3, and float32
0.1 does not match float64 0.1. See TWO DTYPES.)"};

constexpr Option kDiffOut{
    .names = "--diff-out", .type = "FILE", .value = Value::tensor,
    .excludes = {{"--bytes"}},
    .help = "Write |a - e| of all elements to FILE",
    .details = R"(Write the absolute difference of every pair of elements to FILE, a .npy tensor: float32 for
float16, bfloat16 and float32, float64 for float64, the unsigned dtype of the same size for integers. Takes two
tensors of one dtype.)"};

constexpr Option kUpdateGolden{
    .names = "--update-golden",
    .excludes = {{"--diff-out --member --exclude-member --only"}},
    .help = "Replace EXPECTED files that fail by ACTUAL files",
    .details = R"(Copy the ACTUAL file of each pair that fails, or has no EXPECTED file, to EXPECTED, print
"created" or "updated", and exit with 0. An archive is copied if one member fails; an EXPECTED file without an
ACTUAL one still fails.)"};

constexpr Option kAllowEmpty{
    .names = "--allow-empty",
    .help = "Accept that there is nothing to compare",
    .details = R"(Exit with 0 if there is no pair to compare. Otherwise that is an error (3), because a check that
compares nothing finds nothing.)"};

constexpr Option kJson{
    .names = "--json",
    .excludes = {{"--quiet"}},
    .help = "Print one line of JSON per pair of files or members",
    .details = R"(Print a JSON object in one line for every pair in place of text. See JSON OUTPUT.)"};

constexpr Option kVerbose{
    .names = "-v,--verbose",
    .help = "Print a line for each pair that matches, too",
    .details = R"(Print a line that begins with ok for every pair that matches.)"};

// clang-format on

constexpr std::array kPositionals{Positional{&kActual, Arity::optional},
                                  Positional{&kExpected, Arity::optional}};
constexpr auto kOptions =
    listed(std::array{&kRtol, &kAtol, &kUlp, &kTolerance, &kNanDiffer, &kHeader, &kBits, &kBytes, &kAnyDtype,
                      &kDiffOut, &kMaxMismatch, &kMetrics, &kMinCosine, &kMaxRmse, &kMinSqnr, &kShow,
                      &kReport, &kUpdateGolden},
           kReadingOptions, kWalkOptions,
           std::array{&kAllowEmpty, &kThreads, &kJson, &kProgress, &kNoProgress, &kColor, &kVerbose, &kQuiet,
                      &kLogLevel, &kLogFile, &kHelp});

constexpr std::array kCommon{&kRtol,        &kAtol,    &kUlp,  &kTolerance, &kBits, &kAnyDtype,
                             &kMaxMismatch, &kMetrics, &kShow, &kDiffOut,   &kJson, &kVerbose};

void validate_rule(const RawOptions& raw, CompareCommand& command) {
  command.matching = validate_matching(raw);
  ComparisonRule& rule = command.matching.rule;
  rule.bits = raw.has(kBits);
  if (rule.bits) command.matching.compared = Compared::bits;
  if (raw.has(kBytes)) command.matching.compared = Compared::bytes;
  command.settings.rule = rule;
  command.settings.whole_files = raw.has(kBytes);
  command.settings.any_dtype =
      raw.has(kAnyDtype) || (rule.preset == TolerancePreset::allclose && !raw.has(kDiffOut));
  command.settings.strict_header = word_of(raw, kHeader) != 0;
}

}  // namespace

constexpr CommandSpec kCompareSpec{
    .run = &run_compare,
    .name = "compare",
    .summary = "compare two tensors, two archives or two directories",
    .description = kDescription,
    .forms = kForms,
    .footer = kFooter,
    .positionals = kPositionals,
    .options = kOptions,
    .common = kCommon,
};

CompareCommand validate_compare(const RawOptions& raw) {
  CompareCommand command;
  if (!raw.has(kActual)) refuse("ACTUAL is missing; see clipper compare --help");
  if (!raw.has(kExpected)) refuse("EXPECTED is missing; see clipper compare --help");
  if (raw.text(kActual) == "-" && raw.text(kExpected) == "-")
    refuse("standard input cannot be both ACTUAL and EXPECTED");
  command.actual = raw.text(kActual);
  command.expected = raw.text(kExpected);
  validate_rule(raw, command);
  command.walk = parse_walk(raw);
  command.choice = parse_choice(raw, true);  // a member that only one of two archives has is a difference
  command.updates = raw.has(kUpdateGolden);
  for (const std::string* const path : {&command.actual, &command.expected})
    if (command.updates && (*path == "-" || member_path(*path)))
      refuse(fmt::format("--update-golden takes files and directories, not {}", *path));
  command.settings.difference_file = raw.value(kDiffOut);
  command.settings.reading = parse_reading(raw);
  command.settings.reading.raw_if_needed = true;
  command.settings.reading.takes_integers = !is_directory(command.actual);
  if (raw.has(kThreads)) command.engine.threads = parse_threads(raw.text(kThreads));
  command.output = {command.matching.shown,
                    raw.has(kJson),
                    raw.has(kVerbose) || raw.has(kMetrics),
                    raw.has(kQuiet),
                    parse_reports(raw.texts(kReport)),
                    raw.has(kAllowEmpty)};
  command.progress = command.output.quiet ? Progress::When::never : progress_when(raw);
  return command;
}

}  // namespace clipper
