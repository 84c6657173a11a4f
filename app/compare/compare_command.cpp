#include "compare/compare_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/compare_options.hpp"
#include "compare/compare_report.hpp"
#include "compare/difference_file.hpp"
#include "compare/file_pairs.hpp"
#include "compare/tensor_pair.hpp"
#include "console/error_line.hpp"
#include "engine/engine.hpp"
#include "error.hpp"
#include "files/output_file.hpp"

namespace clipper {
namespace {

/// All bytes of a file, as a tensor.
npy::Header header_of_bytes(const InputFile& file) {
  if (!file.is_regular())
    throw Error(ErrorKind::input, fmt::format("{}: --bytes compares only files", file.path()));
  npy::Header header;
  header.dtype = DType::uint8;
  header.shape = {static_cast<std::int64_t>(file.size())};
  header.count = file.size();
  return header;
}

std::string header_difference(const std::vector<std::byte>& actual, const std::vector<std::byte>& expected) {
  const auto at = std::mismatch(actual.begin(), actual.end(), expected.begin(), expected.end()).first;
  return at == actual.end() && actual.size() == expected.size()
             ? ""
             : fmt::format("the headers differ at byte {}", at - actual.begin());
}

/// The two headers, the expected one in the report, and there what is different of the files as a whole.
npy::Header compare_headers(const CompareCommand& command, InputFile& actual, InputFile& expected,
                            PairReport& report) {
  if (command.compared == Compared::bytes) {
    npy::Header header = header_of_bytes(actual);
    report.header = header_of_bytes(expected);
    if (header.count != report.header.count)
      report.reason = fmt::format("{} bytes, expected {}", header.count, report.header.count);
    return header;
  }
  if (command.ignore_trailing) {
    actual.ignore_trailing();
    expected.ignore_trailing();
  }
  std::vector<std::byte> actual_bytes;
  std::vector<std::byte> expected_bytes;
  npy::Header header = read_header(actual, command.dtype, &actual_bytes);
  report.header = read_header(expected, command.dtype, &expected_bytes);
  report.reason = difference_as_whole(header, report.header);
  if (report.reason.empty() && command.strict_header)
    report.reason = header_difference(actual_bytes, expected_bytes);
  return header;
}

DifferenceFile create_difference_file(const std::string& path, const PairReport& report, bool nan_equal) {
  if (is_same_file(path, report.actual) || is_same_file(path, report.expected))
    throw Error(ErrorKind::usage, fmt::format("--diff-out: {} is one of the two files", path));
  OutputFile output = OutputFile::create(path, OutputFile::Existing::replace, OutputFile::Durability::none);
  if (!output.is_regular()) throw Error(ErrorKind::usage, fmt::format("--diff-out: {} is not a file", path));
  return {std::move(output), report.header, nan_equal};
}

Comparison compare_elements(const CompareCommand& command, Engine& engine, const TensorInput& actual,
                            const TensorInput& expected, const PairReport& report) {
  if (!command.difference_file) return compare(engine, actual, expected, command.rule);
  DifferenceFile file = create_difference_file(*command.difference_file, report, command.rule.nan_equal);
  const auto write = [&](const ElementPairs& pairs) { file.write(pairs); };
  Comparison comparison = compare(engine, actual, expected, command.rule, write);
  file.commit();
  return comparison;
}

void compare_open(const CompareCommand& command, Engine& engine, const FilePair& pair, PairReport& report) {
  const auto open = pair.found ? &InputFile::open_regular : &InputFile::open;
  InputFile actual = open(pair.actual);
  InputFile expected = open(pair.expected);
  const npy::Header header = compare_headers(command, actual, expected, report);
  if (!report.reason.empty()) {
    report.status = 1;
    return;
  }
  report.comparison = compare_elements(command, engine, {actual, header}, {expected, report.header}, report);
  report.status = command.allowance.covers(report.comparison) ? 0 : 1;
}

void compare_pair(const CompareCommand& command, Engine& engine, const FilePair& pair, PairReport& report) {
  report.compared = command.compared;
  if (pair.has_actual && pair.has_expected) return compare_open(command, engine, pair, report);
  report.status = 1;
  report.reason = pair.has_expected ? "is missing" : fmt::format("{} is missing", pair.expected);
}

int compare_all(const CompareCommand& command) {
  std::error_code ignored;
  if (command.difference_file && std::filesystem::is_directory(command.actual, ignored))
    throw Error(ErrorKind::usage, "--diff-out takes two files, not directories");
  Engine engine(command.engine);
  int status = 0;
  for (const FilePair& pair : file_pairs(command.actual, command.expected)) {
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
        text = as_text(report, command.shown);
    } catch (...) {
      const Failure failure = explained(std::current_exception());
      status = std::max(status, static_cast<int>(failure.kind));
      std::fputs(line_of(failure).c_str(), stderr);
      if (command.json) text = as_json(report, failure);
    }
    if (!command.quiet) print(text);
  }
  return status;
}

}  // namespace

int compare_files(const Parse& parse) {
  const std::optional<CompareCommand> command = parse_compare_line(parse);
  return command ? compare_all(*command) : 0;
}

}  // namespace clipper
