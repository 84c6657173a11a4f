#include <sys/resource.h>

#include <csignal>
#include <system_error>

#include "cli/clipper.hpp"
#include "cli/no_unnamed_files.hpp"

namespace clipper::testing::signal_test {
namespace {

const std::vector<float> kElements = scattered_floats(600'000);
const std::string kInput = float32_file(kElements);
const std::string kOutput = float32_file(clipped(kElements, 0, 6));

/// Runs clipper until it has created the output; clipper then waits for the rest of its input.
class Waiting : public Process {
 public:
  explicit Waiting(
      const WorkingDirectory& directory, const std::function<void()>& prepare = [] {})
      : Process(clipper_words({"--min", "0", "--max", "6", "-", "out.npy"}), {directory.path(), prepare}) {
    write(std::string_view(kInput).substr(0, kGiven));
    wait_until([&] { return has_begun(directory); });
  }

  /// Whether clipper has created its output, which has a temporary name or no name.
  [[nodiscard]] bool has_begun(const WorkingDirectory& directory) const {
    if (directory.entries().size() == 2) return true;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid()), gone)) {
      const std::string file = std::filesystem::read_symlink(entry.path(), gone);
      if (file.starts_with(directory / "#")) return true;
    }
    return false;
  }

  Result finish_input() { return finish(std::string_view(kInput).substr(kGiven)); }

 private:
  static constexpr std::size_t kGiven = 1000;
};

/// The signals whose default action ends the process, without SIGKILL, which cannot be handled, SIGXFSZ,
/// which clipper ignores, and 32 and 33, which belong to libc.
std::vector<int> ending_signals() {
  std::vector<int> signals{SIGHUP,  SIGINT,  SIGQUIT, SIGILL,    SIGTRAP, SIGABRT, SIGBUS,
                           SIGFPE,  SIGUSR1, SIGSEGV, SIGUSR2,   SIGPIPE, SIGALRM, SIGTERM,
                           SIGXCPU, SIGPROF, SIGIO,   SIGVTALRM, SIGPWR,  SIGSYS,  SIGSTKFLT};
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) signals.push_back(signal);
  return signals;
}

/// Prevents core files. For Settings::prepare.
void without_core_file() {
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_CORE, &none) != 0) ::_exit(125);
}

/// Fills the pipe. For Settings::prepare.
void fill_standard_output() {
  const int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
  const std::array<char, 4096> text{};
  if (::fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK) != 0) ::_exit(125);
  while (::write(STDOUT_FILENO, text.data(), text.size()) > 0) {
  }
  if (::fcntl(STDOUT_FILENO, F_SETFL, flags) != 0) ::_exit(125);
}

std::size_t count_entries(const std::string& directory) {
  std::error_code missing;
  const auto entries = std::filesystem::directory_iterator(directory, missing);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

/// A FIFO that is open for writing.
class Fifo {
 public:
  explicit Fifo(const std::string& path) {
    make_fifo(path);
    end_ = Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));  // O_WRONLY would wait for a reader
    REQUIRE(end_.get() >= 0);
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t put = ::write(end_.get(), bytes.data(), bytes.size());
      REQUIRE(put > 0);
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
  }

  void finish(std::string_view bytes) {
    write(bytes);
    end_ = Descriptor();
  }

 private:
  Descriptor end_;
};

}  // namespace

TEST_CASE("every ending signal ends clipper, keeps the old file and leaves no other file") {
  for (const int signal : ending_signals()) {
    for (const bool named : {false, true}) {
      CAPTURE(signal, named);
      const WorkingDirectory directory{{"out.npy", "old"}};
      const auto before = directory.snapshot();
      Waiting process(directory, [=] {
        without_core_file();
        if (named) be_without_unnamed_files();
      });
      CHECK(directory.entries().size() == (named || !has_proc() ? 2 : 1));
      process.send(signal);
      process.wait_for_output_or_end();  // before finish() ends its input, which would be an error
      const Result result = process.finish();
      CHECK(result.signal == signal);
      CHECK(result.error.empty());
      CHECK(directory.snapshot() == before);
    }
  }
}

TEST_CASE("clipper does not hang if two signals arrive at the same time") {
  const std::vector<int> signals = ending_signals();
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const int first = signals[i];
    const int second = signals[(i + 1) % signals.size()];
    CAPTURE(first, second);
    const WorkingDirectory directory{{"out.npy", "old"}};
    Waiting process(directory, [] {
      without_core_file();
      be_without_unnamed_files();
    });
    process.stop();  // both signals are pending when the process continues
    process.send(first);
    process.send(second);
    process.send(SIGCONT);
    process.wait_for_output_or_end();
    const Result result = process.finish();
    const bool ended_by_one = result.signal == first || result.signal == second;
    CHECK(ended_by_one);
    CHECK(directory.entries() == Words{"out.npy"});
  }
}

