#include "compare/compare_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/input_names.hpp"
#include "command_line/shared_options.hpp"
#include "compare/compare_files.hpp"
#include "compare/compare_report.hpp"
#include "compare/pair_log.hpp"
#include "console/diagnostics.hpp"
#include "console/ending.hpp"
#include "console/progress.hpp"
#include "console/terminal.hpp"
#include "engine/engine.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "files/foreign.hpp"
#include "files/output_file.hpp"
#include "files/place.hpp"
#include "npy/utf8.hpp"

namespace clipper {
namespace {

using namespace match_options;

constexpr std::string_view kDescription =
    "Compares two .npy tensors, two archives (.npz, safetensors), member by member, or two directories of "
    "them, paired by "
    "path. An element a of ACTUAL matches the element e of EXPECTED if |a - e| <= A + R*|e|. dtype and shape "
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
  NaN        matches NaN; with --nan differ NaN matches nothing
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
    .help = "Tensor, archive or directory to check; - is standard input",
    .details = R"(The tensor that is checked, an archive, or a directory. With two directories, every
.npy, .npz and .safetensors file below one is compared with the file of the same path below the other; a file without a
partner is a difference. With two archives, the members of the same name are compared, in any order, stored or
deflated; members that are no tensors that clipper reads (strings, objects, records, other files) must have
the same bytes, whatever the tolerances and limits, and have no metrics. ARCHIVE.npz:NAME is one
tensor of an archive.)"};

constexpr Option kExpected{
    .names = "EXPECTED", .value = Value::tensor,
    .help = "Reference tensor, archive or directory; - is standard input",
    .details = R"(The tensor, archive or directory that ACTUAL should be equal to. One of the two files may be
`-`, standard input.)"};

constexpr Option kNan{
    .names = "--nan", .type = "WHAT", .words = [] { return Words{"equal", "differ"}; },
    .excludes = {"--nan-differ"},
    .help = "NaN and NaN are equal (default) or differ",
    .details = R"(`equal`: NaN matches NaN, whatever its bits, and nothing else. `differ`: NaN matches
nothing, as in IEEE 754, as with `--nan-differ`. Excludes `--bits` and `--bytes`.)"};

constexpr Option kHeader{
    .names = "--header", .type = "WHAT", .words = [] { return Words{"semantic", "strict"}; },
    .excludes = {"--bytes"},
    .help = "Compare the headers' meaning (semantic, default) or bytes (strict)",
    .details = R"(`semantic`: dtype and shape must be equal, while byte order, memory order, the version of
the format and the spelling of the header may differ. `strict`: the bytes of the headers must be equal,
too.)"};

constexpr Option kBits{
    .names = "--bits",
    .excludes = {"--rtol", "--atol", "--ulp", "--tolerance", "--nan", "--nan-differ", "--bytes"},
    .help = "Compare elements bit by bit: -0 and 0 differ",
    .details = R"(Elements match only if they have the same bits: 0 and -0 differ, and so do NaN with
different payloads. Excludes the tolerances, `--nan` and `--bytes`.)"};

constexpr Option kBytes{
    .names = "--bytes",
    .excludes = {"--rtol", "--atol", "--ulp", "--tolerance", "--nan", "--nan-differ", "--trailing",
                 "--metrics", "--min-cosine", "--max-rmse", "--min-sqnr"},
    .help = "Compare whole files byte by byte",
    .details = R"(Compare two files byte by byte, header included, as cmp(1) does, without reading them as
tensors or archives. Excludes every other rule of matching, `--trailing` and `--diff-out`.)"};

constexpr Option kAnyDtype{
    .names = "--any-dtype", .excludes = {"--bits", "--bytes", "--diff-out"},
    .help = "Compare numbers of different dtypes: int 3 is 3.0",
    .details = R"(The dtypes may differ. The elements are compared exactly, as numbers: int64 3 matches float32 3, and
float32 0.1 does not match float64 0.1, which is another number. Differences, tolerances and `--ulp` are those of
int64 or uint64 if one of them has all values of both dtypes, otherwise of float64; int64 and uint64, and either of
them and a float, match exactly if |a - e| <= A + R*|e|, without rounding. Of an integer and a float, an A
like 0.1 that is larger as a float64 is that float64. `--tolerance torch` takes the
tolerance of the dtype with fewer digits. `--dtype` still says what |V2 is.)"};

constexpr Option kDiffOut{
    .names = "--diff-out", .type = "FILE", .value = Value::tensor, .excludes = {"--bytes"},
    .help = "Write |a - e| of all elements to FILE, a .npy tensor",
    .details = R"(Write the absolute difference of every pair of elements to FILE, a tensor of the same shape:
float32 for float16, bfloat16 and float32, float64 for float64, and the unsigned dtype of the same size for
integers. dtype and shape of the two tensors must be equal. Not for directories and archives, but for their
tensors.)"};

constexpr Option kDtype{
    .names = "--dtype", .type = "DTYPE", .words = &dtype_names,
    .help = "Read tensors as DTYPE (for bfloat16 and float8 saved as |V2, |V1 or integers)",
    .details = R"(Read both tensors as DTYPE. Needed for bfloat16 and float8 whose header does not name
them: |V2, |V1 and, in files that the command line names, integers of the same size.)"};

constexpr Option kUpdateGolden{
    .names = "--update-golden",
    .excludes = {"--diff-out", "--member", "--exclude-member", "--only"},
    .help = "Replace each EXPECTED file that is missing or fails by its ACTUAL file",
    .details = R"(Copy the ACTUAL file of each pair that fails, or whose EXPECTED file is missing, to that name, as a whole, print
"created" or "updated" on standard error and exit with 0. What matches is not touched, and nothing is deleted: an EXPECTED file
without an ACTUAL one still fails. An archive is copied if one of its members fails. Excludes `--diff-out` and the options that choose members.)"};

constexpr Option kJson{
    .names = "--json", .excludes = {"--quiet"},
    .help = "Print one line of JSON per pair of files or members",
    .details = R"(Print one JSON object in one line for every pair instead of text. JSON OUTPUT lists the members.
Excludes `--quiet`.)"};

constexpr Option kVerbose{
    .names = "-v,--verbose",
    .help = "Print a line for each pair that matches, too",
    .details = R"(Print a line that begins with ok for every pair that matches, not only the lines that begin
with FAIL.)"};

// clang-format on

constexpr std::array kPositionals{Positional{&kActual, Arity::optional},
                                  Positional{&kExpected, Arity::optional}};
constexpr std::array kOptions{
    &kRtol,     &kAtol,    &kUlp,           &kTolerance,    &kNan,        &kNanDiffer, &kHeader,
    &kBits,     &kBytes,   &kDiffOut,       &kMaxMismatch,  &kMetrics,    &kMinCosine, &kMaxRmse,
    &kMinSqnr,  &kShow,    &kReport,        &kUpdateGolden, &kDtype,      &kRaw,       &kFormat,
    &kAnyDtype, &kMember,  &kExcludeMember, &kOnly,         &kInclude,    &kExclude,   &kTrailing,
    &kNoCache,  &kThreads, &kJson,          &kProgress,     &kNoProgress, &kColor,     &kVerbose,
    &kQuiet,    &kHelp};

constexpr std::array kCommon{
    CommonOption{&kRtol, "Tolerance relative to the expected element"},
    CommonOption{&kAtol, "Absolute tolerance"},
    CommonOption{&kUlp, "Accept floats N units in the last place apart"},
    CommonOption{&kTolerance, "Use the tolerances of torch or numpy"},
    CommonOption{&kBits, "Compare elements bit by bit: -0 and 0 differ"},
    CommonOption{&kAnyDtype, "Compare numbers of different dtypes: int 3 is 3.0"},
    CommonOption{&kMaxMismatch, "Accept N mismatches, or P% of the elements"},
    CommonOption{&kMetrics, "Print relative error, RMSE, cosine and SQNR"},
    CommonOption{&kShow, "List the first N mismatches"},
    CommonOption{&kDiffOut, "Write |a - e| of all elements to FILE"},
    CommonOption{&kJson, "Print one line of JSON per pair"},
    CommonOption{&kVerbose, "Print a line for each pair that matches, too"},
};

void validate_rule(const RawOptions& raw, CompareCommand& command) {
  command.matching = validate_matching(raw);
  ComparisonRule& rule = command.matching.rule;
  rule.bits = raw.has(kBits);
  if (raw.has(kNan)) rule.nan_equal = word_of(raw, kNan) == 0;
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
  command.include = raw.texts(kInclude);
  command.exclude = raw.texts(kExclude);
  command.choice = parse_choice(raw, true);  // a member that only one of two archives has is a difference
  command.updates = raw.has(kUpdateGolden);
  for (const std::string* const path : {&command.actual, &command.expected})
    if (command.updates && (*path == "-" || member_path(*path)))
      refuse(fmt::format("--update-golden takes files and directories, not {}", *path));
  command.settings.difference_file = raw.value(kDiffOut);
  command.settings.dtype.dtype = parse_dtype(raw, kDtype);
  take_layout(raw, command.settings.dtype);
  command.settings.dtype.raw_if_needed = true;
  command.settings.dtype.over_integers = !is_directory(command.actual);
  command.settings.ignore_trailing = word_of(raw, kTrailing) != 0;
  if (raw.has(kNoCache)) command.settings.caching = Caching::dropped;
  if (raw.has(kThreads)) command.engine.threads = parse_threads(raw.text(kThreads));
  command.output = {command.matching.shown, raw.has(kJson), raw.has(kVerbose) || raw.has(kMetrics),
                    raw.has(kQuiet), parse_reports(raw.texts(kReport))};
  command.progress = command.output.quiet ? Progress::When::never : progress_when(raw);
  return command;
}

namespace {

namespace fs = std::filesystem;

/// Two files to compare.
struct FilePair {
  std::string name;  ///< for patterns: of two directories the path in both
  std::string actual;
  std::string expected;
  bool has_actual = true;  ///< whether `actual` exists; files given by name are assumed to exist
  bool has_expected = true;
  bool found = false;         ///< found below a directory, where only regular files are compared
  bool may_be_tensor = true;  ///< whether one of the two may be
};

/// The two files; for two directories, a pair for each path of a .npy file or archive below either directory,
/// sorted by path. A directory, FIFO or device makes a pair only with a file. Links to directories are
/// followed. Error{usage} for a file and a directory, Error{input} if neither directory contains such a file,
/// Error{io} if a directory cannot be read or is part of a loop of links.
std::vector<FilePair> file_pairs(const CompareCommand& command) {
  const std::string& actual = command.actual;
  const std::string& expected = command.expected;
  const bool directory = is_directory(actual);
  if (directory != is_directory(expected))
    throw Error(ErrorKind::usage, fmt::format("{} is a directory and {} is not",
                                              directory ? actual : expected, directory ? expected : actual));
  if (!directory) return {{actual, actual, expected}};

  std::map<std::string, FilePair> pairs;
  const auto pair_of = [&](const std::string& name) -> FilePair& {
    return pairs
        .try_emplace(name, FilePair{name, fs::path(actual) / name, fs::path(expected) / name, false, false,
                                    true, false})
        .first->second;
  };
  TensorWalk walk;
  walk.every_format = true;
  walk.include = command.include;
  walk.exclude = command.exclude;
  const auto found = [&](bool FilePair::*has) {
    return [&, has](const std::string& name, TensorWalk::Kind kind) {
      FilePair& pair = pair_of(name);
      pair.*has = true;
      if (may_be_tensor(kind)) pair.may_be_tensor = true;
    };
  };
  walk.found = found(&FilePair::has_actual);
  walk_tensors(actual, walk);
  walk.found = found(&FilePair::has_expected);
  walk_tensors(expected, walk);
  std::erase_if(pairs, [](const auto& each) { return !each.second.may_be_tensor; });
  if (pairs.empty())
    throw Error(ErrorKind::input, fmt::format("{} and {} contain no {}", actual, expected,
                                              walk.include.empty() ? ".npy, .npz or .safetensors file"
                                                                   : "file that --include names"));
  std::vector<FilePair> result;
  for (auto& [name, pair] : pairs) result.push_back(std::move(pair));
  return result;
}

/// The expected bytes of each pair: the size of the larger file (a stream counts 0), or 0 if a file is
/// missing.
std::vector<std::uint64_t> sizes_of(const std::vector<FilePair>& pairs) {
  std::vector<std::uint64_t> sizes;
  for (const FilePair& pair : pairs) {
    const bool both = pair.has_actual && pair.has_expected;
    sizes.push_back(both ? std::max(expected_bytes(pair.actual), expected_bytes(pair.expected)) : 0);
  }
  return sizes;
}

/// What decides about one pair.
struct Rules {
  Matching matching;
  EachMismatch each;
  CompareSettings settings;

