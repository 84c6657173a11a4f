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

/// Runs a script in which $clipper is the program.
Result run_script(const WorkingDirectory& directory, const std::string& script) {
  return directory.run_in_shell("clipper=$1\n" + script, {});
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

TEST_CASE("a JUnit report that cannot be written is an error before the work") {
  const WorkingDirectory directory{{"in.npy", float32_file({1})}};
  for (const std::string path : {"none/r.xml", "."}) {
    const Words report{"--report", "junit=" + path};
    directory.refused(joined({"compare", "in.npy", "in.npy", "-v"}, report), 4, path + ": ");
    directory.refused(joined({"--max", "0", "in.npy", "--verify", "new.npy", "--update-golden"}, report), 4,
                      path + ": ");
  }
  for (const std::string word : {"junit=", "junit", "gitub", "github=x"})
    directory.refused({"compare", "in.npy", "in.npy", "--report", word}, 2,
                      "--report: unknown value '" + word);
  directory.refused({"--max", "0", "in.npy", "out.npy", "--report", "github"}, 2, "--report needs --verify");
  directory.refused({"--max", "0", "in.npy", "--verify", "in.npy", "--shard", "0/2", "--report", "github"}, 2,
                    "--verify and --shard cannot be used together");
}

TEST_CASE("two reports never go to one file") {
  const WorkingDirectory directory{{"in.npy", float32_file({1})}};
  make_link(".", directory / "link");
  for (const auto& [first, second] :
       {std::pair("csv=X", "junit=X"), {"csv=X", "csv=./X"}, {"junit=none/../X", "junit=link/X"}})
    directory.refused({"compare", "in.npy", "in.npy", "--report", first, "--report", second}, 2,
                      "are one file");
}

TEST_CASE("a report never replaces a file that is compared") {
  const std::string tensor = float32_file({1});
  const WorkingDirectory directory{{"a.npy", tensor}, {"b/a.npy", tensor}, {"c/a.npy", tensor}};
  const std::string why = "a.npy is one of the compared files; name another file";
  for (const std::string kind : {"junit=", "csv="}) {
    directory.refused({"compare", "a.npy", "b/a.npy", "--report", kind + "b/a.npy"}, 2, "--report: b/" + why);
    directory.refused({"compare", "b", "c", "--report", kind + "./c/a.npy"}, 2, "--report: ./c/" + why);
    directory.refused(
        {"--max", "0", "a.npy", "--verify", "n.npy", "--update-golden", "--report", kind + "n.npy"}, 2,
        "--report: n.npy is one");
    directory.refused({"--max", "0", "-r", "b", "--verify", "c", "--report", kind + "b/a.npy"}, 2,
                      "--report: b/" + why);
  }
  for (const char* const name : {"a.npy", "b/a.npy", "c/a.npy"}) CHECK(directory.read(name) == tensor);
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

TEST_CASE("a job of continuous integration fails without golden files, and passes after they are updated") {
  const WorkingDirectory directory{{"in/a.npy", float32_file({-1, 3, 9})}, {"in/t/b.npy", float32_file({7})}};
  const std::string job = R"(
"$clipper" --min 0 --max 6 --recursive in --verify golden/ --rtol 1e-6 $UPDATE \
    --report junit=results.xml --report github
)";
  const Result missing = run_script(directory, job);
  CHECK(missing.exit_code == 1);
  CHECK(missing.output ==
        "FAIL in/a.npy: no golden; --update-golden writes it\n"
        "FAIL in/t/b.npy: no golden; --update-golden writes it\n2 pairs: 0 ok, 2 missing\n");
  CHECK(missing.error.starts_with(
      "::error file=golden/a.npy::in/a.npy: no golden; --update-golden writes it\n"));
  check_valid_junit(directory, "results.xml");
  CHECK(count_of(directory.read("results.xml"),
                 "<failure message=\"no golden; --update-golden writes it\">") == 2);
  CHECK(run_script(directory, "UPDATE=--update-golden" + job).exit_code == 0);
  CHECK(directory.read("golden/t/b.npy") == float32_file({6}));
  const Result passed = run_script(directory, job);
  CHECK(passed.exit_code == 0);
  CHECK(passed.output == "2 pairs: 2 ok\n");
  CHECK(contains(directory.read("results.xml"), R"(tests="2" failures="0" errors="0" time=")"));
}

TEST_CASE("a rule of a Makefile fails if a result changes") {
  const WorkingDirectory directory{{"in/a.npy", float32_file({-1, 3, 9})},
                                   {"golden/a.npy", float32_file({0, 3, 6})},
                                   {"Makefile",
                                    "check: ; @$(CLIPPER) --min 0 --max $(MAX) -r in --verify golden/\n"
                                    "update: ; @$(CLIPPER) --min 0 --max $(MAX) -r in --verify golden/ "
                                    "--update-golden\n"}};
  const auto make = [&](const std::string& words) {
    return run_script(directory, "make --no-print-directory CLIPPER=\"$clipper\" " + words);
  };
  needs_posix("make");
  CHECK(make("check MAX=6").exit_code == 0);
  const Result changed = make("check MAX=5");
  CHECK(changed.exit_code == 2);  // of make
  CHECK(contains(changed.output, "FAIL in/a.npy: 1 of 3 differ (33.3 %); first [2] actual 5 expected 6 "));
  CHECK(make("update MAX=5").exit_code == 0);
  CHECK(make("check MAX=5").exit_code == 0);
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
