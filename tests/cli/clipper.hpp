#pragma once

#include "cli/json_record.hpp"
#include "support/files.hpp"
#include "support/lines.hpp"
#include "support/paths.hpp"
#include "support/proc.hpp"
#include "support/tensors.hpp"

/// Runs clipper as its users do.
namespace clipper::testing {

using Words = std::vector<std::string>;

inline Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline Words clipper_words(const Words& arguments) {
  return joined({clipper_binary()}, arguments);
}

/// The bounds that most tests clip to, followed by `more`.
inline Words clip(const Words& more) {
  return joined({"--min", "0", "--max", "6"}, more);
}

/// Ends a test that wants of clipper what Windows or wine 8 lacks.
inline void leave_out(const Words& arguments, std::string_view printed) {
  if (contains(printed, "keeps the names of open files")) needs_posix("to replace an open file");
  if (contains(printed, " is not available on Windows")) needs_posix("an option that Windows refuses");
  for (const std::string& argument : arguments)
    if (contains(argument, "/dev/") || contains(argument, "/proc/")) needs_posix(argument);
}

inline Result run_clipper(const Words& arguments, const Process::Settings& settings = {},
                          std::string_view input = "") {
  const Words words = clipper_words(arguments);
  Result result = Process(words, settings).finish(input);
  if (os::kIsWindows) leave_out(arguments, result.error + result.output);
  record_json(words, result);
  return result;
}

/// Runs a shell script in which "$@" is clipper with these arguments.
inline Result run_in_shell(const std::string& script, const Words& arguments,
                           const Process::Settings& settings = {}) {
  const Words program = clipper_words(arguments);
  Result result = Process(joined({"sh", "-c", script, "sh"}, program), settings).finish();
  record_json(program, result);
  return result;
}

inline void check_done(const Result& result) {
  CHECK(result.signal == 0);
  CHECK(result.exit_code == 0);
  CHECK(result.error.empty());
}

/// Checks that clipper exited with this code and printed one line with `word` to standard error, and after it
/// at most the line that counts several inputs.
inline void check_refused(const Result& result, int exit_code, std::string_view word) {
  CAPTURE(result.error, word);
  CHECK(result.signal == 0);
  CHECK(result.exit_code == exit_code);
  CHECK(result.error.starts_with("clipper: "));
  const std::string rest = result.error.substr(result.error.find('\n') + 1);
  CHECK((rest.empty() || contains(rest, " files: ")));
  CHECK(std::ranges::count(rest, '\n') <= 1);
  CHECK(contains(result.error, word));
}

/// A directory in which clipper runs.
class WorkingDirectory : public TemporaryDirectory {
 public:
  using TemporaryDirectory::TemporaryDirectory;
  using Prepare = std::function<void()>;  ///< see Process::Settings

  [[nodiscard]] Result run(const Words& words, const Prepare& prepare, std::string_view input = "") const {
    return run_clipper(words, {path(), prepare}, input);
  }
  [[nodiscard]] Result run(const Words& words, std::string_view input = "") const {
    return run(words, nullptr, input);
  }
  [[nodiscard]] Result run_in_shell(const std::string& script, const Words& words) const {
    return testing::run_in_shell(script, words, {path()});
  }

  void done(const Words& words, const Prepare& prepare, std::string_view input = "") const {
    CAPTURE(words);
    check_done(run(words, prepare, input));
  }
  void done(const Words& words, std::string_view input = "") const { done(words, nullptr, input); }

  /// Checks that clipper refuses and changes nothing in the directory.
  Result refused(const Words& words, int exit_code, std::string_view word, const Prepare& prepare,
                 std::string_view input = "") const {
    CAPTURE(words);
    const auto before = snapshot();
    Result result = run(words, prepare, input);
    check_refused(result, exit_code, word);
    CHECK(snapshot() == before);
    return result;
  }
  Result refused(const Words& words, int exit_code, std::string_view word,
                 std::string_view input = "") const {
    return refused(words, exit_code, word, nullptr, input);
  }
};

}  // namespace clipper::testing
