#include "cli/terminal.hpp"

#include <csignal>

#include "cli/clipper.hpp"

/// Colors and progress, which only a terminal shows.
namespace clipper::testing::terminal_test {
namespace {

const std::string kFail = "\x1b[1;31mFAIL\x1b[0m ";
const std::string kError = "\x1b[1;31mclipper:\x1b[0m ";

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

const std::string kErase = "\r\x1b[K";
const std::string kInput = float32_file(std::vector<float>(2UL << 20U, 1));  // 8 MiB
// The bytes of kInput that clipper gets at first: 4.5 MiB in whole chunks, whatever the default chunk size
// is.
constexpr std::size_t kGiven = 4'800'000;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// The texts that the terminal shows between erasures of the line.
std::vector<std::string> shown_in(std::string written) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; (at = written.find(kErase)) != std::string::npos;) {
    lines.push_back(written.substr(0, at));
    written.erase(0, at + kErase.size());
  }
  lines.push_back(written);
  return lines;
}

bool is_plain_text(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}

/// What a terminal of this width shows, without spaces and line ends.
std::string screen_of(const std::string& written, std::size_t columns) {
  std::vector<std::string> rows(1);
  std::size_t column = 0;
  for (std::size_t at = 0; at < written.size(); ++at) {
    if (written.substr(at, 3) == "\x1b[K") {
      rows.back().resize(std::min(column, rows.back().size()));
      at += 2;
    } else if (written[at] == '\r') {
      column = 0;
    } else {
      if (column == columns) {
        rows.emplace_back();
        column = 0;
      }
      rows.back().resize(std::max(rows.back().size(), ++column), ' ');
      rows.back()[column - 1] = written[at];
    }
  }
  std::string shown;
  for (const std::string& row : rows) shown += row;
  std::erase_if(shown, [](char c) { return c == ' ' || c == '\n'; });
  return shown;
}

Words pipe_into_file(const Words& more) {
  Words words = joined({"--min", "0"}, more);
  words.insert(words.end(), {"-", "out.npy"});
  return words;
}

/// Runs clipper with standard error in a file; clipper waits for the rest of its input.
class InFile {
 public:
  InFile(const WorkingDirectory& directory, const Words& words)
      : errors_((directory.write("errors", ""), directory / "errors")),
        process_(clipper_words(words),
                 {directory.path(), [&] { ::dup2(::open(errors_.c_str(), O_WRONLY), STDERR_FILENO); }}) {
    process_.write(kInput.substr(0, kGiven));
  }

  void wait_for_progress() const {
    wait_until([&] { return read_file(errors_).find('\n') != std::string::npos; });
  }

  /// Returns what was logged.
  std::string end() {
    CHECK(process_.finish(kInput.substr(kGiven)).exit_code == 0);
    return read_file(errors_);
  }

 private:
  std::string errors_;
  Process process_;
};

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

TEST_CASE("a long run shows its progress on a terminal and erases it at the end") {
  if (!Terminal::exists()) return;
  const WorkingDirectory directory;
  Terminal terminal;
  Process process(clipper_words(pipe_into_file({})), {directory.path(), terminal.as(STDERR_FILENO)});
  process.write(kInput.substr(0, kGiven));
  wait_until([&] { return terminal.written().find("of 8.0 MiB") != std::string::npos; });
  wait_until([&] { return count(terminal.written(), kErase) > 3; });
  const Result result = process.finish(kInput.substr(kGiven));
  CHECK(result.exit_code == 0);
  CHECK((directory.read("out.npy") == kInput));
  const std::string written = terminal.written();
  CHECK(written.starts_with(kErase));
  CHECK(contains(written, kErase + "["));
  CHECK(written.ends_with(kErase));
}

TEST_CASE("a signal erases the progress") {
  if (!Terminal::exists()) return;
  const WorkingDirectory directory;
  Terminal terminal;
  Process process(clipper_words(pipe_into_file({})), {directory.path(), terminal.as(STDERR_FILENO)});
  process.write(kInput.substr(0, kGiven));
  wait_until([&] { return terminal.written().find('%') != std::string::npos; });
  process.send(SIGTERM);
  process.wait_for_output_or_end();
  CHECK(process.finish().signal == SIGTERM);
  CHECK(terminal.written().ends_with(kErase));
  CHECK(directory.entries().empty());
}