  Rules(const CompareCommand& command, PairLog& log, const PairReport& report,
        const std::vector<std::string>& names)
      : matching(command.matching.of(names)), each(log.each_mismatch(report)), settings(command.settings) {
    settings.rule = matching.rule;
    if (each) settings.rule.each = &each;
  }
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;
};

/// Compares pairs one after the other, and prints a result for each.
class Comparer {
 public:
  Comparer(const CompareCommand& command, const std::vector<FilePair>& pairs)
      : command_(command),
        engine_(command.engine),
        tally_(engine_.done(), sizes_of(pairs)),
        progress_(command.progress, [this] { return tally_.extent(); }),
        log_(command.output, "compare") {}

  void compare(const FilePair& pair) {
    PairReport report;
    report.actual = pair.actual;
    report.expected = pair.expected;
    report.compared = command_.matching.compared;
    log_.attempt(report, [&] {
      if (pair.has_actual && pair.has_expected) return compare_open(pair, report);
      if (!is_chosen(pair.has_actual ? pair.actual : pair.expected)) return Outcome::in_members;
      set_missing(report, pair.has_expected, pair.expected);
      if (command_.updates && pair.has_actual) update(pair, {&report, 1});
      return Outcome::found;
    });
    finishing_.reset();
    tally_.next();
  }

