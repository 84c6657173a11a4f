#include "console/progress.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "cli/clipper.hpp"
#include "cli/terminal.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

const std::string kErase = "\r\x1b[K";
const std::string kInput = float32_file(std::vector<float>(2UL << 20U, 1));  // 8 MiB

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

}  // namespace

TEST_CASE("the progress as text") {
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
  const auto start = Clock::now();
  Process process(pipe_into_file({}), {directory.path(), terminal.as(STDERR_FILENO)});
  process.write(kInput.substr(0, kInput.size() / 2 + 1000));
  wait_until([&] { return terminal.written().find("of 8.0 MiB") != std::string::npos; });
  wait_until([&] { return count(terminal.written(), kErase) > 3; });
  const Result result = process.finish(kInput.substr(kInput.size() / 2 + 1000));
  const std::chrono::duration<double> time = Clock::now() - start;
  CHECK(result.exit_code == 0);
  CHECK((read_file(directory / "out.npy") == kInput));
  const std::string written = terminal.written();
  CHECK(written.starts_with(kErase + "["));
  CHECK(written.ends_with(kErase));
  CHECK(static_cast<double>(count(written, kErase)) <= (time.count() - 0.4) * 10 + 2);
}

TEST_CASE("a signal removes the progress") {
  if (!Terminal::exists()) return;
  const TemporaryDirectory directory;
  Terminal terminal;
  Process process(pipe_into_file({}), {directory.path(), terminal.as(STDERR_FILENO)});
  process.write(kInput.substr(0, 5'000'000));
  wait_until([&] { return terminal.written().find('%') != std::string::npos; });
  process.send(SIGTERM);
  CHECK(process.finish().signal == SIGTERM);
  CHECK(terminal.written().ends_with(kErase));
  CHECK(directory.entries().empty());
}

TEST_CASE("--progress shows it in a file, too") {
  const TemporaryDirectory directory;
  const std::string errors = directory / "errors";
  write_file(errors, "");
  const auto to_file = [&] { ::dup2(::open(errors.c_str(), O_WRONLY), STDERR_FILENO); };
  Process process(pipe_into_file({"--progress"}), {directory.path(), to_file});
  process.write(kInput.substr(0, 5'000'000));
  wait_until([&] { return read_file(errors).find("of 8.0 MiB") != std::string::npos; });
  CHECK(process.finish(kInput.substr(5'000'000)).exit_code == 0);
}

TEST_CASE("no progress where nobody looks, and where it is not wanted") {
  const TemporaryDirectory directory;
  const auto after_a_second = [&](const Words& options, const std::function<void()>& prepare) {
    Process process(pipe_into_file(options), {directory.path(), prepare});
    process.write(kInput.substr(0, 5'000'000));
    std::this_thread::sleep_for(1s);
    const Result result = process.finish(kInput.substr(5'000'000));
    CHECK(result.exit_code == 0);
    return result.error;
  };
  CHECK(after_a_second({}, [] {}).empty());
  if (!Terminal::exists()) return;
  for (const char* option : {"--no-progress", "-q"}) {
    Terminal terminal;
    static_cast<void>(after_a_second({option}, terminal.as(STDERR_FILENO)));
    CHECK(terminal.written().empty());
  }
  Terminal dumb;
  static_cast<void>(after_a_second({}, [as = dumb.as(STDERR_FILENO)] {
    as();
    ::setenv("TERM", "dumb", 1);
  }));
  CHECK(dumb.written().empty());
}

}  // namespace clipper::testing
