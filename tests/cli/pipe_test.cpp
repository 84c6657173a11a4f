#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "cli/clipper.hpp"
#include "cli/terminal.hpp"
#include "support/proc.hpp"
#include "support/skip.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
namespace {

const std::vector<float> kElements = scattered_floats(500'001);
const std::string kInput = float32_file(kElements);
const std::string kOutput = float32_file(clipped(kElements, 0, 6));

}  // namespace

TEST_CASE("clipper reads a pipe and writes a pipe") {
  for (const Words& arguments : {Words{"-", "-"}, Words{"--threads", "1", "-", "-"},
                                 Words{"--threads", "7", "--chunk-size", "4096", "-", "-"},
                                 Words{"/proc/self/fd/0", "/proc/self/fd/1"}}) {
    CAPTURE(arguments);
    if (!has_proc() && arguments.front().starts_with("/proc")) {
      skip_without("/proc");
      continue;
    }
    const Result result = run_clipper(clip(arguments), {}, kInput);
    check_done(result);
    CHECK((result.output == kOutput));
  }
}

TEST_CASE("clipper reads a file into a pipe and a pipe into a file") {
  const WorkingDirectory directory{{"in.npy", kInput}};
  const Result result = directory.run(clip({"in.npy", "-"}));
  check_done(result);
  CHECK((result.output == kOutput));

  directory.done(clip({"-", "out.npy"}), kInput);
  CHECK((directory.read("out.npy") == kOutput));
  CHECK(directory.entries() == Words{"in.npy", "out.npy"});
}

TEST_CASE("standard input is read from its current offset") {
  const WorkingDirectory directory{{"in.npy", kInput}};
  check_done(directory.run_in_shell("\"$@\" <in.npy >redirected.npy", clip({"-", "-"})));
  CHECK((directory.read("redirected.npy") == kOutput));

  directory.write("two.npy", float32_file({1, 2}) + float32_file({9}));
  check_done(directory.run_in_shell("{ dd bs=136 count=1 of=first.npy status=none; \"$@\"; } <two.npy",
                                    clip({"-", "second.npy"})));
  CHECK(directory.read("second.npy") == float32_file({6}));
}

TEST_CASE("standard input is not read if IN is a file") {
  const WorkingDirectory directory{{"in.npy", kInput}};
  const Result result =
      directory.run_in_shell("printf 'one\\ntwo\\n' | { \"$@\"; cat; }", clip({"in.npy", "out.npy"}));
  check_done(result);
  CHECK(result.output == "one\ntwo\n");
}

TEST_CASE("FIFOs and devices are used as streams and not replaced") {
  const WorkingDirectory directory{{"in.npy", kInput}};
  const Result result = directory.run_in_shell(
      "mkfifo from to && { cat in.npy >from & cat to >out.npy & } && \"$@\" && wait", clip({"from", "to"}));
  check_done(result);
  CHECK((directory.read("out.npy") == kOutput));
  CHECK(directory.entries() == Words{"from", "in.npy", "out.npy", "to"});

  const struct stat before = status_of("/dev/null");
  directory.done(clip({"in.npy", "/dev/null"}));
  CHECK(status_of("/dev/null").st_mode == before.st_mode);
  CHECK(status_of("/dev/null").st_ino == before.st_ino);
}

TEST_CASE("a stream shorter or longer than its header says is refused") {
  const WorkingDirectory directory{{"out.npy", "old"}};
  for (const std::size_t length : {0UL, 5UL, 11UL, 100UL, 128UL, 129UL, 300'000UL, kInput.size() - 1}) {
    CAPTURE(length);
    for (const char* out : {"out.npy", "new.npy"})
      directory.refused(clip({"-", out}), 3, "standard input: ", kInput.substr(0, length));
  }
  directory.refused(clip({"-", "out.npy"}), 3, "after the array", kInput + "x");
  check_refused(run_clipper(clip({"-", "-"}), {}, kInput + "x"), 3, "after the array");
  check_refused(run_clipper(clip({"-", "-"}), {}, kInput.substr(0, 300'000)), 3, "standard input: ");
}

TEST_CASE("clipper ends by SIGPIPE if its reader is gone") {
  const WorkingDirectory directory{{"in.npy", kInput}};
  const auto without_reader = [&](const std::function<void()>& prepare) {
    Process process(clipper_words(clip({"in.npy", "-"})), {directory.path(), prepare});
    process.wait_for_output();
    process.close_output();
    return process.finish();
  };
  const Result ended = without_reader([] {});
  CHECK(ended.signal == SIGPIPE);
  CHECK(ended.error.empty());
  check_refused(without_reader([] { std::signal(SIGPIPE, SIG_IGN); }), 4, "standard output: ");
}

TEST_CASE("a full device is an I/O error") {
  const WorkingDirectory directory{{"in.npy", float32_file({1})}};
  directory.refused(clip({"in.npy", "/dev/full"}), 4, "/dev/full: ");
  check_refused(directory.run_in_shell("\"$@\" >/dev/full", clip({"in.npy", "-"})), 4, "standard output: ");
}

TEST_CASE("a terminal is refused as IN and OUT") {
  if (!Terminal::exists()) return;
  const WorkingDirectory directory{{"in.npy", float32_file({1})}};
  const Terminal terminal;
  directory.refused(clip({"-", "out.npy"}), 2, "terminal", terminal.as(STDIN_FILENO));
  directory.refused(clip({"in.npy", "-"}), 2, "terminal", terminal.as(STDOUT_FILENO));
  directory.refused(clip({"in.npy", terminal.path()}), 2, "terminal");
}

}  // namespace clipper::testing
