#include <csignal>

#include "cli/numbered.hpp"

/// clipper between pipes, also with common command line tools. In scripts, "$@" is clipper with its bounds.
namespace clipper::testing {
namespace {

const std::vector<float> kElements = scattered_floats(500'001);
const std::string kInput = float32_file(kElements);
const std::string kOutput = float32_file(clipped(kElements, 0, 6));

/// Runs scripts in a directory with the tensors in/0.npy to in/19.npy, two of them in subdirectories.
class Pipeline {
 public:
  Pipeline() {
    std::filesystem::create_directories(directory_ / "in/a b/c");
    for (int i = 0; i < 20; ++i) write_file(directory_ / ("in/" + name(i)), input(i));
  }

  [[nodiscard]] static std::string name(int i) {
    if (i == 3) return "a b/3.npy";
    if (i == 4) return "a b/c/new\nline.npy";
    return fmt::format("{}.npy", i);
  }

  Result run(const std::string& script) {
    Result result = run_in_shell(script, clip({}), {directory_.path()});
    CAPTURE(script, result.error);
    CHECK(result.exit_code == 0);
    return result;
  }

  void check_all_in(const std::string& place) const {
    for (int i = 0; i < 20; ++i) CHECK(read_file(directory_ / (place + name(i))) == output(i));
  }

  [[nodiscard]] const WorkingDirectory& directory() const { return directory_; }

 private:
  WorkingDirectory directory_;
};

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

  const os::Status before = status_of("/dev/null");
  directory.done(clip({"in.npy", "/dev/null"}));
  CHECK(status_of("/dev/null").st_mode == before.st_mode);
  CHECK(status_of("/dev/null").st_ino == before.st_ino);
}

TEST_CASE("a stream shorter or longer than its header says is refused") {
  const WorkingDirectory directory{{"out.npy", "old"}};
  for (const std::size_t length :
       std::vector<std::size_t>{0, 5, 11, 100, 128, 129, 300'000, kInput.size() - 1}) {
    CAPTURE(length);
    for (const char* out : {"out.npy", "new.npy"})
      directory.refused(clip({"-", out}), 3, "standard input: ", kInput.substr(0, length));
  }
  directory.refused(clip({"-", "out.npy"}), 3, "after the array", kInput + "x");
  check_refused(run_clipper(clip({"-", "-"}), {}, kInput + "x"), 3, "after the array");
  check_refused(run_clipper(clip({"-", "-"}), {}, kInput.substr(0, 300'000)), 3, "standard input: ");
}

TEST_CASE("clipper ends by SIGPIPE if its reader is gone") {
  needs_posix("SIGPIPE");
  const WorkingDirectory directory{{"in.npy", kInput}};
  const auto without_reader = [&](const std::function<void()>& prepare) {
    Process process(clipper_words(clip({"in.npy", "-"})), {directory.path(), prepare});
    process.wait_for_output_or_end();
    process.close_output();
    return process.finish();
  };
  const Result ended = without_reader([] {});
  CHECK(ended.signal == SIGPIPE);
  CHECK(ended.error.empty());
  check_refused(without_reader([] { std::signal(SIGPIPE, SIG_IGN); }), 4, "standard output: ");
}

TEST_CASE("a full device is an I/O error") {
  needs_posix("/dev/full");
  const WorkingDirectory directory{{"in.npy", float32_file({1})}};
  directory.refused(clip({"in.npy", "/dev/full"}), 4, "/dev/full: ");
  check_refused(directory.run_in_shell("\"$@\" >/dev/full", clip({"in.npy", "-"})), 4, "standard output: ");
}

TEST_CASE("find passes names with spaces and newlines to one clipper") {
  Pipeline pipeline;
  pipeline.run("find in -name '*.npy' -print0 | \"$@\" --files0-from - --output-dir out");
  pipeline.check_all_in("out/in/");
  pipeline.run("find in -name '*.npy' -print0 | \"$@\" --files0-from - -i");
  pipeline.check_all_in("in/");
}

TEST_CASE("xargs passes names with spaces and newlines to several clippers") {
  Pipeline pipeline;
  pipeline.run("find in -name '*.npy' -print0 | xargs -0 -n 3 -P 4 \"$@\" --in-place");
  pipeline.check_all_in("in/");
}

TEST_CASE("xargs that starts several clippers gets an output for each of 20 inputs") {
  const WorkingDirectory directory;
  const auto name = [](int i) { return fmt::format("in/{}/{}.npy", i / 5, i % 5); };
  for (int i = 0; i < 20; ++i) {
    std::filesystem::create_directories(directory / fmt::format("in/{}", i / 5));
    directory.write(name(i), input(i));
  }
  for (const std::string& root : {std::string(), directory.path() + "/"}) {
    CAPTURE(root);
    check_done(directory.run_in_shell(
        "rm -rf o; find " + root + "in -name '*.npy' -print0 | xargs -0 -n 3 \"$@\" --output-dir o",
        clip({})));
    for (int i = 0; i < 20; ++i) CHECK(directory.read("o/" + root + name(i)) == output(i));
    CHECK(directory.run_in_shell("find o -type f | wc -l", {}).output == "20\n");
  }
}

TEST_CASE("--relative-to keeps the layout if xargs starts several clippers") {
  Pipeline pipeline;
  for (const char* count : {"1", "3", "100"}) {
    pipeline.run(
        fmt::format("rm -rf out; find in -name '*.npy' -print0 | xargs -0 -n {} -P 4 \"$@\" "
                    "--output-dir out --relative-to in",
                    count));
    pipeline.check_all_in("out/");
  }
}

TEST_CASE("--flat protects the outputs of earlier runs") {
  Pipeline pipeline;
  const Result result = run_in_shell(
      "for name in in/7.npy 'in/a b/3.npy' in/8.npy; do \"$@\" --flat --output-dir out \"$name\" || exit; "
      "done; "
      "mkdir in/deep; cp in/1.npy in/deep/7.npy; \"$@\" --flat --output-dir out in/deep/7.npy",
      clip({}), {pipeline.directory().path()});
  check_refused(result, 5, "out/7.npy: already exists");
  CHECK(read_file(pipeline.directory() / "out/7.npy") == output(7));
}

TEST_CASE("clipper does not consume the standard input of a shell loop") {
  Pipeline pipeline;
  const Result result = pipeline.run(
      "mkdir out; ls in/*.npy | while read -r name; do \"$@\" \"$name\" \"out/${name##*/}\"; echo done; "
      "done");
  CHECK(std::ranges::count(result.output, '\n') == 18);
  CHECK(read_file(pipeline.directory() / "out/7.npy") == output(7));
}

TEST_CASE("clipper reads members of an archive from tar") {
  Pipeline pipeline;
  pipeline.run("tar -cf in.tar -C in 7.npy 8.npy");
  CHECK(pipeline.run("tar -xOf in.tar 7.npy | \"$@\" - -").output == output(7));
  pipeline.run(
      "mkdir out; CLIPPER=$1 tar -xf in.tar "
      "--to-command='\"$CLIPPER\" --min 0 --max 6 - \"out/$TAR_FILENAME\"'");
  CHECK(read_file(pipeline.directory() / "out/7.npy") == output(7));
  CHECK(read_file(pipeline.directory() / "out/8.npy") == output(8));
}

TEST_CASE("clipper works between zstd -d and zstd") {
  if (!has_program("zstd")) return;
  Pipeline pipeline;
  const Result result =
      pipeline.run("zstd -q in/7.npy && zstd -dc in/7.npy.zst | \"$@\" - - | zstd -q | zstd -dc");
  CHECK(result.output == output(7));
}

TEST_CASE("GNU parallel passes names to several clippers and keeps the order of outputs") {
  if (!has_program("parallel")) return;
  Pipeline pipeline;
  pipeline.run("find in -name '*.npy' -print0 | parallel -0 --will-cite \"$1\" --min 0 --max 6 -i {}");
  pipeline.check_all_in("in/");
  const Result kept =
      pipeline.run("parallel --will-cite -k \"$1\" --min 0 --max 1 {} - ::: in/7.npy in/8.npy");
  CHECK(kept.output.size() == 2 * output(7).size());
}

}  // namespace clipper::testing
