#include "compare/compare_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/tensor_tree.hpp"
#include "compare/compare_files.hpp"
#include "compare/compare_report.hpp"
#include "compare/member_pairs.hpp"
#include "compare/pair_log.hpp"
#include "console/file_tally.hpp"
#include "console/progress.hpp"
#include "engine/engine.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "npy/utf8.hpp"

namespace clipper {
namespace {

namespace fs = std::filesystem;

/// Two files to compare.
struct FilePair {
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
std::vector<FilePair> file_pairs(const std::string& actual, const std::string& expected) {
  const bool directory = is_directory(actual);
  if (directory != is_directory(expected))
    throw Error(ErrorKind::usage, fmt::format("{} is a directory and {} is not",
                                              directory ? actual : expected, directory ? expected : actual));
  if (!directory) return {{actual, expected}};

  std::map<std::string, FilePair> pairs;
  const auto pair_of = [&](const std::string& name) -> FilePair& {
    return pairs
        .try_emplace(name,
                     FilePair{fs::path(actual) / name, fs::path(expected) / name, false, false, true, false})
        .first->second;
  };
  TensorWalk walk;
  walk.every_format = true;
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
    throw Error(ErrorKind::input,
                fmt::format("{} and {} contain no .npy, .npz or .safetensors file", actual, expected));
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

/// Compares pairs one after the other, and prints a result for each.
class Comparer {
 public:
  Comparer(const CompareCommand& command, const std::vector<FilePair>& pairs)
      : command_(command),
        engine_(command.engine),
        tally_(engine_.done(), sizes_of(pairs)),
        progress_(command.progress, [this] { return tally_.extent(); }),
        log_(command.output, "compare", progress_) {}

  void compare(const FilePair& pair) {
    PairReport report;
    report.actual = pair.actual;
    report.expected = pair.expected;
    attempt(report, [&] {
      if (pair.has_actual && pair.has_expected) return compare_open(pair, report);
      set_missing(report, pair.has_expected, pair.expected);
      return Outcome::found;
    });
    tally_.next();
  }

  /// Ends the report on pairs, of which there are `several` in two directories. Returns the exit status.
  [[nodiscard]] int end(bool several) { return log_.end(several); }

 private:
  using Outcome = PairLog::Outcome;

  template <class Work>
  void attempt(PairReport& report, const Work& work) {
    report.compared = command_.matching.compared;
    log_.attempt(report, work);
  }

  Outcome compare_open(const FilePair& pair, PairReport& report) {
    const auto open = pair.found ? &InputFile::open_regular : &InputFile::open;
    InputFile actual = open(pair.actual, command_.settings.caching);
    InputFile expected = open(pair.expected, command_.settings.caching);
    if (command_.matching.compared != Compared::bytes && is_archive(actual) && is_archive(expected)) {
      const Container actual_archive(actual, Records::dropped);
      const Container expected_archive(expected, Records::dropped);
      return compare_archives(actual_archive, expected_archive, report);
    }
    if (actual.is_member() || expected.is_member()) tally_.expect(std::max(actual.size(), expected.size()));
    compare_files(engine_, command_.settings, actual, expected, report);
    judge(command_.matching, report);
    return Outcome::found;
  }

  Outcome compare_archives(const Container& actual, const Container& expected, PairReport& whole) {
    if (command_.settings.difference_file)
      throw Error(ErrorKind::usage,
                  fmt::format("--diff-out takes two tensors, not archives; name them: {}:NAME",
                              npy::name_for_commands(actual.file().path())));
    const Archives archives{actual, expected};
    const std::vector<MemberPair> pairs = member_pairs(archives);
    whole.without_members = pairs.empty();
    if (pairs.empty()) return Outcome::found;
    std::uint64_t bytes = 0;
    for (const MemberPair& pair : pairs) bytes += pair.any().contents.size;
    tally_.expect(bytes);
    for (const MemberPair& pair : pairs) {
      PairReport report = report_of(archives, pair);
      attempt(report, [&] {
        if (pair.actual != nullptr && pair.expected != nullptr)
          compare_members(engine_, command_.settings, command_.matching, archives, pair, report);
        else
          set_missing(report, pair.actual == nullptr, expected.path_of(pair.any()));
        return Outcome::found;
      });
    }
    return Outcome::in_members;
  }

  const CompareCommand& command_;
  Engine engine_;
  FileTally tally_;
  Progress progress_;
  PairLog log_;
};

int compare_all(const CompareCommand& command) {
  if (command.settings.difference_file && is_directory(command.actual))
    throw Error(ErrorKind::usage, "--diff-out takes two files, not directories");
  const std::vector<FilePair> pairs = file_pairs(command.actual, command.expected);
  Comparer comparer(command, pairs);
  for (const FilePair& pair : pairs) comparer.compare(pair);
  return comparer.end(!pairs.empty() && pairs.front().found);
}

}  // namespace

int run_compare(const RawOptions& raw) {
  return compare_all(validate_compare(raw));
}

}  // namespace clipper
