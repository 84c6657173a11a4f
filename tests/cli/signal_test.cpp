#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "clipper.hpp"
#include "no_unnamed_files.hpp"
#include "tensors.hpp"

namespace clipper::testing {
namespace {

const std::vector<float> kElements = scattered_floats(600'000);
const std::string kInput = float32_file(kElements);
const std::string kOutput = float32_file(clipped(kElements, 0, 6));

/// A clipper that has begun to write out.npy and waits for more of its input.
class Waiting : public Process {
 public:
  explicit Waiting(
      const TemporaryDirectory& directory, const std::function<void()>& prepare = [] {})
      : Process(clipper_words({"--min", "0", "--max", "6", "-", "out.npy"}), {directory.path(), prepare}) {
    write(std::string_view(kInput).substr(0, kGiven));
    wait_until([&] { return has_begun(directory); });
  }

  /// Its output is there, under another name than out.npy or without one.
  [[nodiscard]] bool has_begun(const TemporaryDirectory& directory) const {
    if (directory.entries().size() == 2) return true;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid()))) {
      std::error_code gone;
      const std::string file = std::filesystem::read_symlink(entry.path(), gone);
      if (file.starts_with(directory / "#")) return true;
    }
    return false;
  }

  Result finish_input() { return finish(std::string_view(kInput).substr(kGiven)); }

 private:
  static constexpr std::size_t kGiven = 1000;
};

}  // namespace

TEST_CASE("a signal ends it, the old file stays and nothing else is left") {
  for (const bool named : {false, true}) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU}) {
      CAPTURE(signal, named);
      const TemporaryDirectory directory;
      write_file(directory / "out.npy", "old");
      const auto before = directory.snapshot();
      Waiting process(directory, [=] {
        if (named) be_without_unnamed_files();
      });
      CHECK(directory.entries().size() == (named ? 2 : 1));
      process.send(signal);
      const Result result = process.finish();
      CHECK(result.signal == signal);
      CHECK(result.error.empty());
      CHECK(directory.snapshot() == before);
    }
  }
}

TEST_CASE("a signal that is ignored from the start stays ignored") {
  for (const int signal : {SIGHUP, SIGINT}) {
    CAPTURE(signal);
    const TemporaryDirectory directory;
    write_file(directory / "out.npy", "old");
    Waiting process(directory, [=] { std::signal(signal, SIG_IGN); });
    process.send(signal);
    check_done(process.finish_input());
    CHECK((read_file(directory / "out.npy") == kOutput));
    CHECK(directory.entries() == Words{"out.npy"});
  }
}

TEST_CASE("stopping and going on loses nothing") {
  const TemporaryDirectory directory;
  write_file(directory / "out.npy", "old");
  Waiting process(directory);
  process.send(SIGSTOP);
  process.send(SIGCONT);
  check_done(process.finish_input());
  CHECK((read_file(directory / "out.npy") == kOutput));
}

TEST_CASE("in place, a signal at any moment leaves the file entirely old or entirely new") {
  using namespace std::chrono_literals;
  const TemporaryDirectory directory;
  int killed = 0;
  for (int i = 0; i < 48; ++i) {
    const int signal = i % 3 == 0 ? SIGKILL : SIGTERM;
    const bool named = i >= 24;
    CAPTURE(i);
    write_file(directory / "x.npy", kInput);
    Process process(clipper_words({"-i", "--min", "0", "--max", "6", "--threads", "2", "x.npy"}),
                    {directory.path(), [=] {
                       if (named) be_without_unnamed_files();
                     }});
    std::this_thread::sleep_for(i % 24 * 200us);
    process.send(signal);
    const Result result = process.finish();
    if (result.signal == signal) ++killed;
    const bool ended = result.signal == signal || result.exit_code == 0;
    CHECK(ended);
    const std::string file = read_file(directory / "x.npy");
    const bool old_or_new = file == kInput || file == kOutput;
    CHECK(old_or_new);
    if (result.exit_code == 0) CHECK((file == kOutput));
    if (signal == SIGTERM) CHECK(directory.entries() == Words{"x.npy"});
    for (const std::string& name : directory.entries())
      if (name != "x.npy") std::filesystem::remove(directory / name);
  }
  CHECK(killed > 0);
}

}  // namespace clipper::testing
