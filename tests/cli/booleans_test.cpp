#include "cli/compare.hpp"
#include "support/archives.hpp"

/// Bytes of bool other than 0 and 1, as views of masks have them. numpy takes every byte but 0 for True, and
/// writes 1.
namespace clipper::testing {
namespace {

std::string flags(const std::string& elements) {
  return npy_file("|b1", "False", fmt::format("({},)", elements.size()), elements);
}

/// Every byte, and what it stands for.
const std::string kBytes = [] {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return bytes;
}();
const std::string kPlain = std::string(1, '\0') + std::string(255, '\1');

}  // namespace

TEST_CASE("every way writes 1 for True, and counts no byte that stands for it") {
  const std::string counts = R"("raised":0,"lowered":0,"nan":0,"changed":true)";
  const WorkingDirectory directory{{"x.npy", flags(kBytes)}, {"a.npz", npz_file({{"x.npy", flags(kBytes)}})}};
  const auto check = [&](Words words, const std::string& out, const std::string& input = "") {
    const Result result = directory.run(joined({"--json"}, words), input);
    CAPTURE(words, result.error);
    CHECK(result.exit_code == 0);
    CHECK(contains(result.output, counts));
    if (!out.empty()) CHECK(directory.read(out) == flags(kPlain));
  };
  for (const Words& bound : {Words{"--min", "0"}, Words{"--max", "1"}, Words{"--max", "100%"}}) {
    check(joined(bound, {"x.npy", "y.npy"}), "y.npy");
    check(joined(bound, {"--member", "x", "a.npz", "b.npz"}), "");
    check(joined(bound, {"--fail-if-clipped", "0", "x.npy", "y.npy"}), "y.npy");
    check(joined(bound, {"--dry-run", "-i", "x.npy"}), "");
    check(joined(bound, {"-i", "x.npy"}), "x.npy");
    directory.write("x.npy", flags(kBytes));
  }
  check({"--max", "1", "-i", "--direct", "x.npy"}, "x.npy");
  directory.write("x.npy", flags(kBytes));
  check({"--min", "0", "-", "z.npy"}, "z.npy", flags(kBytes));
  check({"--min", "0", "--shard", "0/1", "x.npy", "s.npy"}, "");
  directory.done({"--finalize", "s.npy"});
  CHECK(directory.read("s.npy") == flags(kPlain));
  CHECK(contains(directory.run({"--max", "0", "--json", "x.npy", "y.npy"}).output, R"("lowered":255)"));
  CHECK(contains(directory.run({"--min", "1", "--json", "x.npy", "y.npy"}).output,
                 R"("raised":1,"lowered":0)"));
}

TEST_CASE("a member of bool that is copied keeps its bytes") {
  const std::string archive = npz_file({{"w.npy", float32_file({1, 9})}, {"x.npy", flags(kBytes)}});
  const WorkingDirectory directory{{"a.npz", archive}};
  directory.done({"--max", "10", "a.npz", "b.npz"});
  CHECK(contains(directory.read("b.npz"), flags(kBytes)));
}

TEST_CASE("comparisons and statistics take every byte but 0 for True") {
  const WorkingDirectory directory{{"x.npy", flags(kBytes)},
                                   {"plain.npy", flags(kPlain)},
                                   {"numbers.npy", npy_file("|u1", "False", "(256,)", kPlain)}};
  for (const Words& more : {Words{}, Words{"--bits"}, Words{"--diff-out", "d.npy"}})
    check_same(directory, joined(more, {"x.npy", "plain.npy"}));
  CHECK(directory.read("d.npy") == npy_file("|u1", "False", "(256,)", std::string(256, '\0')));
  check_same(directory, {"--any-dtype", "x.npy", "numbers.npy"});
  directory.done({"--min", "0", "x.npy", "--verify", "plain.npy"});
  directory.done({"--min", "0", "plain.npy", "--verify", "x.npy"});
  const std::string said = directory.run({"info", "--stats", "--json", "x.npy"}).output;
  CHECK(contains(said, R"("min":false,"max":true,"mean":0.99609375)"));
}

}  // namespace clipper::testing
