#include "compare/compare_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/tensor_tree.hpp"
#include "compare/compare_files.hpp"
#include "compare/compare_report.hpp"
#include "compare/pair_log.hpp"
#include "console/file_tally.hpp"
#include "console/progress.hpp"
#include "engine/engine.hpp"
#include "error.hpp"
#include "files/container.hpp"

namespace clipper {
namespace {

namespace fs = std::filesystem;

/// Two files to compare.
struct FilePair {
  std::string actual;
  std::string expected;
  bool has_actual = true;  ///< whether `actual` exists; files given by name are assumed to exist
  bool has_expected = true;
  bool found = false;  ///< found below a directory, where only regular files are compared
};

/// The two files; for two directories, a pair for each .npy or .npz path below either directory, sorted by
/// path. Links to directories are followed. Error{usage} for a file and a directory, Error{input} if neither
/// directory contains such a file, Error{io} if a directory cannot be read or is part of a loop of links.
std::vector<FilePair> file_pairs(const std::string& actual, const std::string& expected) {
  const bool directory = is_directory(actual);
  if (directory != is_directory(expected))
    throw Error(ErrorKind::usage, fmt::format("{} is a directory and {} is not",
                                              directory ? actual : expected, directory ? expected : actual));
  if (!directory) return {{actual, expected}};

  std::map<std::string, FilePair> pairs;
  const auto pair_of = [&](const std::string& name) -> FilePair& {
    return pairs
        .try_emplace(name, FilePair{fs::path(actual) / name, fs::path(expected) / name, false, false, true})
        .first->second;
  };
  TensorWalk walk;
  walk.found = [&](const std::string& name, TensorWalk::Kind) { pair_of(name).has_actual = true; };
  walk_tensors(actual, walk);
  walk.found = [&](const std::string& name, TensorWalk::Kind) { pair_of(name).has_expected = true; };
  walk_tensors(expected, walk);
  if (pairs.empty())
    throw Error(ErrorKind::input, fmt::format("{} and {} contain no .npy or .npz file", actual, expected));
  std::vector<FilePair> result;
  for (auto& [name, pair] : pairs) result.push_back(std::move(pair));
  return result;
}

/// Two members of the same name. One of them is null if its archive lacks the name.
struct MemberPair {
  const Entry* actual = nullptr;
  const Entry* expected = nullptr;

  /// The member that exists.
  [[nodiscard]] const Entry& any() const { return actual != nullptr ? *actual : *expected; }
};

/// A pair for each name, in the order of the expected archive; names that it lacks come last.
std::vector<MemberPair> member_pairs(const std::vector<Entry>& actual, const std::vector<Entry>& expected) {
  std::vector<MemberPair> pairs;
  for (const Entry& member : expected) pairs.push_back({nullptr, &member});
  const auto name_of = [&](std::size_t place) -> std::string_view { return pairs[place].expected->name; };
  std::vector<std::size_t> sorted(pairs.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::ranges::sort(sorted, {}, name_of);
  for (const Entry& member : actual) {
    const auto found = std::ranges::lower_bound(sorted, std::string_view(member.name), {}, name_of);
    if (found != sorted.end() && name_of(*found) == member.name)
      pairs[*found].actual = &member;
    else
      pairs.push_back({&member, nullptr});
  }
  return pairs;
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
        log_(command.output, progress_) {}

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

  static void set_missing(PairReport& report, bool actual_is_missing, const std::string& expected) {
    report.result = PairResult::missing;
    report.reason = actual_is_missing ? "is missing" : fmt::format("{} is missing", expected);
  }

  template <class Work>
  void attempt(PairReport& report, const Work& work) {
    report.compared = command_.matching.compared;
    log_.attempt(report, work);
  }

  Outcome compare_open(const FilePair& pair, PairReport& report) {
    const auto open = pair.found ? &InputFile::open_regular : &InputFile::open;
    InputFile actual = open(pair.actual);
    InputFile expected = open(pair.expected);
    if (command_.matching.compared != Compared::bytes && is_archive(actual) && is_archive(expected)) {
      const Container actual_archive(actual, Container::Records::dropped);
      const Container expected_archive(expected, Container::Records::dropped);
      return compare_archives(actual_archive, expected_archive, report);
    }
    if (actual.is_member() || expected.is_member()) tally_.expect(std::max(actual.size(), expected.size()));
    compare_tensors(command_.settings, actual, expected, report);
    return Outcome::found;
  }

  void compare_tensors(const CompareSettings& settings, InputFile& actual, InputFile& expected,
                       PairReport& report) {
    compare_files(engine_, settings, actual, expected, report);
    report.result = command_.matching.passes(report) ? PairResult::ok : PairResult::different;
  }

  Outcome compare_archives(const Container& actual, const Container& expected, PairReport& whole) {
    if (command_.settings.difference_file)
      throw Error(ErrorKind::usage,
                  fmt::format("--diff-out takes two tensors, not archives; name them: {}:NAME",
                              actual.file().path()));
    const std::vector<MemberPair> pairs = member_pairs(actual.entries(), expected.entries());
    whole.without_members = pairs.empty();
    if (pairs.empty()) return Outcome::found;
    std::uint64_t bytes = 0;
    for (const MemberPair& pair : pairs) bytes += pair.any().contents.size;
    tally_.expect(bytes);
    for (const MemberPair& pair : pairs) {
      PairReport report;
      report.actual = actual.file().path();
      report.expected = expected.file().path();
      report.member = pair.any().name;
      report.member_path = actual.path_of(pair.any());
      attempt(report, [&] {
        if (pair.actual != nullptr && pair.expected != nullptr)
          compare_members(actual, expected, pair, report);
        else
          set_missing(report, pair.actual == nullptr, expected.path_of(pair.any()));
        return Outcome::found;
      });
    }
    return Outcome::in_members;
  }

  /// Compares members that are no tensors byte by byte.
  void compare_members(const Container& actual, const Container& expected, const MemberPair& pair,
                       PairReport& report) {
    CompareSettings settings = command_.settings;
    const auto is_tensor = [&](const Container& archive, const Entry& member) {
      const Trailing trailing = settings.ignore_trailing ? Trailing::ignored : Trailing::refused;
      return archive.header(member, settings.dtype, trailing).header.has_value();
    };
    if (!is_tensor(actual, *pair.actual) || !is_tensor(expected, *pair.expected)) {
      settings.whole_files = true;
      report.compared = Compared::bytes;
    }
    InputFile actual_member = actual.open(*pair.actual);
    InputFile expected_member = expected.open(*pair.expected);
    compare_tensors(settings, actual_member, expected_member, report);
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
  return comparer.end(is_directory(command.actual));
}

}  // namespace

int run_compare(const RawOptions& raw) {
  return compare_all(validate_compare(raw));
}

}  // namespace clipper