  [[nodiscard]] bool has_read_all() const { return log_.has_read_all(); }

  /// Ends the report on pairs, of which there are `several` in two directories. Returns the exit status.
  [[nodiscard]] int end(bool several) { return log_.end(several, command_.matching); }

 private:
  using Outcome = PairLog::Outcome;

  Outcome compare_open(const FilePair& pair, PairReport& report) {
    const auto open = pair.found ? &InputFile::open_regular : &InputFile::open;
    InputFile actual = open(pair.actual, command_.settings.caching);
    InputFile expected = open(pair.expected, command_.settings.caching);
    for (InputFile* const file : {&actual, &expected}) {
      if (command_.settings.ignore_trailing) file->ignore_trailing();
      if (command_.matching.compared != Compared::bytes) take_foreign(*file, command_.settings.dtype);
    }
    if (command_.matching.compared != Compared::bytes && is_archive(actual) && is_archive(expected)) {
      const Container actual_archive(actual, Records::dropped);
      const Container expected_archive(expected, Records::dropped);
      return compare_archives(actual_archive, expected_archive, pair, report);
    }
    if (!has_chosen(actual, expected, pair.found)) return Outcome::in_members;
    if (actual.is_member() || expected.is_member()) tally_.expect(std::max(actual.size(), expected.size()));
    const Rules rules(command_, log_, report, {pair.name});
    compare_files(engine_, rules.settings, actual, expected, report);
    judge(rules.matching, report);
    if (command_.updates && report.status() != 0) update(pair, {&report, 1});
    return Outcome::found;
  }

