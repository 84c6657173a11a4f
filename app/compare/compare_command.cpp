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
#include "compare/file_pairs.hpp"
#include "console/color.hpp"
#include "console/error_line.hpp"
#include "console/file_tally.hpp"
#include "console/progress.hpp"
#include "engine/engine.hpp"
#include "error.hpp"

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

void compare_open(const CompareCommand& command, Engine& engine, const FilePair& pair, PairReport& report) {
  const auto open = pair.found ? &InputFile::open_regular : &InputFile::open;
  InputFile actual = open(pair.actual);
  InputFile expected = open(pair.expected);
  compare_files(engine, compare_settings(command), actual, expected, report);
  const bool passes = report.reason.empty() && command.allowance.covers(report.comparison);
  report.status = passes ? 0 : static_cast<int>(ErrorKind::different);
}

void compare_pair(const CompareCommand& command, Engine& engine, const FilePair& pair, PairReport& report) {
  report.compared = command.compared;
  if (pair.has_actual && pair.has_expected) return compare_open(command, engine, pair, report);
  report.status = 1;
  report.reason = pair.has_expected ? "is missing" : fmt::format("{} is missing", pair.expected);
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

int compare_all(const CompareCommand& command) {
  if (command.difference_file && is_directory(command.actual))
    throw Error(ErrorKind::usage, "--diff-out takes two files, not directories");
  const std::vector<FilePair> pairs = file_pairs(command.actual, command.expected);
  const Paint paint = paint_for(STDOUT_FILENO);
  Engine engine(command.engine);
  FileTally tally(engine.done(), sizes_of(pairs));
  Progress progress(command.progress, [&] { return tally.extent(); });
  int status = 0;
  for (const FilePair& pair : pairs) {
    PairReport report;
    report.actual = pair.actual;
    report.expected = pair.expected;
    std::string text;
    try {
      compare_pair(command, engine, pair, report);
      status = std::max(status, report.status);
      if (command.json)
        text = as_json(report);
      else if (command.verbose || report.status != 0)
        text = as_text(report, command.shown, paint);
    } catch (...) {
      const Failure failure = explained(std::current_exception());
      status = std::max(status, static_cast<int>(failure.kind));
      progress.print(stderr, line_of(failure));
      if (command.json) text = as_json(report, failure);
    }
    if (!command.quiet && !text.empty()) print(text, progress);
    tally.next();
  }
  return status;
}

}  // namespace

int run_compare(const RawOptions& raw) {
  return compare_all(validate_compare(raw));
}

}  // namespace clipper
