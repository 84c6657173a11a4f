#pragma once

#include "cli/clipper.hpp"

/// Runs `clipper compare` in a directory.
namespace clipper::testing {

inline Result run_compare(const WorkingDirectory& directory, Words arguments, std::string_view input = "") {
  arguments.insert(arguments.begin(), "compare");
  return directory.run(arguments, input);
}

inline void check_same(const WorkingDirectory& directory, const Words& arguments,
                       std::string_view input = "") {
  const Result result = run_compare(directory, arguments, input);
  CAPTURE(arguments, result.output, result.error);
  check_done(result);
  CHECK(result.output.empty());
}

/// Checks that all pairs of two directories match: only the closing line, `text`, is printed.
inline void check_all_same(const WorkingDirectory& directory, const Words& arguments,
                           const std::string& text) {
  const Result result = run_compare(directory, arguments);
  check_done(result);
  CHECK(result.output == text);
}

/// Checks that compare prints exactly `output` to standard output, and nothing to standard error.
inline void check_different(const WorkingDirectory& directory, const Words& arguments,
                            const std::string& output, std::string_view input = "") {
  const Result result = run_compare(directory, arguments, input);
  CAPTURE(arguments);
  CHECK(result.exit_code == 1);
  CHECK(result.output == output);
  CHECK(result.error.empty());
}

}  // namespace clipper::testing