TEST_CASE("a run of several inputs ends with its counts on a terminal") {
  if (!Terminal::exists()) return;
  const WorkingDirectory directory{{"a.npy", kInput}, {"b.npy", kInput}};
  Terminal terminal;
  Process process(clipper_words({"--max", "6", "--output-dir", "out", "a.npy", "b.npy"}),
                  {directory.path(), terminal.as(STDERR_FILENO)});
  process.wait_for_output_or_end();
  CHECK(process.finish().exit_code == 0);
  CHECK(contains(terminal.written(), "clipper: 2 files: 2 clipped; "));
  CHECK(contains(terminal.written(), "B/s"));
}

TEST_CASE("Ctrl-C leaves nothing of the progress on the screen, however wide it is") {
  if (!Terminal::exists()) return;
  for (const unsigned short columns : std::to_array<unsigned short>({8, 20, 33, 46, 60, 70, 80, 120})) {
    CAPTURE(columns);
    const WorkingDirectory directory;
    Terminal terminal;
    terminal.resize(columns);
    Process process(clipper_words(pipe_into_file({})), {directory.path(), [&] {
                                                          terminal.as(STDERR_FILENO)();
                                                          ::setsid();
                                                          ::ioctl(STDERR_FILENO, TIOCSCTTY, 0);
                                                        }});
    process.write(kInput.substr(0, kGiven));
    wait_until([&] { return terminal.written().find('%') != std::string::npos; });
    CHECK(contains(screen_of(terminal.written(), columns), "%"));
    terminal.type("\x03");
    process.wait_for_output_or_end();  // an end of its input before the signal would be an error
    CHECK(process.finish().signal == SIGINT);
    // Linux sends the signal before it shows ^C, which clipper then cannot erase.
    wait_until([&] { return contains(terminal.written(), "^C"); });
    const std::string screen = screen_of(terminal.written(), columns);
    CAPTURE(screen);
    CHECK((screen.empty() || screen == "^C"));
  }
}

TEST_CASE("the progress fits the terminal, also after a resize") {
  if (!Terminal::exists()) return;
  const WorkingDirectory directory;
  Terminal terminal;
  terminal.resize(70);
  Process process(clipper_words(pipe_into_file({})), {directory.path(), terminal.as(STDERR_FILENO)});
  process.write(kInput.substr(0, kGiven));
  const auto wait_for_length = [&](std::size_t least, std::size_t most) {
    wait_until([&] {
      const std::size_t length = shown_in(terminal.written()).back().size();
      return length >= least && length <= most;
    });
  };
  wait_for_length(60, 67);
  const std::size_t before = shown_in(terminal.written()).size();
  terminal.resize(40);
  wait_for_length(30, 37);
  terminal.resize(200);
  wait_for_length(80, 199);
  CHECK(process.finish(kInput.substr(kGiven)).exit_code == 0);
  const std::vector<std::string> lines = shown_in(terminal.written());
  for (std::size_t i = 0; i < before; ++i) CHECK(lines[i].size() <= 67);
}

TEST_CASE("info, compare and --verify show progress and print in its place") {
  if (!Terminal::exists()) return;
  const WorkingDirectory directory{{"small.npy", float32_file({1})}, {"big.npy", kInput}};
  const auto shows = [&](const Words& words, const std::string& facts) {
    CAPTURE(words);
    Terminal terminal;
    Process process(clipper_words(words), {directory.path(), [&] {
                                             terminal.as(STDERR_FILENO)();
                                             terminal.as(STDOUT_FILENO)();
                                           }});
    process.write(kInput.substr(0, kGiven));
    wait_until([&] { return terminal.written().find(facts) != std::string::npos; });
    CHECK(process.finish(kInput.substr(kGiven)).exit_code == 0);
    const std::vector<std::string> lines = shown_in(terminal.written());
    CHECK(lines.size() > 2);
    for (std::size_t i = 1; i < lines.size(); ++i)
      if (lines[i].find("of 8.0 MiB") != std::string::npos) CHECK_FALSE(contains(lines[i], "\n"));
    return lines.back();
  };
  CHECK(shows({"info", "--stats", "-"}, "4.5 of 8.0 MiB").starts_with("standard input\r\n"));
  shows({"info", "--max", "6", "small.npy", "-"}, "1 of 2 files  4.5 of 8.0 MiB");
  CHECK(contains(shows({"compare", "-v", "-", "big.npy"}, "4.5 of 8.0 MiB"), " -\r\n"));
  shows({"--min", "0", "--verify", "big.npy", "-"}, "4.5 of 8.0 MiB");
}

