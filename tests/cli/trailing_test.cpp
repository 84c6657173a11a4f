#include <nlohmann/json.hpp>
#include <string>

#include "cli/compare.hpp"
#include "support/tensors.hpp"

/// Bytes after the array, which np.load ignores.
namespace clipper::testing {
namespace {

const std::string kArray = float32_file({-1, 2, 9});
const std::string kClipped = float32_file({0, 2, 6});

}  // namespace

TEST_CASE("bytes after the array are an error with their number and advice") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", kArray + "x");
  const std::string one = "x.npy: 1 byte after the array; to allow this, set --trailing ignore\n";
  check_refused_untouched(directory, clip({"x.npy", "out.npy"}), 3, one);
  check_refused_untouched(directory, clip({"--trailing", "error", "x.npy", "out.npy"}), 3, one);
  check_refused_untouched(directory, {"info", "x.npy"}, 3, one);
  check_refused_untouched(directory, {"compare", "x.npy", "x.npy"}, 3, one);
  write_file(directory / "x.npy", kArray + "xyz");
  check_refused_untouched(directory, clip({"x.npy", "--verify", "x.npy"}), 3,
                          "x.npy: 3 bytes after the array; to allow this, set --trailing ignore\n");
  check_refused_untouched(
      directory, clip({"-", "out.npy"}), 3,
      "standard input: unexpected bytes after the array; to allow this, set --trailing ignore\n", [] {},
      kArray + "xyz");
}

TEST_CASE("--trailing ignore reads files without the bytes after the array") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", kArray + "xyz");
  check_done(run_clipper(clip({"--trailing", "ignore", "x.npy", "out.npy"}), {directory.path()}));
  CHECK(read_file(directory / "out.npy") == kClipped);
  check_done(run_clipper(clip({"--trailing=ignore", "--output-dir", "o", "x.npy"}), {directory.path()}));
  CHECK(read_file(directory / "o/x.npy") == kClipped);
  check_done(
      run_clipper(clip({"--trailing=ignore", "--shard", "0/1", "x.npy", "s.npy"}), {directory.path()}));
  check_done(run_clipper({"--finalize", "s.npy"}, {directory.path()}));
  CHECK(read_file(directory / "s.npy") == kClipped);

  write_file(directory / "golden.npy", kClipped + std::string(70'000, '\0'));
  check_done(run_clipper(clip({"--trailing=ignore", "x.npy", "--verify", "golden.npy"}), {directory.path()}));
  check_same(directory, {"--trailing", "ignore", "out.npy", "golden.npy"});
  check_same(directory, {"--trailing", "ignore", "golden.npy", "-"}, kClipped + "x");
  const Result info = run_clipper({"info", "--stats", "--trailing", "ignore", "x.npy"}, {directory.path()});
  check_done(info);
  CHECK(info.output.find("  data      12 bytes after") != std::string::npos);
}

TEST_CASE("--trailing ignore reads a stream to its end") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", kArray);
  const std::string rest(3'000'000, 'x');  // more than a pipe holds: a writer without reader gets EPIPE
  for (const char* const threads : {"1", "2"}) {
    const Words words = clip({"--trailing=ignore", "--threads", threads, "-", "-"});
    const Result result = run_clipper(words, {directory.path()}, kArray + rest);
    check_done(result);
    CHECK(result.output == kClipped);
  }
  const Result piped =
      run_in_shell("{ cat x.npy; head -c 3000000 /dev/zero && echo done >&2; } | \"$@\" >out.npy",
                   clip({"--trailing=ignore", "-", "-"}), {directory.path()});
  CHECK(piped.error == "done\n");
  CHECK(read_file(directory / "out.npy") == kClipped);
}

TEST_CASE("in place, --trailing ignore refuses to lose bytes after the array") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", kArray + "xyz");
  const std::string why =
      "x.npy: refused to avoid data loss: in place, the 3 bytes after the array would be lost; write to "
      "another file\n";
  for (const Words& way : {Words{"-i"}, Words{"-i", "--direct"}, Words{"-i", "--dry-run"}, Words{"x.npy"}}) {
    Words words = clip({"--trailing=ignore", "x.npy"});
    words.insert(words.end(), way.begin(), way.end());
    check_refused_untouched(directory, words, 5, why);
  }
  write_file(directory / "x.npy", kArray);
  check_done(run_clipper(clip({"--trailing=ignore", "-i", "x.npy"}), {directory.path()}));
  CHECK(read_file(directory / "x.npy") == kClipped);
}

TEST_CASE("wrong usage of --trailing is refused") {
  const TemporaryDirectory directory;
  write_file(directory / "x.npy", kArray);
  const std::string word = "--trailing: unknown value 'keep'; expected one of: error, ignore";
  check_refused_untouched(directory, clip({"--trailing", "keep", "x.npy", "out.npy"}), 2, word);
  check_refused_untouched(directory, {"compare", "--trailing=keep", "x.npy", "x.npy"}, 2, word);
  check_refused_untouched(directory, {"compare", "--bytes", "--trailing=ignore", "x.npy", "x.npy"}, 2,
                          "--bytes");
}

}  // namespace clipper::testing
