#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/input_names.hpp"
#include "command_line/shared_options.hpp"
#include "compare/compare_files.hpp"
#include "compare/match_options.hpp"
#include "compare/pairs.hpp"
#include "console/diagnostics.hpp"
#include "console/terminal.hpp"
#include "engine/engine.hpp"
#include "error.hpp"
#include "files/output_file.hpp"
#include "files/place.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"
#include "npy/dict.hpp"

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
    .details = R"(`semantic` (default): dtype and shape must be equal. `strict`: the bytes of .npy headers, which
both must have, must also be equal.)"};

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
    .details = R"(Copy the ACTUAL file of each pair that fails to EXPECTED, below a directory also where there is no
EXPECTED file, print "created" or "updated", and exit with 0. An archive is copied if one member fails; an
EXPECTED file without an ACTUAL one still fails.)"};

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

/// A parsed command line of `clipper compare`, not yet compared with any file.
struct CompareCommand {
  std::string actual;    ///< a file, a directory, or "-" for standard input
  std::string expected;  ///< a file, a directory, or "-" if `actual` is not "-"
  TensorWalk walk;
  TensorChoice choice;
  CompareSettings settings;
  Matching matching;
  bool updates = false;  ///< replaces expected files that fail by the actual ones
  PairOutput output;
  Progress::When progress = Progress::When::automatic;
  Engine::Options engine;
};

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