TEST_CASE("--progress writes plain lines to a file") {
  const WorkingDirectory directory{{"small.npy", float32_file({1})}, {"big.npy", kInput}};
  for (const Words& words : {pipe_into_file({"--progress"}), Words{"compare", "--progress", "-", "big.npy"},
                             Words{"info", "--stats", "--progress", "-", "small.npy"}}) {
    CAPTURE(words);
    InFile logged(directory, words);
    logged.wait_for_progress();
    const std::string log = logged.end();
    CAPTURE(log);
    CHECK(is_plain_text(log));
    CHECK(log.starts_with("clipper: "));
    const std::size_t last = log.rfind("\nclipper: 100 %  ");
    CHECK(last != std::string::npos);
    CHECK(log.find("8.0 of 8.0 MiB", last) != std::string::npos);
    CHECK(log.find("  in ", last) != std::string::npos);
    CHECK(log.ends_with(" s\n"));
  }
}

TEST_CASE("--progress writes plain lines to a dumb terminal") {
  if (!Terminal::exists()) return;
  const WorkingDirectory directory;
  Terminal terminal;
  Process process(clipper_words(pipe_into_file({"--progress"})), {directory.path(), [&] {
                                                                    terminal.as(STDERR_FILENO)();
                                                                    ::setenv("TERM", "dumb", 1);
                                                                  }});
  check_done(process.finish(kInput));
  CHECK(terminal.written().starts_with("clipper: "));
  CHECK_FALSE(contains(terminal.written(), "\x1b"));
}

TEST_CASE("no progress in files, on dumb terminals, with --no-progress and with -q") {
  const WorkingDirectory directory;
  std::vector<std::unique_ptr<Terminal>> terminals;
  std::vector<std::unique_ptr<Process>> processes;
  const auto begin = [&](const Words& options, const std::function<void()>& prepare) {
    const std::string place = directory / std::to_string(processes.size());
    std::filesystem::create_directory(place);
    processes.push_back(
        std::make_unique<Process>(clipper_words(pipe_into_file(options)), Process::Settings{place, prepare}));
    processes.back()->write(kInput.substr(0, kGiven));
  };
  begin({}, [] {});
  if (Terminal::exists()) {
    for (int i = 0; i < 3; ++i) terminals.push_back(std::make_unique<Terminal>());
    begin({"--no-progress"}, terminals[0]->as(STDERR_FILENO));
    begin({"-q"}, terminals[1]->as(STDERR_FILENO));
    begin({}, [as = terminals[2]->as(STDERR_FILENO)] {
      as();
      ::setenv("TERM", "dumb", 1);
    });
  }
  InFile shown(
      directory,
      pipe_into_file({"--progress"}));  // starts last: when it shows progress, all would have shown it
  shown.wait_for_progress();
  for (const auto& process : processes) check_done(process->finish(kInput.substr(kGiven)));
  for (const auto& terminal : terminals) CHECK(terminal->written().empty());
  shown.end();
}

TEST_CASE("the help is as wide as the terminal, from 40 to 100 columns") {
  if (!Terminal::exists()) return;
  const auto widest_description = [](unsigned short columns) {
    Terminal terminal;
    const auto prepare = [&] {
      terminal.as(STDOUT_FILENO)();
      const struct winsize size { 24, columns, 0, 0 };
      ::ioctl(STDOUT_FILENO, TIOCSWINSZ, &size);
    };
    CHECK(run_clipper({"info", "-h"}, {".", prepare}).exit_code == 0);
    std::istringstream description(terminal.written().substr(0, terminal.written().find("Usage: ")));
    std::size_t widest = 0;
    for (std::string line; std::getline(description, line);) widest = std::max(widest, line.find('\r'));
    return widest;
  };
  CHECK(widest_description(30) > 30);
  CHECK(widest_description(30) <= 40);
  CHECK(widest_description(60) <= 60);
  CHECK(widest_description(60) > 50);
  CHECK(widest_description(300) > 90);
  CHECK(widest_description(300) <= 100);
}

TEST_CASE("a terminal is refused as IN and OUT") {
  if (!Terminal::exists()) return;
  const WorkingDirectory directory{{"in.npy", float32_file({1})}};
  const Terminal terminal;
  directory.refused(clip({"-", "out.npy"}), 2, "terminal", terminal.as(STDIN_FILENO));
  directory.refused(clip({"in.npy", "-"}), 2, "terminal", terminal.as(STDOUT_FILENO));
  directory.refused(clip({"in.npy", terminal.path()}), 2, "terminal");
}

}  // namespace clipper::testing::terminal_test
