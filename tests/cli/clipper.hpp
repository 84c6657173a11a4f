#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/json_record.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

/// Runs clipper as its users do.
namespace clipper::testing {

using Words = std::vector<std::string>;

inline Words clipper_words(const Words& arguments) {
  Words words{clipper_binary()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

/// The bounds that most tests clip to, followed by `more`.
inline Words clip(const Words& more) {
  Words words{"--min", "0", "--max", "6"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline Result run_clipper(const Words& arguments, const Process::Settings& settings = {},
                          std::string_view input = "") {
  const Words words = clipper_words(arguments);
  Result result = Process(words, settings).finish(input);
  record_json(words, result);
  return result;
}

/// Runs a shell script in which "$@" is clipper with these arguments.
inline Result run_in_shell(const std::string& script, const Words& arguments,
                           const Process::Settings& settings = {}) {
  const Words program = clipper_words(arguments);
  Words words{"sh", "-c", script, "sh"};
  words.insert(words.end(), program.begin(), program.end());
  Result result = Process(words, settings).finish();
  record_json(program, result);
  return result;
}

inline void check_done(const Result& result) {
  CHECK(result.signal == 0);
  CHECK(result.exit_code == 0);
  CHECK(result.error.empty());
}

/// Checks that clipper exited with this code and printed one line with `word` to standard error.
inline void check_refused(const Result& result, int exit_code, std::string_view word) {
  CAPTURE(result.error, word);
  CHECK(result.signal == 0);
  CHECK(result.exit_code == exit_code);
  CHECK(result.error.starts_with("clipper: "));
  CHECK(result.error.find('\n') + 1 == result.error.size());
  CHECK(result.error.find(word) != std::string::npos);
}

/// Runs clipper in `directory`. Checks that it refuses and changes nothing there.
inline Result check_refused_untouched(
    const TemporaryDirectory& directory, const Words& arguments, int exit_code, std::string_view word,
    const std::function<void()>& prepare = [] {}, std::string_view input = "") {
  CAPTURE(arguments);
  const auto before = directory.snapshot();
  Result result = run_clipper(arguments, {directory.path(), prepare}, input);
  check_refused(result, exit_code, word);
  CHECK(directory.snapshot() == before);
  return result;
}

}  // namespace clipper::testing