/// Throws Error{usage} if options contradict each other or a value is invalid.
CompareCommand validate_compare(const RawOptions& raw) {
  CompareCommand command;
  if (!raw.has(kActual)) refuse_missing(raw, "ACTUAL", "see clipper compare --help");
  if (!raw.has(kExpected)) refuse_missing(raw, "EXPECTED", "see clipper compare --help");
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

namespace fs = std::filesystem;

/// Two files to compare.
struct FilePair {
  std::string name;  ///< for patterns: of two directories the path in both
  std::string actual;
  std::string expected;
  bool has_actual = true;  ///< whether `actual` exists; files given by name are assumed to exist
  bool has_expected = true;
  bool found = false;  ///< found below a directory, where only regular files are compared
};

/// The two files; for two directories, a pair for each path of a .npy file or archive below either directory,
/// sorted by path. Two sets are a pair of indexes, and their files are none. A directory, FIFO or device
/// makes a pair only with a file. Links to directories are followed. There may be millions of pairs: one
/// takes the memory of its name.
class FilePairs {
 public:
  /// Error{usage} for a file and a directory, Error{input} if neither directory contains such a file and
  /// nothing permits that, Error{io} if a directory cannot be read or is part of a loop of links.
  explicit FilePairs(const CompareCommand& command)
      : actual_(command.actual), expected_(command.expected), are_found_(is_directory(actual_)) {
    if (are_found_ != is_directory(expected_))
      refuse(fmt::format("{} is a directory and {} is not", are_found_ ? actual_ : expected_,
                         are_found_ ? expected_ : actual_));
    if (are_found_) find(command);
  }

  [[nodiscard]] bool are_found() const noexcept { return are_found_; }
  [[nodiscard]] std::size_t size() const noexcept { return are_found_ ? found_.size() : 1; }
  [[nodiscard]] FilePair operator[](std::size_t i) const {
    if (!are_found_) return {actual_, actual_, expected_};
    const Found& pair = found_[i];
    return {pair.name,
            os::joined(actual_, pair.name),
            os::joined(expected_, pair.name),
            pair.is_actual,
            pair.is_expected,
            true};
  }

 private:
  struct Found {
    const char* name;
    bool is_actual;
    bool is_expected;
    bool may_be_tensor;
  };

  void find(const CompareCommand& command) {
    TensorWalk walk = command.walk;
    walk.takes = Walked::if_all;
    for (const bool is_actual : {true, false}) {
      walk.found = [&](const std::string& name, TensorWalk::Kind kind) {
        found_.push_back({names_.add(name), is_actual, !is_actual, may_be_tensor(kind)});
      };
      walk_tensors(is_actual ? actual_ : expected_, walk);
    }
    std::ranges::sort(found_, [](const Found& a, const Found& b) { return std::strcmp(a.name, b.name) < 0; });
    join_sides();
    leave_out_parts();
    std::erase_if(found_, [](const Found& pair) { return !pair.may_be_tensor; });
    if (found_.empty() && !command.output.allow_empty)
      throw Error(ErrorKind::input, fmt::format("{} and {} contain no {}", actual_, expected_,
                                                walk.include.empty() ? walked_suffixes(walk.takes) + " file"
                                                                     : "file that --include names"));
  }

  /// Makes one pair of two that follow each other and have the same name.
  void join_sides() {
    std::size_t count = 0;
    for (const Found& each : found_) {
      if (count == 0 || std::strcmp(found_[count - 1].name, each.name) != 0) {
        found_[count++] = each;
        continue;
      }
      Found& pair = found_[count - 1];
      pair.is_actual |= each.is_actual;
      pair.is_expected |= each.is_expected;
      pair.may_be_tensor |= each.may_be_tensor;
    }
    found_.resize(count);
  }

  /// The files of two sets belong to the pair of their indexes.
  void leave_out_parts() {
    std::vector<std::string> indexes;
    for (const Found& pair : found_)
      if (is_index(pair.name) && pair.is_actual && pair.is_expected)
        indexes.insert(indexes.end(), {os::joined(actual_, pair.name), os::joined(expected_, pair.name)});
    const std::set<std::string> parts = files_of_sets(indexes);
    if (parts.empty()) return;
    for (Found& pair : found_)
      if (parts.contains(os::joined(actual_, pair.name)) || parts.contains(os::joined(expected_, pair.name)))
        pair.may_be_tensor = false;
  }

  const std::string& actual_;
  const std::string& expected_;
  bool are_found_;
  KeptTexts names_;
  std::deque<Found> found_;
};

[[noreturn]] void refuse_set(const FilePair& pair) {
  refuse(pair.actual + ": --update-golden takes no set of files; copy them");
}

/// The expected bytes of a pair: the size of the larger file (a stream counts 0), or 0 if a file is missing.
std::uint64_t size_of(const FilePair& pair) {
  const bool both = pair.has_actual && pair.has_expected;
  return both ? std::max(expected_bytes(pair.actual), expected_bytes(pair.expected)) : 0;
}

/// Compares pairs one after the other, and prints a result for each.
class Comparer {
 public:
  Comparer(const CompareCommand& command, const FilePairs& pairs)
      : command_(command),
        engine_(command.engine),
        walk_({command.output, "compare", command.matching, with_finishing(command.settings), command.updates,
               command.progress},
              engine_, pairs.size(), [&](std::size_t i) { return size_of(pairs[i]); }) {}

  void compare(const FilePair& pair) {
    walk_.take(pair.actual, pair.expected, [&](PairReport& report) {
      if (pair.has_actual && pair.has_expected) return compare_open(pair, report);
      if (!is_chosen(pair.has_actual ? pair.actual : pair.expected)) return Outcome::in_members;
      set_missing(report, pair.has_expected, pair.expected);
      if (command_.updates && pair.has_actual) update(pair, report);
      return Outcome::found;
    });
  }

  [[nodiscard]] bool has_read_all() const { return walk_.has_read_all(); }

  /// Ends the report on pairs, of which there are `several` in two directories. Returns the exit status.
  [[nodiscard]] int end(bool several) { return walk_.end(several); }

 private:
  using Outcome = PairWalk::Outcome;

  /// Signals wait from the last look at the difference file to the report.
  [[nodiscard]] CompareSettings with_finishing(CompareSettings settings) {
    settings.placing = [this] { walk_.begin_finishing(); };
    return settings;
  }

  Outcome compare_open(const FilePair& pair, PairReport& report) {
    const Streams streams = pair.found ? Streams::refused : Streams::taken;
    const Reading& how = command_.settings.reading;
    InputFile actual = open_input(pair.actual, streams, how.caching);
    InputFile expected = open_input(pair.expected, streams, how.caching);
    const bool as_bytes = command_.matching.compared == Compared::bytes;
    for (InputFile* const file : {&actual, &expected})
      if (!as_bytes) read_if_known(*file, how);
    if (!as_bytes && is_archive(actual) && is_archive(expected)) {
      const Container actual_archive(actual, KeptFor::reading);
      const Container expected_archive(expected, KeptFor::reading);
      return compare_archives(actual_archive, expected_archive, pair, report);
    }
    if (!is_chosen({&actual, &expected}, !pair.found)) return Outcome::in_members;
    if (actual.is_member() || expected.is_member()) walk_.expect(std::max(actual.size(), expected.size()));
    const PairRules& rules = walk_.choose_rules(report, {pair.name});
    if (as_bytes) {
      compare_files(engine_, rules.settings, actual, expected, report);
      judge(rules.matching, report);
    } else {
      compare_tensors(engine_, rules.settings, rules.matching, actual, expected, report);
      if (walk_.is_finishing()) count_in_place(escape_for_terminal(*command_.settings.difference_file));
    }
    if (command_.updates && report.status() != 0) update(pair, report);
    return Outcome::found;
  }

  /// Whether one of the files of a pair is of a chosen kind. An archive is: a tensor and an archive are a
  /// difference, whatever is chosen.
  [[nodiscard]] bool is_chosen(std::initializer_list<InputFile*> files, bool is_named) const {
    const TensorChoice& choice = command_.choice;
    return choice.takes_all() ||
           std::ranges::any_of(files, [](InputFile* file) { return is_archive(*file); }) ||
           std::ranges::any_of(files, [&](InputFile* file) {
             return choice.has(*file, command_.settings.reading, is_named);
           });
  }

  /// The same for a file without a partner, which is opened only if its kind matters.
  [[nodiscard]] bool is_chosen(const std::string& path) const {
    if (command_.choice.takes_all()) return true;
    InputFile input = open_as(command_.settings.reading, path, Streams::refused);
    return is_chosen({&input}, false);
  }

  /// Copies the actual file to the expected one.
  void update(const FilePair& pair, PairReport& report) {
    if (is_same_file(pair.actual, pair.expected))
      refuse(pair.actual + ": --update-golden: both are one file");
    const InputFile input = open_input(pair.actual, Streams::refused, command_.settings.reading.caching);
    if (is_index(pair.actual)) refuse_set(pair);
    fs::create_directories(os::native(directory_of(pair.expected)));
    OutputFile output = OutputFile::create(pair.expected, OutputFile::Existing::replace,
                                           OutputFile::Durability::none, input.mode_of_copy());
    if (!engine_.copy(input.descriptor(), input.path(), {0, input.size()}, &output, 0))
      throw_changed(input.path());
    engine_.take_back_done(input.size());  // these are no elements
    input.expect_unwritten();
    output.commit([&] { walk_.begin_finishing(); });
    const std::string name = escape_for_terminal(pair.expected);
    count_in_place(name);
    set_updated(report);
    print_note(fmt::format("{}: {}", name, pair.has_expected ? "updated" : "created"));
  }

  Outcome compare_archives(const Container& actual, const Container& expected, const FilePair& files,
                           PairReport& whole) {
    if (command_.settings.difference_file)
      refuse(fmt::format("--diff-out takes two tensors, not archives; name them: {}:NAME",
                         npy::name_for_commands(actual.file().path())));
    const Archives archives{actual, expected};
    std::vector<MemberPair> pairs = member_pairs(archives);
    whole.without_members = pairs.empty();
    if (pairs.empty()) return Outcome::found;
    const std::vector<bool> of_actual = command_.choice.of(actual, command_.settings.reading);
    const std::vector<bool> of_expected = command_.choice.of(expected, command_.settings.reading);
    std::erase_if(pairs, [&](const MemberPair& pair) {
      return !(pair.actual != nullptr && of_actual[actual.index_of(*pair.actual)]) &&
             !(pair.expected != nullptr && of_expected[expected.index_of(*pair.expected)]);
    });
    std::uint64_t bytes = 0;
    for (const MemberPair& pair : pairs) bytes += pair.any().contents.size;
    const auto compare_pair = [&](const MemberPair& pair, PairReport& report) {
      if (pair.actual == nullptr || pair.expected == nullptr)
        return set_missing(report, pair.actual == nullptr, archives.expected.path_of(pair.any()));
      const PairRules& rules = walk_.rules();
      compare_members(engine_, rules.settings, rules.matching, archives, pair, report);
    };
    walk_.take_members(archives, pairs, bytes, files.name, compare_pair, [&] { update(files, whole); });
    return Outcome::in_members;
  }

  const CompareCommand& command_;
  Engine engine_;
  PairWalk walk_;
};

int run_compare(const RawOptions& raw) {
  const CompareCommand command = validate_compare(raw);
  if (command.settings.difference_file && is_directory(command.actual))
    refuse("--diff-out takes two files, not directories");
  const FilePairs pairs(command);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const FilePair pair = pairs[i];
    // The files of a set without a partner are pairs of their own, which are copied before its index.
    if (command.updates && !pair.has_expected && is_index(pair.actual)) refuse_set(pair);
  }
  expect_apart(files_of(command.output.reports, command.settings.difference_file), command.settings.reading,
               pairs.size(), [&](std::size_t i) { return std::pair(pairs[i].actual, pairs[i].expected); });
  expect_files(pairs.size() + (command.settings.difference_file ? 1 : 0));
  Comparer comparer(command, pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) comparer.compare(pairs[i]);
  if (comparer.has_read_all()) command.choice.members.expect_used();
  return comparer.end(pairs.are_found());
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

}  // namespace clipper
