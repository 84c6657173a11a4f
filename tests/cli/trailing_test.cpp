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
  const WorkingDirectory directory{{"x.npy", kArray + "x"}};
  const std::string one = "x.npy: 1 byte after the array; to allow this, set --trailing ignore\n";
  directory.refused(clip({"x.npy", "out.npy"}), 3, one);
  directory.refused(clip({"--trailing", "error", "x.npy", "out.npy"}), 3, one);
  directory.refused({"info", "x.npy"}, 3, one);
  directory.refused({"compare", "x.npy", "x.npy"}, 3, one);
  directory.write("x.npy", kArray + "xyz");
  directory.refused(clip({"x.npy", "--verify", "x.npy"}), 3,
                    "x.npy: 3 bytes after the array; to allow this, set --trailing ignore\n");
  directory.refused(
      clip({"-", "out.npy"}), 3,
      "standard input: unexpected bytes after the array; to allow this, set --trailing ignore\n",
      kArray + "xyz");
}

TEST_CASE("--trailing ignore reads files without the bytes after the array") {
  const WorkingDirectory directory{{"x.npy", kArray + "xyz"}};
  directory.done(clip({"--trailing", "ignore", "x.npy", "out.npy"}));
  CHECK(directory.read("out.npy") == kClipped);
  directory.done(clip({"--trailing=ignore", "--output-dir", "o", "x.npy"}));
  CHECK(directory.read("o/x.npy") == kClipped);
  directory.done(clip({"--trailing=ignore", "--shard", "0/1", "x.npy", "s.npy"}));
  directory.done({"--finalize", "s.npy"});
  CHECK(directory.read("s.npy") == kClipped);

  directory.write("golden.npy", kClipped + std::string(70'000, '\0'));
  directory.done(clip({"--trailing=ignore", "x.npy", "--verify", "golden.npy"}));
  check_same(directory, {"--trailing", "ignore", "out.npy", "golden.npy"});
  check_same(directory, {"--trailing", "ignore", "golden.npy", "-"}, kClipped + "x");
  const Result info = directory.run({"info", "--stats", "--trailing", "ignore", "x.npy"});
  check_done(info);
  CHECK(contains(info.output, "  data      12 bytes after"));
}

TEST_CASE("--trailing ignore reads a stream to its end") {
  const WorkingDirectory directory{{"x.npy", kArray}};
  const std::string rest(3'000'000, 'x');  // more than a pipe holds: a writer without reader gets EPIPE
  for (const char* const threads : {"1", "2"}) {
    const Words words = clip({"--trailing=ignore", "--threads", threads, "-", "-"});
    const Result result = directory.run(words, kArray + rest);
    check_done(result);
    CHECK(result.output == kClipped);
  }
  const Result piped =
      directory.run_in_shell("{ cat x.npy; head -c 3000000 /dev/zero && echo done >&2; } | \"$@\" >out.npy",
                             clip({"--trailing=ignore", "-", "-"}));
  CHECK(piped.error == "done\n");
  CHECK(directory.read("out.npy") == kClipped);
}

TEST_CASE("in place, --trailing ignore refuses to lose bytes after the array") {
  const WorkingDirectory directory{{"x.npy", kArray + "xyz"}};
  const std::string why =
      "x.npy: refused to avoid data loss: in place, the 3 bytes after the array would be lost; write to "
      "another file\n";
  for (const Words& way : {Words{"-i"}, Words{"-i", "--direct"}, Words{"-i", "--dry-run"}, Words{"x.npy"}}) {
    directory.refused(joined(clip({"--trailing=ignore", "x.npy"}), way), 5, why);
  }
  directory.write("x.npy", kArray);
  directory.done(clip({"--trailing=ignore", "-i", "x.npy"}));
  CHECK(directory.read("x.npy") == kClipped);
}

TEST_CASE("wrong usage of --trailing is refused") {
  const WorkingDirectory directory{{"x.npy", kArray}};
  const std::string word = "--trailing: unknown value 'keep'; expected one of: error, ignore";
  directory.refused(clip({"--trailing", "keep", "x.npy", "out.npy"}), 2, word);
  directory.refused({"compare", "--trailing=keep", "x.npy", "x.npy"}, 2, word);
  directory.refused({"compare", "--bytes", "--trailing=ignore", "x.npy", "x.npy"}, 2, "--bytes");
}

}  // namespace clipper::testing