  /// Whether one of two files is of a chosen kind. A tensor and an archive are a difference, whatever is
  /// chosen.
  [[nodiscard]] bool has_chosen(InputFile& actual, InputFile& expected, bool found) const {
    const TensorChoice& choice = command_.choice;
    if (choice.takes_all() || is_archive(actual) || is_archive(expected)) return true;
    return choice.has(actual, command_.settings.dtype, !found) ||
           choice.has(expected, command_.settings.dtype, !found);
  }

  /// The same for a file without a partner.
  [[nodiscard]] bool is_chosen(const std::string& path) const {
    if (command_.choice.takes_all()) return true;
    InputFile input = InputFile::open_regular(path);
    return is_archive(input) || command_.choice.has(input, command_.settings.dtype, false);
  }

  /// Copies the actual file to the expected one; `reports` are those that fail because of it.
  void update(const FilePair& pair, std::span<PairReport> reports) {
    if (is_same_file(pair.actual, pair.expected))
      refuse(pair.actual + ": --update-golden: both are one file");
    const InputFile input = InputFile::open_regular(pair.actual, command_.settings.caching);
    fs::create_directories(directory_of(pair.expected));
    OutputFile output = OutputFile::create(pair.expected, OutputFile::Existing::replace,
                                           OutputFile::Durability::none, input.mode_of_copy());
    if (!engine_.copy(input.descriptor(), input.path(), {0, input.size()}, &output, 0))
      throw_changed(input.path());
    engine_.take_back_done(input.size());  // these are no elements
    input.expect_unwritten();
    output.commit([&] { finishing_.emplace(); });
    const std::string name = escape_for_terminal(pair.expected);
    count_in_place(name);
    for (PairReport& report : reports)
      report.result = report.result == PairResult::missing ? PairResult::created : PairResult::updated;
    if (!command_.output.quiet)
      print_note(fmt::format("{}: {}", name, pair.has_expected ? "updated" : "created"));
  }

