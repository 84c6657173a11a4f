#include "cli/clipper.hpp"

/// --report of compare and --verify, and both as jobs of continuous integration use them.
namespace clipper::testing::reports_test {
namespace {

namespace fs = std::filesystem;

/// Checks the file with Debian's xmllint.
void check_valid_junit(const WorkingDirectory& directory, const std::string& name) {
  const Result result =
      Process({"xmllint", "--noout", "--schema", source_path("tests/cli/junit.xsd"), directory / name}, {})
          .finish();
  CAPTURE(result.error);
  CHECK(result.exit_code == 0);
}

}  // namespace

TEST_CASE("10,000 pairs in a tree take few MiB of memory and end with one line") {
  const WorkingDirectory directory;
  const std::string file = float32_file({1, 2, 3});
  for (int i = 0; i < 10'000; ++i) directory.write(fmt::format("in/{}/{}.npy", i % 100, i), file);
  fs::copy(directory / "in", directory / "golden", fs::copy_options::recursive);
  const auto limited = [&](const Words& words) {
    return directory.run_in_shell("ulimit -d 65536; \"$@\"", words);  // KiB of memory, stacks of threads, too
  };
  for (const Words& words :
       {Words{"compare", "in", "golden", "-j", "1", "--report", "junit=r.xml"},
        Words{"--max", "6", "-r", "in", "--verify", "golden", "-j", "1", "--report", "junit=r.xml"}}) {
    const Result result = limited(words);
    CAPTURE(words, result.error);
    CHECK(result.exit_code == 0);
    CHECK(result.output == "10000 pairs: 10000 ok\n");
    CHECK(contains(directory.read("r.xml"), "tests=\"10000\" failures=\"0\""));
  }
  check_valid_junit(directory, "r.xml");
  const Result piped = directory.run_in_shell(
      "\"$@\" | cat >s.xml", {"compare", "in", "golden", "-q", "--report", "junit=/dev/fd/1"});
  CHECK(piped.exit_code == 0);
  check_valid_junit(directory, "s.xml");
  CHECK(contains(directory.read("s.xml"), "tests=\"10000\" failures=\"0\""));
}

}  // namespace clipper::testing::reports_test