TEST_CASE("SIGPIPE of one file's report leaves no part of another file's output") {
  const WorkingDirectory directory;
  Fifo waits(directory / "waits.npy");
  Fifo ends(directory / "ends.npy");
  Process process(clipper_words({"--min", "0", "--max", "6", "--threads", "2", "--json", "--output-dir",
                                 "out", "waits.npy", "ends.npy"}),
                  {directory.path(), be_without_unnamed_files});
  waits.write(kInput.substr(0, 1000));
  ends.write(kInput.substr(0, 1000));
  wait_until([&] { return count_entries(directory / "out") == 2; });
  process.close_output();
  ends.finish(kInput.substr(1000));
  const Result result = process.finish();
  CHECK(result.signal == SIGPIPE);
  CHECK(result.error == "clipper: out/ends.npy: is in place; ended by a signal\n");
  CHECK(count_entries(directory / "out") == 1);
  CHECK((directory.read("out/ends.npy") == kOutput));
}

TEST_CASE("a signal that ends a run says which files are done: by --json, the closing count and a line") {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGABRT, SIGSEGV, SIGBUS}) {
    CAPTURE(signal);
    const WorkingDirectory directory;
    Fifo waits(directory / "waits.npy");
    Fifo ends(directory / "ends.npy");
    Process process(clipper_words({"--min", "0", "--max", "6", "--threads", "2", "--json", "--output-dir",
                                   "out", "waits.npy", "ends.npy"}),
                    {directory.path(), without_core_file});
    waits.write(kInput.substr(0, 1000));
    ends.finish(kInput);
    process.wait_for_output_or_end();
    process.send(signal);
    const Result result = process.finish();
    CHECK(result.signal == signal);
    CHECK(result.output.starts_with(
        R"({"object":"clip","version":1,"input":"ends.npy","output":"out/ends.npy","status":0,)"));
    CHECK(result.output.ends_with(fmt::format(
        "}}\n{{\"object\":\"clip_summary\",\"version\":1,\"status\":{},\"files\":1,\"ok\":1,\"failed\":0}}\n",
        128 + signal)));
    CHECK(result.error == "clipper: out/ends.npy: is in place; ended by a signal\n");
  }
}

TEST_CASE("a signal that ends --update-golden says how many golden files of all are in place") {
  const std::string header = npy_file("<f4", "False", "(25000000000,)", "");  // takes longer than the signal
  const WorkingDirectory directory{{"a.npy", kInput}, {"b.npy", kInput}, {"huge.npy", header}};
  std::filesystem::resize_file(directory / "huge.npy", header.size() + 100'000'000'000);
  std::filesystem::create_directory(directory / "golden");
  Process process(clipper_words({"--min", "0", "--max", "6", "--update-golden", "--verify", "golden", "a.npy",
                                 "b.npy", "huge.npy"}),
                  {directory.path(), without_core_file});
  wait_until([&] { return count_entries(directory / "golden") == 2; });
  process.send(SIGTERM);
  const Result result = process.finish();
  CHECK(result.signal == SIGTERM);
  CHECK(result.error.ends_with("clipper: 2 of 3 files are in place; ended by a signal\n"));
}

TEST_CASE("a report that nobody reads does not hold a signal, and a line says what is in place") {
  for (const int signal : {SIGTERM, SIGINT}) {
    CAPTURE(signal);
    const WorkingDirectory directory{{"x.npy", kInput}};
    Process process(clipper_words({"--min", "0", "--max", "6", "--in-place", "--json", "x.npy"}),
                    {directory.path(), fill_standard_output});
    wait_until([&] { return directory.read("x.npy") == kOutput; });
    process.send(signal);
    siginfo_t ended{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(process.pid()), &ended, WEXITED | WNOWAIT) == 0);
    const Result result = process.finish();
    CHECK(result.signal == signal);
    CHECK(result.error == "clipper: x.npy: is in place; ended by a signal\n");
    CHECK(directory.entries() == Words{"x.npy"});
  }
}

TEST_CASE("a signal that is ignored at the start stays ignored") {
  for (const int signal : {SIGHUP, SIGINT}) {
    CAPTURE(signal);
    const WorkingDirectory directory{{"out.npy", "old"}};
    Waiting process(directory, [=] { std::signal(signal, SIG_IGN); });
    process.send(signal);
    check_done(process.finish_input());
    CHECK((directory.read("out.npy") == kOutput));
    CHECK(directory.entries() == Words{"out.npy"});
  }
}

TEST_CASE("SIGSTOP and SIGCONT do not change the result") {
  const WorkingDirectory directory{{"out.npy", "old"}};
  Waiting process(directory);
  process.stop();
  process.send(SIGCONT);
  check_done(process.finish_input());
  CHECK((directory.read("out.npy") == kOutput));
}

}  // namespace clipper::testing::signal_test
