#include "cli/clipper.hpp"
#include "cli/terminal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

const std::string kFail = "\x1b[1;31mFAIL\x1b[0m ";
const std::string kOk = "\x1b[32mok\x1b[0m ";
const std::string kError = "\x1b[1;31mclipper:\x1b[0m ";
const std::string kWarning = "clipper: \x1b[1;33mwarning:\x1b[0m ";
const std::string kBound = "\x1b[36m---";

bool has_color(const std::string& text) {
  return text.find('\x1b') != std::string::npos;
}

void write_files(const WorkingDirectory& directory) {
  directory.write("a.npy", float32_file({0, 1, 2, 9}));
  directory.write("e.npy", float32_file({0, 1, 2, 8}));
}

using Environment = std::vector<std::pair<const char*, const char*>>;

/// What clipper writes to `stream`, a terminal. Variables whose value is nullptr are unset.
std::string on_terminal(const WorkingDirectory& directory, int stream, const Words& words,
                        const Environment& environment = {}) {
  Terminal terminal;
  const auto prepare = [&] {
    terminal.as(stream)();
    for (const auto& [name, value] : environment)
      value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  };
  const Result result = directory.run(words, prepare);
  CHECK_FALSE(has_color(result.output + result.error));  // the other stream is a pipe
  return terminal.written();
}

}  // namespace

TEST_CASE("output to a terminal is colored, unless the environment or --color forbids it") {
  if (!Terminal::exists()) return;
  const WorkingDirectory directory;
  write_files(directory);
  const auto colors = [&](const Words& options, const Environment& environment) {
    Words words = joined({"compare", "a.npy", "e.npy"}, options);
    const std::string text = on_terminal(directory, STDOUT_FILENO, words, environment);
    CAPTURE(words, text);
    CHECK(text.starts_with(has_color(text) ? kFail + "a.npy: " : "FAIL a.npy: "));
    return has_color(text);
  };
  CHECK(colors({}, {}));
  CHECK(colors({"--color", "auto"}, {}));
  CHECK(colors({"--color=always"}, {}));
  CHECK_FALSE(colors({"--color", "never"}, {}));
  CHECK_FALSE(colors({}, {{"NO_COLOR", "1"}}));
  CHECK_FALSE(colors({"--color", "auto"}, {{"NO_COLOR", "0"}}));
  CHECK(colors({}, {{"NO_COLOR", ""}}));
  CHECK(colors({"--color", "always"}, {{"NO_COLOR", "1"}}));
  CHECK_FALSE(colors({}, {{"TERM", "dumb"}}));
  CHECK_FALSE(colors({}, {{"TERM", nullptr}}));
  CHECK(colors({"--color", "always"}, {{"TERM", nullptr}}));
}

TEST_CASE("color is decided for standard output and standard error separately") {
  if (!Terminal::exists()) return;
  const WorkingDirectory directory;
  write_files(directory);
  const Words fails{"compare", "a.npy", "missing.npy"};
  CHECK(on_terminal(directory, STDERR_FILENO, fails).starts_with(kError + "missing.npy: "));
  CHECK(on_terminal(directory, STDOUT_FILENO, fails).empty());
  CHECK_FALSE(on_terminal(directory, STDERR_FILENO, {"compare", "a.npy", "e.npy"}).starts_with(kFail));
}

TEST_CASE("error lines obey --color after the command line is parsed") {
  if (!Terminal::exists()) return;
  const WorkingDirectory directory;
  write_files(directory);
  const auto line = [&](const Words& words) { return on_terminal(directory, STDERR_FILENO, words); };
  CHECK(line({"--unknown"}).starts_with(kError));
  CHECK(line({"--min", "x", "a.npy", "out.npy"}).starts_with(kError));
  CHECK(line({"--color", "never", "--min", "x", "a.npy", "out.npy"}).starts_with("clipper: "));
  CHECK(line({"--color", "never", "--min", "0", "missing", "out.npy"}).starts_with("clipper: "));
  CHECK(line({"info", "--color", "never", "missing"}).starts_with("clipper: "));
}

TEST_CASE("--color always colors output to files and pipes") {
  const WorkingDirectory directory;
  write_files(directory);
  const auto run = [&](Words words) {
    words.insert(words.begin() + (words[0].starts_with("-") ? 0 : 1), {"--color", "always"});
    return directory.run(words);
  };
  CHECK(run({"compare", "a.npy", "e.npy"}).output.starts_with(kFail + "a.npy: 1 of 4 differ"));
  CHECK(run({"compare", "-v", "a.npy", "a.npy"}).output == kOk + "a.npy\n");
  CHECK(run({"--max", "8", "--verify", "a.npy", "a.npy"}).output.starts_with(kFail));
  CHECK(run({"--max", "8", "-v", "--verify", "e.npy", "a.npy"}).output == kOk + "a.npy\n");
  CHECK(run({"--max", "x", "a.npy", "b.npy"}).error.starts_with(kError + "--max"));
  CHECK(run({"info", "missing", "a.npy"}).error.starts_with(kError + "missing: "));
  directory.write("i.npy", npy_file("<i2", "False", "(1,)", std::string(2, '\0')));
  CHECK(run({"--min", "1.5", "i.npy", "out.npy"}).error.starts_with(kWarning + "--min 1.5"));

  const std::string text = run({"info", "--min", "1", "--max", "2", "a.npy"}).output;
  CAPTURE(text);
  CHECK(contains(text, "  " + kBound));
  CHECK(contains(text, "- min 1\x1b[0m\n"));
  CHECK(contains(text, "- max 2\x1b[0m\n"));
}

TEST_CASE("JSON has no color") {
  const WorkingDirectory directory;
  write_files(directory);
  for (const Words& words : {Words{"compare", "--json", "a.npy", "e.npy"}, Words{"info", "--json", "a.npy"},
                             Words{"info", "--json", "--min", "1", "a.npy"}, Words{"info", "--json", "x.npy"},
                             Words{"--max", "8", "--json", "--verify", "a.npy", "a.npy"},
                             Words{"--max", "8", "--json", "a.npy", "out.npy"}}) {
    Words colored = words;
    colored.insert(colored.end(), {"--color", "always"});
    const Result result = directory.run(colored);
    CAPTURE(colored, result.output);
    CHECK(result.output.starts_with('{'));
    CHECK_FALSE(has_color(result.output));
  }
}

TEST_CASE("color codes in file names are escaped in colored output, too") {
  const WorkingDirectory directory;
  const std::string name = "\x1b[32m.npy";
  directory.write(name, float32_file({1}));
  write_files(directory);
  const Result differ = directory.run({"compare", "--color", "always", name, "a.npy"});
  CHECK(differ.output.starts_with(kFail + "\\x1b[32m.npy: "));
  const Result missing = directory.run({"info", "--color", "always", name + "x"});
  CHECK(missing.error.starts_with(kError + "\\x1b[32m.npyx: "));
}

TEST_CASE("--color refuses unknown values") {
  const WorkingDirectory directory;
  write_files(directory);
  for (const Words& words :
       {Words{"compare", "--color", "yes", "a.npy", "e.npy"}, Words{"info", "--color=Always", "a.npy"},
        Words{"--color", "", "--max", "6", "a.npy", "out.npy"}})
    directory.refused(words, 2, "--color");
}

}  // namespace clipper::testing
