#include "compare/compare_command.hpp"

#include <fmt/format.h>

#include <algorithm>
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
        .try_emplace(name, FilePair{name, os::joined(actual, name), os::joined(expected, name), false, false,
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
    fs::create_directories(os::native(directory_of(pair.expected)));
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
