#include "compare/compare_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/tensor_tree.hpp"
#include "compare/compare_files.hpp"
#include "compare/compare_options.hpp"
#include "compare/compare_report.hpp"
#include "compare/pairs.hpp"
#include "console/color.hpp"
#include "console/error_line.hpp"
#include "console/file_tally.hpp"
#include "console/progress.hpp"
#include "engine/engine.hpp"
#include "error.hpp"
#include "files/container.hpp"

namespace clipper {
namespace {

CompareSettings compare_settings(const CompareCommand& command) {
  return {.rule = command.rule,
          .whole_files = command.compared == Compared::bytes,
          .strict_header = command.strict_header,
          .dtype = command.dtype,
          .ignore_trailing = command.ignore_trailing,
          .difference_file = command.difference_file};
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
        progress_(command.progress, [this] { return tally_.extent(); }) {}

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

  [[nodiscard]] int status() const noexcept { return status_; }

 private:
  /// Whether a report has a result, or the reports of members have it.
  enum class Outcome : std::uint8_t { found, in_members };

  static void set_missing(PairReport& report, bool actual_is_missing, const std::string& expected) {
    report.status = static_cast<int>(ErrorKind::different);
    report.reason = actual_is_missing ? "is missing" : fmt::format("{} is missing", expected);
  }

  /// Prints what `work` finds, or the error that it throws.
  template <class Work>
  void attempt(PairReport& report, Work work) {
    report.compared = command_.compared;
    std::string text;
    try {
      if (work() == Outcome::in_members) return;
      status_ = std::max(status_, report.status);
      if (command_.json)
        text = as_json(report);
      else if (command_.verbose || report.status != 0)
        text = as_text(report, command_.shown, paint_);
    } catch (...) {
      const Failure failure = explained(std::current_exception());
      status_ = std::max(status_, static_cast<int>(failure.kind));
      progress_.print(stderr, line_of(failure));
      if (command_.json) text = as_json(report, failure);
    }
    if (!command_.quiet && !text.empty()) print(text, progress_);
  }

  Outcome compare_open(const FilePair& pair, PairReport& report) {
    const auto open = pair.found ? &InputFile::open_regular : &InputFile::open;
    InputFile actual = open(pair.actual);
    InputFile expected = open(pair.expected);
    if (command_.compared != Compared::bytes && is_archive(actual) && is_archive(expected)) {
      const Container actual_archive(actual, Container::Records::dropped);
      const Container expected_archive(expected, Container::Records::dropped);
      return compare_archives(actual_archive, expected_archive, report);
    }
    if (actual.is_member() || expected.is_member()) tally_.expect(std::max(actual.size(), expected.size()));
    compare_tensors(compare_settings(command_), actual, expected, report);
    return Outcome::found;
  }

  void compare_tensors(const CompareSettings& settings, InputFile& actual, InputFile& expected,
                       PairReport& report) {
    compare_files(engine_, settings, actual, expected, report);
    const bool passes = report.reason.empty() && command_.allowance.covers(report.comparison);
    report.status = passes ? 0 : static_cast<int>(ErrorKind::different);
  }

  Outcome compare_archives(const Container& actual, const Container& expected, PairReport& whole) {
    if (command_.difference_file)
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
    CompareSettings settings = compare_settings(command_);
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
  Paint paint_ = paint_for(STDOUT_FILENO);
  Engine engine_;
  FileTally tally_;
  Progress progress_;
  int status_ = 0;
};

int compare_all(const CompareCommand& command) {
  if (command.difference_file && is_directory(command.actual))
    throw Error(ErrorKind::usage, "--diff-out takes two files, not directories");
  const std::vector<FilePair> pairs = file_pairs(command.actual, command.expected);
  Comparer comparer(command, pairs);
  for (const FilePair& pair : pairs) comparer.compare(pair);
  return comparer.status();
}

}  // namespace

int run_compare(const RawOptions& raw) {
  return compare_all(validate_compare(raw));
}

}  // namespace clipper
