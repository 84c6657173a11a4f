#include "cli/archive_samples.hpp"

/// Tolerances by pattern, --update-golden, --tolerance allclose and --report csv=FILE of clipper compare.
namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

/// Two archives whose members are 1 apart, and the same in two directories.
class Pairs : public WorkingDirectory {
 public:
  Pairs() {
    for (const char* name : {"a.npz", "x/d/a.npz"}) write(name, archive(2));
    for (const char* name : {"b.npz", "y/d/a.npz"}) write(name, archive(1));
  }

  static std::string archive(float value) {
    return npz_file({{"w.npy", float32_file({value})}, {"bias.npy", float32_file({value})}});
  }

  [[nodiscard]] Result compare(const Words& words) const { return run(joined({"compare"}, words)); }
};

}  // namespace

TEST_CASE(
    "of a tolerance with patterns, the last one that matches counts, and the last line counts the pairs") {
  const Pairs pairs;
  const Words archives = {"a.npz", "b.npz"};
  const auto check = [&](const Words& words, int exit_code, const std::string& last) {
    CAPTURE(words);
    const Result result = pairs.compare(joined(archives, words));
    CHECK(result.exit_code == exit_code);
    CHECK(result.output.ends_with(last));
  };
  check({"--atol", "1"}, 0, "");
  check({"--atol", "*=1"}, 0, "2 pairs: 2 ok; --atol '*=1' for 2 pairs\n");
  check({"--atol", "w=1", "--rtol", "b?as=1"}, 0,
        "2 pairs: 2 ok; --rtol 'b?as=1' for 1 pair, --atol 'w=1' for 1 pair\n");
  check({"--atol", "1", "--atol", "w=0"}, 1,
        "1 ok, 1 FAIL; --atol '1' for 1 pair, --atol 'w=0' for 1 pair\n");
  check({"--atol", "w=0", "--atol", "1"}, 0, "2 ok; --atol 'w=0' for 0 pairs, --atol '1' for 2 pairs\n");
  check({"--max-mismatch", "a.npz:*=100%"}, 0, "2 ok; --max-mismatch 'a.npz:*=100%' for 2 pairs\n");
  check({"--ulp", "w=8388608", "--ulp", "none=1"}, 1,
        "1 ok, 1 FAIL; --ulp 'w=8388608' for 1 pair, --ulp 'none=1' for 0 pairs\n");
  check({"--atol", "w=x"}, 2, "");
  for (const char* const option : {"--rtol", "--atol", "--ulp", "--max-mismatch"})
    pairs.refused({"compare", "a.npz", "b.npz", option, "=1"}, 2,
                  option + std::string(": '=1' has no pattern before the ="));
  CHECK(pairs.compare({"x", "y", "--atol", "d/a.npz:w=1"})
            .output.ends_with("2 pairs: 1 ok, 1 FAIL; --atol 'd/a.npz:w=1' for 1 pair\n"));
  CHECK(pairs.run({"--max", "9", "-r", "x", "--verify", "y", "--atol", "w=1"})
            .output.ends_with("2 pairs: 1 ok, 1 FAIL; --atol 'w=1' for 1 pair\n"));
  CHECK(pairs.compare({"a.npz", "b.npz", "--json", "--atol", "1", "--atol", "a=b*=0"})
            .output.ends_with(R"("updated":0,"tolerances":[)"
                              R"({"option":"--atol","pattern":"*","value":"1","pairs":2},)"
                              R"({"option":"--atol","pattern":"a=b*","value":"0","pairs":0}]})"
                              "\n"));
  CHECK_FALSE(contains(pairs.compare({"a.npz", "b.npz", "--json", "--atol", "1"}).output, "summary"));
}

TEST_CASE("compare --update-golden copies what fails or is missing, and deletes nothing") {
  const Pairs pairs;
  pairs.write("x/new/n.npy", input(1));
  pairs.write("y/old.npy", input(2));
  const Result result = pairs.compare({"x", "y", "--update-golden"});
  CHECK(result.exit_code == 1);
  CHECK(result.error == "clipper: y/d/a.npz: updated\nclipper: y/new/n.npy: created\n");
  CHECK(result.output == "FAIL x/old.npy: is missing\n4 pairs: 0 ok, 1 missing, 1 created, 2 updated\n");
  CHECK(pairs.read("y/d/a.npz") == pairs.read("x/d/a.npz"));
  CHECK(pairs.read("y/new/n.npy") == input(1));
  CHECK(pairs.read("y/old.npy") == input(2));
  const std::uint64_t before = status_of(pairs / "y/d/a.npz").st_ino;
  CHECK(pairs.compare({"x/d", "y/d", "--update-golden"}).exit_code == 0);
  CHECK(status_of(pairs / "y/d/a.npz").st_ino == before);
  pairs.refused({"compare", "--update-golden", "-", "b.npz"}, 2, "--update-golden takes files");
  pairs.refused({"compare", "--update-golden", "a.npz:w", "b.npz"}, 2, "--update-golden takes files");
  pairs.refused({"compare", "--update-golden", "--member", "w", "a.npz", "b.npz"}, 2, "--member");
}

TEST_CASE("--tolerance allclose is numpy.allclose: any dtype, NaN differs") {
  const WorkingDirectory directory{{"i.npy", int32_file({100000})},
                                   {"f.npy", float32_file({100001})},
                                   {"g.npy", float32_file({100002})},
                                   {"nan.npy", float32_file({std::nanf("")})}};
  const auto code = [&](const char* a, const char* e) {
    return directory.run({"compare", "--tolerance", "allclose", a, e}).exit_code;
  };
  CHECK(code("i.npy", "f.npy") == 0);
  CHECK(code("i.npy", "g.npy") == 1);
  CHECK(code("nan.npy", "nan.npy") == 1);
}

TEST_CASE("--report csv=FILE has a line for each element that differs") {
  const WorkingDirectory directory;
  std::vector<float> a(3000, 0);
  std::vector<float> b(3000, 0);
  std::string expected = "actual,expected,member,index,actual_element,expected_element\n";
  for (const std::size_t i : {0UL, 5UL, 1023UL, 1024UL, 2999UL}) {
    a[i] = 1.5F;
    expected += fmt::format("a.npz,b.npz,\"w,\"\"\",[{}],1.5,0\n", i);
  }
  directory.write("a.npz", npz_file({{"w,\"", float32_file(a)}}));
  directory.write("b.npz", npz_file({{"w,\"", float32_file(b)}}));
  const Result result = directory.run({"compare", "a.npz", "b.npz", "--report", "csv=d.csv"});
  CHECK(result.exit_code == 1);
  CHECK(contains(result.output, "5 of 3000 differ"));
  CHECK(directory.read("d.csv") == expected);
  CHECK(directory.run({"compare", "a.npz", "a.npz", "--report", "csv=d.csv"}).exit_code == 0);
  CHECK(directory.read("d.csv") == expected.substr(0, expected.find('\n') + 1));
  directory.refused({"compare", "a.npz", "b.npz", "--report", "csv"}, 2, "--report");
}

}  // namespace clipper::testing
