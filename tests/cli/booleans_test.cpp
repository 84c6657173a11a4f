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

}  // namespace clipper::testing