  void compare_pair(const Archives& archives, const MemberPair& members, const FilePair& files,
                    PairReport& report) {
    if (members.actual == nullptr || members.expected == nullptr)
      return set_missing(report, members.actual == nullptr, archives.expected.path_of(members.any()));
    const std::string key(members.any().key());
    const Rules rules(command_, log_, report, {key, files.name + ":" + key});
    compare_members(engine_, rules.settings, rules.matching, archives, members, report);
  }

  Outcome compare_archives(const Container& actual, const Container& expected, const FilePair& files,
                           PairReport& whole) {
    if (command_.settings.difference_file)
      throw Error(ErrorKind::usage,
                  fmt::format("--diff-out takes two tensors, not archives; name them: {}:NAME",
                              npy::name_for_commands(actual.file().path())));
    const Archives archives{actual, expected};
    std::vector<MemberPair> pairs = member_pairs(archives);
    whole.without_members = pairs.empty();
    if (pairs.empty()) return Outcome::found;
    const std::vector<bool> of_actual = command_.choice.of(actual, command_.settings.dtype);
    const std::vector<bool> of_expected = command_.choice.of(expected, command_.settings.dtype);
    std::erase_if(pairs, [&](const MemberPair& pair) {
      return !(pair.actual != nullptr && of_actual[actual.index_of(*pair.actual)]) &&
             !(pair.expected != nullptr && of_expected[expected.index_of(*pair.expected)]);
    });
    std::uint64_t bytes = 0;
    for (const MemberPair& pair : pairs) bytes += pair.any().contents.size;
    tally_.expect(bytes);
    std::vector<PairReport> failed;  // of an archive that is written before they are reported
    for (const MemberPair& pair : pairs) {
      PairReport report = report_of(archives, pair);
      report.compared = command_.matching.compared;
      if (command_.updates) {
        compare_pair(archives, pair, files, report);
        if (report.status() != 0) failed.push_back(report);
        if (report.status() != 0) continue;
      }
      log_.attempt(report, [&] {
        if (!command_.updates) compare_pair(archives, pair, files, report);
        return Outcome::found;
      });
    }
    if (!failed.empty()) update(files, failed);
    for (PairReport& report : failed) log_.attempt(report, [] { return Outcome::found; });
    return Outcome::in_members;
  }

  const CompareCommand& command_;
  Engine engine_;
  FileTally tally_;
  Progress progress_;
  PairLog log_;
  std::optional<Finishing> finishing_;  ///< of an expected file, until its report is printed
};

int compare_all(const CompareCommand& command) {
  if (command.settings.difference_file && is_directory(command.actual))
    throw Error(ErrorKind::usage, "--diff-out takes two files, not directories");
  const std::vector<FilePair> pairs = file_pairs(command);
  for (const FilePair& pair : pairs)
    for (const auto& path : {pair.actual, pair.expected}) expect_apart(command.output.reports, path);
  Comparer comparer(command, pairs);
  for (const FilePair& pair : pairs) comparer.compare(pair);
  if (comparer.has_read_all()) command.choice.members.expect_used();
  return comparer.end(!pairs.empty() && pairs.front().found);
}

}  // namespace

int run_compare(const RawOptions& raw) {
  return compare_all(validate_compare(raw));
}

}  // namespace clipper
