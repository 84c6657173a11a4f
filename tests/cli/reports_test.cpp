#include "cli/compare.hpp"
#include "support/archives.hpp"

/// --report of compare and --verify, and both as jobs of continuous integration use them.
namespace clipper::testing {
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

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

}  // namespace

TEST_CASE("--report junit writes one valid test case for each pair or member, whatever their names") {
  const std::string odd = "q<&\"'\x01\n\xff\xef\xbf\xbf.npy";
  const WorkingDirectory directory{{"got/a.npy", float32_file({1, 2})},
                                   {"want/a.npy", float32_file({1, 3})},
                                   {"got/b.npy", float32_file({1})},
                                   {"want/b.npy", float32_file({1})},
                                   {"got/" + odd, float32_file({1})},
                                   {"got/t.npy", "text"},
                                   {"want/t.npy", "text"},
                                   {"got/z.npz", npz_file({{"v.npy", float32_file({1})}})},
                                   {"want/z.npz", npz_file({{"v.npy", float32_file({2})}})}};
  const Result result = run_compare(
      directory, {"got", "want", "--show", "1", "--report", "junit=r.xml", "--report=junit=s.xml"});
  CHECK(result.exit_code == 3);
  CHECK(result.output.ends_with("\n5 pairs: 1 ok, 2 FAIL, 1 missing, 1 not compared\n"));
  check_valid_junit(directory, "r.xml");
  const std::string xml = directory.read("r.xml");
  CHECK(xml == directory.read("s.xml"));
  CHECK(contains(xml, R"(<testsuite name="clipper compare" tests="5" failures="3" errors="1" time=")"));
  CHECK(contains(xml, R"(  <testcase classname="clipper.compare" name="got/b.npy" time="0.)"));
  CHECK(contains(xml, R"(name="got/q&lt;&amp;&quot;&apos;\x01\x0a\xff\xef\xbf\xbf.npy" time=")"));
  CHECK(contains(xml, R"(name="got/z.npz:v" time=")"));
  CHECK(contains(
      xml, "<failure message=\"1 of 2 differ (50 %); first [1] actual 2 expected 3 (1, 4194304 ulp); "));
  CHECK(contains(xml, "\n[1] actual 2 expected 3 (1, 4194304 ulp)</failure>\n"));
  CHECK(contains(xml, "<error message=\"got/t.npy: "));

  check_done(run_compare(directory, {"got/b.npy", "want/b.npy", "--report", "junit=r.xml", "-q"}));
  check_valid_junit(directory, "r.xml");
  CHECK(contains(directory.read("r.xml"), R"(tests="1" failures="0" errors="0" time=")"));
}

TEST_CASE("--report github prints at most ten errors and a count, which no name can imitate") {
  const WorkingDirectory directory;
  for (const char* const side : {"got/", "want/"}) {
    const float value = *side == 'g' ? 1.0F : 2.0F;
    directory.write(side + std::string("a%,b:\r\nc.npy"), float32_file({value}));
    for (int i = 0; i < 11; ++i) directory.write(fmt::format("{}{:02}.npy", side, i), float32_file({value}));
  }
  const Result result = run_compare(directory, {"got", "want", "--report", "github", "-q"});
  CHECK(result.exit_code == 1);
  CHECK(result.output.empty());
  CHECK(count_of(result.error, "::error file=") == 10);
  CHECK(contains(result.error,
                 "::error file=want/00.npy::got/00.npy: 1 of 1 differ (100 %25); first [0] actual 1 "));
  CHECK(result.error.ends_with("\n::error::clipper compare: 12 pairs: 0 ok, 12 FAIL\n"));
  const Result odd =
      run_compare(directory, {"got/a%,b:\r\nc.npy", "want/a%,b:\r\nc.npy", "--report", "github", "-q"});
  CHECK(odd.error.starts_with("::error file=want/a%25%2Cb%3A%0D%0Ac.npy::got/a%25,b:%0D%0Ac.npy: 1 of 1 "));
  CHECK(run_compare(directory, {"got", "got", "--report", "github", "-q"}).error.empty());
}

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

}  // namespace clipper::testing
