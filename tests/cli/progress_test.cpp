#include "console/progress.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/clipper.hpp"
#include "cli/terminal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

const std::string kErase = "\r\x1b[K";
const std::string kInput = float32_file(std::vector<float>(2UL << 20U, 1));  // 8 MiB
constexpr std::size_t kGiven = 5'000'000;  // of it, before the progress is looked at

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Words pipe_into_file(const Words& more) {
  Words words{"--min", "0"};
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), {"-", "out.npy"});
  return clipper_words(words);
}

/// A clipper that shows its progress in a file, and waits for more of its input.
class InFile {
 public:
  explicit InFile(const TemporaryDirectory& directory)
      : errors_((write_file(directory / "errors", ""), directory / "errors")),
        process_(pipe_into_file({"--progress"}),
                 {directory.path(), [&] { ::dup2(::open(errors_.c_str(), O_WRONLY), STDERR_FILENO); }}) {
    process_.write(kInput.substr(0, kGiven));
  }

  void wait_for_progress() const {
    wait_until([&] { return read_file(errors_).find("of 8.0 MiB") != std::string::npos; });
  }

  void end() { CHECK(process_.finish(kInput.substr(kGiven)).exit_code == 0); }

 private:
  std::string errors_;
  Process process_;
};

}  // namespace

TEST_CASE("the progress says the share, the rate and the time left, cut to the columns") {
  const std::uint64_t gib = 1UL << 30U;
  CHECK(progress_text({gib, 4 * gib, 0, 1}, 2, 200) ==
        "[#####               ]  25 %  1.0 of 4.0 GiB  512 MiB/s  6 s left");
  CHECK(progress_text({gib, 4 * gib, 3, 10'000}, 200, 200) ==
        "[#####               ]  25 %  3 of 10000 files  1.0 of 4.0 GiB  5 MiB/s  10:00 left");
  CHECK(progress_text({4 * gib, 4 * gib, 1, 1}, 2, 200) ==
        "[####################] 100 %  4.0 of 4.0 GiB  2 GiB/s  0 s left");
  CHECK(progress_text({5 * gib, 4 * gib, 1, 1}, 2, 30) == "[####################] 100 %  ");
  CHECK(progress_text({0, 100, 0, 1}, 0.5, 200) == "[                    ]   0 %  0.0 of 100.0 B  0 B/s");
  CHECK(progress_text({}, 0, 200) == "[                    ]   0 %  0.0 of 0.0 B  0 B/s");
  CHECK(progress_text({1, 10'000, 0, 1}, 1, 200).ends_with("2:46:39 left"));
}

TEST_CASE("a long run shows its progress on a terminal, and removes it") {
  if (!Terminal::exists()) return;
  const TemporaryDirectory directory;
  Terminal terminal;
  Process process(pipe_into_file({}), {directory.path(), terminal.as(STDERR_FILENO)});
  process.write(kInput.substr(0, kGiven));
  wait_until([&] { return terminal.written().find("of 8.0 MiB") != std::string::npos; });
  wait_until([&] { return count(terminal.written(), kErase) > 3; });
  const Result result = process.finish(kInput.substr(kGiven));
  CHECK(result.exit_code == 0);
  CHECK((read_file(directory / "out.npy") == kInput));
  const std::string written = terminal.written();
  CHECK(written.starts_with(kErase + "["));
  CHECK(written.ends_with(kErase));
}

TEST_CASE("a signal removes the progress") {
  if (!Terminal::exists()) return;
  const TemporaryDirectory directory;
  Terminal terminal;
  Process process(pipe_into_file({}), {directory.path(), terminal.as(STDERR_FILENO)});
  process.write(kInput.substr(0, kGiven));
  wait_until([&] { return terminal.written().find('%') != std::string::npos; });
  process.send(SIGTERM);
  CHECK(process.finish().signal == SIGTERM);
  CHECK(terminal.written().ends_with(kErase));
  CHECK(directory.entries().empty());
}

TEST_CASE("--progress shows it in a file, too") {
  const TemporaryDirectory directory;
  InFile shown(directory);
  shown.wait_for_progress();
  shown.end();
}

TEST_CASE("no progress where nobody looks, and where it is not wanted") {
  const TemporaryDirectory directory;
  std::vector<std::unique_ptr<Terminal>> terminals;
  std::vector<std::unique_ptr<Process>> processes;
  const auto begin = [&](const Words& options, const std::function<void()>& prepare) {
    const std::string place = directory / std::to_string(processes.size());
    std::filesystem::create_directory(place);
    processes.push_back(
        std::make_unique<Process>(pipe_into_file(options), Process::Settings{place, prepare}));
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
  InFile shown(directory);  // begins later, and shows it when the others would have shown it
  shown.wait_for_progress();
  for (const auto& process : processes) check_done(process->finish(kInput.substr(kGiven)));
  for (const auto& terminal : terminals) CHECK(terminal->written().empty());
  shown.end();
}

}  // namespace clipper::testing
