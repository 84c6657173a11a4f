#include <nlohmann/json.hpp>

#include "cli/compare.hpp"
#include "support/archives.hpp"
#include "support/fork.hpp"

/// Comparisons of two directories, and of two archives.
namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

/// Three directories: got/ and want/ both contain the tensor a.npy, real/ contains b.npy.
class Trees : public WorkingDirectory {
 public:
  Trees() {
    for (const char* const name : {"got", "want", "real"}) fs::create_directory(*this / name);
    write("got/a.npy", float32_file({1}));
    write("want/a.npy", float32_file({1}));
    write("real/b.npy", float32_file({1}));
  }
  void link(const std::string& to, const std::string& name) { make_link(to, *this / name); }

  void check_error_status(int status, std::string_view word) const {
    const Result result = run_compare(*this, {"got", "want"});
    CAPTURE(result.output);
    check_refused(result, status, word);
  }
};

using Members = std::vector<NpzMember>;

std::string bool_file(const std::string& elements) {
  return npy_file("|b1", "False", "(" + std::to_string(elements.size()) + ",)", elements);
}

/// A directory with the archives a.npz and b.npz.
class Archives : public WorkingDirectory {
 public:
  Archives(const Members& a, const Members& b) {
    write("a.npz", npz_file(a));
    write("b.npz", npz_file(b));
  }

  /// Checks that comparing the two prints `output` and finds differences if that is not empty.
  void check(const std::string& output, const Words& options = {}) const {
    Words words = options;
    words.insert(words.end(), {"a.npz", "b.npz"});
    if (output.empty())
      check_same(*this, words);
    else
      check_different(*this, words, output);
  }

  void check_error(const Words& words, int status, std::string_view line) const {
    CHECK(refused(words, status, "").error == line);
  }
};

const NpzMember kOne{"one.npy", float32_file({1})};
const NpzMember kTwo{"two.npy", float32_file({2, 3})};
const NpzMember kMask{"mask.npy", bool_file("\1")};
const NpzMember kText{"readme.txt", "text"};

}  // namespace

TEST_CASE("a FIFO or a device in a directory is an error and does not block") {
  Trees trees;
  trees.write("want/b.npy", float32_file({1}));
  make_fifo(trees / "got/b.npy");
  trees.check_error_status(3, "b.npy: not a regular file");
  fs::remove(trees / "got/b.npy");
  trees.link("/dev/zero", "got/b.npy");
  trees.check_error_status(3, "b.npy: not a regular file");
}

TEST_CASE("compare follows links to directories") {
  Trees trees;
  trees.link("../real", "got/sub");
  check_different(trees, {"got", "want"},
                  "FAIL got/sub/b.npy: want/sub/b.npy is missing\n2 pairs: 1 ok, 1 missing\n");
  check_different(trees, {"want", "got"}, "FAIL want/sub/b.npy: is missing\n2 pairs: 1 ok, 1 missing\n");
  trees.link("../real", "want/sub");
  check_all_same(trees, {"got", "want"}, "2 pairs: 2 ok\n");
  fs::remove(trees / "want/sub");
  fs::create_directory(trees / "want/sub");
  trees.write("want/sub/b.npy", float32_file({2}));
  CHECK(run_compare(trees, {"got", "want"}).output.starts_with("FAIL got/sub/b.npy: 1 of 1 differ"));
}

TEST_CASE("a directory with two links to it is compared twice and is not a loop") {
  Trees trees;
  for (const char* const name : {"got/one", "got/two", "want/one", "want/two"}) trees.link("../real", name);
  const Result result = run_compare(trees, {"-v", "got", "want"});
  check_done(result);
  CHECK(result.output == "ok got/a.npy\nok got/one/b.npy\nok got/two/b.npy\n3 pairs: 3 ok\n");
}

TEST_CASE("a loop of links is an error, not a difference") {
  Trees trees;
  fs::create_directory(trees / "got/sub");
  trees.link("..", "got/sub/up");
  trees.check_error_status(4, "got/sub/up: leads back to got: a loop of links");
  fs::remove(trees / "got/sub/up");
  trees.link(".", "want/here");
  trees.check_error_status(4, "want/here: leads back to want: a loop of links");
}

TEST_CASE("directories and FIFOs called .npy are compared with files only") {
  Trees trees;
  fs::create_directory(trees / "got/d.npy");
  make_fifo(trees / "want/f.npy");
  check_all_same(trees, {"got", "want"}, "1 pair: 1 ok\n");
  fs::create_directory(trees / "want/d.npy");
  check_all_same(trees, {"got", "want"}, "1 pair: 1 ok\n");
  trees.write("got/f.npy", float32_file({1}));
  trees.check_error_status(3, "f.npy: not a regular file");
}

TEST_CASE("a link x.npy to a directory is an error if the other side is a tensor") {
  Trees trees;
  trees.link("../real", "got/l.npy");
  const Result only = run_compare(trees, {"got", "want"});
  CHECK(only.exit_code == 1);
  CHECK(only.output == "FAIL got/l.npy/b.npy: want/l.npy/b.npy is missing\n2 pairs: 1 ok, 1 missing\n");
  trees.write("want/l.npy", float32_file({1}));
  const Result result = run_compare(trees, {"got", "want"});
  CHECK(result.exit_code == 4);
  CHECK(result.error == "clipper: got/l.npy: cannot be read: Is a directory\n");
}

TEST_CASE("a broken link is an error if it is called .npy") {
  Trees trees;
  trees.link("nowhere", "got/other");
  trees.link("loop", "want/loop");
  check_all_same(trees, {"got", "want"}, "1 pair: 1 ok\n");
  trees.link("nowhere", "got/x.npy");
  trees.link("nowhere", "want/x.npy");
  trees.check_error_status(4, "got/x.npy: cannot be opened");
}

TEST_CASE("an unreadable directory is an error, also through a link") {
  Trees trees;
  trees.link("../real", "got/sub");
  fs::permissions(trees.path(), fs::perms::others_exec, fs::perm_options::add);
  fs::permissions(trees / "real", fs::perms::none);
  const Result result = trees.run({"compare", "got", "want"}, become_user);
  check_refused(result, 4, "got/sub: cannot be read: Permission denied");
  fs::permissions(trees / "real", fs::perms::owner_all);
}

TEST_CASE("a tree deeper than the limit of file descriptors is compared") {
  Trees trees;
  for (const char* const side : {"got/", "want/"}) {
    std::string path = trees / side;
    for (int depth = 0; depth < 100; ++depth) path += "d/";
    fs::create_directories(path);
    write_file(path + "x.npy", float32_file({1}));
  }
  const Result result = trees.run_in_shell("ulimit -n 40; \"$@\"", {"compare", "-v", "got", "want"});
  check_done(result);
  CHECK(result.output.starts_with("ok got/a.npy\nok got/d/d/"));
}

TEST_CASE("archives match if their members match, in any order and compression") {
  const NpzMember deflated{kTwo.name, kTwo.contents, true};
  const Archives archives({kOne, kTwo, kMask, kText}, {kText, deflated, kMask, kOne});
  archives.check("");
  const Result result = run_compare(archives, {"-v", "a.npz", "b.npz"});
  check_done(result);
  CHECK(result.output == "ok a.npz:readme.txt\nok a.npz:two\nok a.npz:mask\nok a.npz:one\n");
  CHECK(run_compare(archives, {"--bytes", "a.npz", "b.npz"}).output.starts_with("FAIL a.npz: "));
}

TEST_CASE("members of archives are compared by the rules of tensors") {
  const Archives archives({kOne, {"w.npy", float32_file({1, 2})}}, {kOne, {"w.npy", float32_file({1, 2.5})}});
  archives.check(
      "FAIL a.npz:w: 1 of 2 differ (50 %); first [1] actual 2 expected 2.5 (0.5, 2097152 ulp); max abs 0.5 "
      "at "
      "[1]; would pass with --atol 0.5 or --ulp 2097152\n");
  archives.check("", {"--atol", "0.5"});
  archives.check("", {"--max-mismatch", "1"});
}

TEST_CASE("a member that one archive lacks is a difference") {
  const Archives archives({kOne, kTwo}, {kMask, kTwo});
  archives.check("FAIL a.npz:mask: is missing\nFAIL a.npz:one: b.npz:one is missing\n");
  const Archives names({{"w", "x"}, {"w.npy", kOne.contents}}, {{"w", "x"}});
  names.check("FAIL a.npz:w.npy: b.npz:w.npy is missing\n");
}

TEST_CASE("members of another dtype or shape cannot match") {
  const Archives archives({kOne, {"two.npy", bool_file("\1")}}, {{"one.npy", float32_file({1, 1})}, kTwo});
  archives.check(
      "FAIL a.npz:one: shape (1,), expected (2,)\n"
      "FAIL a.npz:two: dtype bool, expected float32\n");
}

TEST_CASE("flags, dates and complex numbers are compared as what they are") {
  const std::int64_t nat = std::numeric_limits<std::int64_t>::min();
  const auto dates = [](const std::string& descr, const std::vector<std::int64_t>& elements) {
    return npy_file(descr, "False", "(2,)", bytes_of(elements));
  };
  const auto pairs = [](const std::vector<float>& parts) {
    return npy_file("<c8", "False", "(2,)", bytes_of(parts));
  };
  const Archives archives({{"mask.npy", npy_file("|b1", "False", "(2,)", "\1\2")},
                           {"day.npy", dates("<M8[D]", {nat, 20})},
                           {"unit.npy", dates("<M8[D]", {1, 2})},
                           {"span.npy", dates("<m8[s]", {nat, 20})},
                           {"c.npy", pairs({1, 3, 0, 4})}},
                          {{"mask.npy", npy_file("|b1", "False", "(2,)", std::string("\3\0", 2))},
                           {"day.npy", dates("<M8[D]", {nat, 21})},
                           {"unit.npy", dates("<M8[s]", {1, 2})},
                           {"span.npy", dates("<m8[s]", {1, 20})},
                           {"c.npy", pairs({1, 3, 3, 0})}});
  const std::string unit = "FAIL a.npz:unit: dtype datetime64[D], expected datetime64[s]\n";
  const std::string span =
      "FAIL a.npz:span: 1 of 2 differ (50 %); first [0] actual NaT expected 1; no tolerance would let it "
      "pass\n";
  archives.check(
      "FAIL a.npz:mask: 1 of 2 differ (50 %); first [1] actual True expected False (1); max abs 1 at [1]; "
      "would "
      "pass with --atol 1\n"
      "FAIL a.npz:day: 1 of 2 differ (50 %); first [1] actual 1970-01-21 expected 1970-01-22 (1); max abs 1 "
      "at "
      "[1]; would pass with --atol 1\n" +
      unit + span +
      "FAIL a.npz:c: 1 of 2 differ (50 %); first [1] actual 0+4j expected 3+0j (5, 1082130432 ulp); max abs "
      "5 at "
      "[1]; would pass with --atol 5 or --ulp 1082130432\n");
  const auto output = [&](const std::string& option, const std::string& value) {
    return run_compare(archives, {option, value, "a.npz", "b.npz"}).output;
  };
  CHECK(output("--atol", "5") == unit + span);
  CHECK(contains(output("--rtol", "2"), "a.npz:day"));  // the zero of dates is arbitrary
  CHECK_FALSE(contains(output("--rtol", "2"), "a.npz:c"));
  CHECK(contains(output("--nan", "differ"), "a.npz:day: 2 of 2"));
  const Result any = run_compare(archives, {"--any-dtype", "a.npz:mask", "b.npz:unit"});
  CHECK(any.output == "FAIL a.npz:mask: dtype bool, expected datetime64[s]\n");
  CHECK(run_compare(archives, {"--diff-out", "d.npy", "a.npz:c", "b.npz:c"}).exit_code == 2);
}

TEST_CASE("members that are no tensors are compared byte by byte") {
  const auto strings = [](const std::string& elements) { return npy_file("|S1", "False", "(2,)", elements); };
  const Archives archives({{"names.npy", strings("ab")}, kText},
                          {{"names.npy", strings("ac")}, {"readme.txt", "longer text"}});
  archives.check(
      "FAIL a.npz:names: 1 of 130 bytes differ (0.769 %); first [129] actual 98 expected 99 (1)\n"
      "FAIL a.npz:readme.txt: 4 bytes, expected 11\n");
}

TEST_CASE("members that are no numbers are equal or different, whatever is tolerated") {
  const auto strings = [](const std::string& elements, const std::string& shape) {
    return npy_file("|S1", "False", shape, elements);
  };
  const Members members{{"w.npy", float32_file({1, 2})}, {"s.npy", strings("ab", "(1, 2)")}};
  const Members other{members[0], {"s.npy", GENERATE_COPY(strings("ac", "(1, 2)"), strings("ab", "(2, 1)"))}};
  const Archives archives(members, other);
  for (const Words& words : std::vector<Words>{{"--atol", "9"},
                                               {"--rtol", "9"},
                                               {"--ulp", "9"},
                                               {"--max-mismatch", "9"},
                                               {"--max-mismatch", "100%"},
                                               {"--tolerance", "numpy"},
                                               {"--min-cosine", "-1"},
                                               {"--max-rmse", "9"},
                                               {"--min-sqnr", "-9"}}) {
    CAPTURE(words);
    const Result compared = run_compare(archives, joined(words, {"a.npz", "b.npz"}));
    CHECK(compared.exit_code == 1);
    CHECK(compared.output.starts_with("FAIL a.npz:s: "));
    const Result verified =
        archives.run(joined({"--max", "2", "--member", "w", "a.npz", "--verify", "b.npz"}, words));
    CHECK(verified.exit_code == 1);
    CHECK(verified.output == compared.output);
  }
  const Words metrics{"--metrics", "--max-rmse", "9", "a.npz"};
  const std::string none = "; no metrics: compared byte by byte\n";
  CHECK(contains(run_compare(archives, joined(metrics, {"b.npz"})).output, none));
  CHECK(contains(run_compare(archives, joined(metrics, {"a.npz"})).output, "ok a.npz:s: " + none.substr(2)));
  check_refused(run_compare(archives, {"--bytes", "--min-cosine", "0", "a.npz", "b.npz"}), 2,
                "--min-cosine and --bytes cannot be used together");
}

TEST_CASE("tensors of safetensors files that clipper does not read differ if types or shapes do") {
  const auto file = [](const std::string& type, const std::string& shape) {
    const std::string header =
        fmt::format(R"({{"m":{{"dtype":"{}","shape":{},"data_offsets":[0,24]}}}})", type, shape);
    return bytes_of<std::uint64_t>({header.size()}) + header + std::string(24, '\1');
  };
  const WorkingDirectory directory{{"a.safetensors", file("F6_E2M3", "[8,4]")},
                                   {"b.safetensors", file("F6_E2M3", "[4,8]")},
                                   {"c.safetensors", file("F6_E3M2", "[8,4]")}};
  check_same(directory, {"a.safetensors", "a.safetensors"});
  check_different(directory, {"a.safetensors", "b.safetensors"},
                  "FAIL a.safetensors:m: shape (8, 4), expected (4, 8)\n");
  check_different(directory, {"a.safetensors", "c.safetensors"},
                  "FAIL a.safetensors:m: dtype F6_E2M3, expected F6_E3M2\n");
}

TEST_CASE("archives without members match, and lack all members of others") {
  const Archives archives({}, {});
  archives.check("");
  CHECK(run_compare(archives, {"-v", "a.npz", "b.npz"}).output == "ok a.npz\n");
  archives.write("b.npz", npz_file({kOne}));
  archives.check("FAIL a.npz:one: is missing\n");
}

TEST_CASE("a damaged member is an error, and the others are compared") {
  const Archives archives({kOne, kTwo}, {kOne, {"two.npy", float32_file({2, 4})}});
  flip(archives / "a.npz", npz_file({kOne}).find(kOne.contents) + kOne.contents.size() - 1);
  const Result result = run_compare(archives, {"a.npz", "b.npz"});
  check_refused(result, 3, "a.npz:one: ");
  CHECK(result.output.starts_with("FAIL a.npz:two: 1 of 2 differ"));
}

TEST_CASE("a member NAME.npy that is no .npy file, or a malformed one, is an error") {
  const NpzMember bad{"one.npy", GENERATE("text", "\x93NUMPY\1")};
  const Archives archives({bad}, {bad});
  check_refused(run_compare(archives, {"a.npz", "b.npz"}), 3, "a.npz:one: ");
}

TEST_CASE("bytes after the array of a member are refused unless they are ignored") {
  const NpzMember longer{"one.npy", kOne.contents + "abc"};
  const Archives archives({longer}, {kOne});
  check_refused(run_compare(archives, {"a.npz", "b.npz"}), 3,
                "a.npz:one: 3 bytes after the array; to allow this, set --trailing ignore");
  archives.check("", {"--trailing", "ignore"});
}

TEST_CASE("each pair of members has a JSON record with its name") {
  const Archives archives({kOne, kTwo}, {kOne});
  const Result result = run_compare(archives, {"--json", "a.npz", "b.npz"});
  CHECK(result.exit_code == 1);
  std::istringstream lines(result.output);
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    CHECK(json.at("actual") == "a.npz");
    CHECK(json.at("expected") == "b.npz");
    found.push_back(json.at("member").get<std::string>() + " " + json.at("status").dump() + " " +
                    json.value("reason", ""));
  }
  CHECK(found == std::vector<std::string>{"one.npy 0 ", "two.npy 1 b.npz:two is missing"});
  archives.write("b.npz", "PK\3\4");
  const auto json = nlohmann::json::parse(run_compare(archives, {"--json", "a.npz", "b.npz"}).output);
  CHECK_FALSE(json.contains("member"));
  CHECK(json.at("status") == 3);
}

TEST_CASE("a tensor of an archive is compared with a tensor, not the archive") {
  const Archives archives({kOne, kTwo}, {kTwo});
  archives.write("two.npy", kTwo.contents);
  check_same(archives, {"a.npz:two", "two.npy"});
  check_same(archives, {"two.npy", "a.npz:two.npy"});
  check_same(archives, {"-", "a.npz:two"}, kTwo.contents);
  check_different(archives, {"a.npz:one", "two.npy"}, "FAIL a.npz:one: shape (1,), expected (2,)\n");
  const std::string error =
      "clipper: a.npz: not a .npy file but an .npz archive; name a tensor in it: a.npz:NAME\n";
  archives.check_error({"compare", "a.npz", "two.npy"}, 3, error);
  archives.check_error({"compare", "two.npy", "a.npz"}, 3, error);
  archives.check_error({"compare", "a.npz:three", "two.npy"}, 2,
                       "clipper: a.npz: no member 'three'; it has one, two\n");
}

TEST_CASE("--diff-out takes tensors of archives, not archives") {
  const Archives archives({kTwo}, {{"two.npy", float32_file({2, 3.5})}});
  archives.check_error({"compare", "--diff-out", "d.npy", "a.npz", "b.npz"}, 2,
                       "clipper: --diff-out takes two tensors, not archives; name them: a.npz:NAME\n");
  CHECK(run_compare(archives, {"--diff-out", "d.npy", "a.npz:two", "b.npz:two"}).exit_code == 1);
  CHECK(archives.read("d.npy") == float32_file({0, 0.5}));
  check_refused(run_compare(archives, {"--diff-out", "b.npz", "a.npz:two", "b.npz:two"}), 2,
                "b.npz is one of the compared files");
}

TEST_CASE("archives in directories are compared member by member") {
  const Archives archives({kOne, kTwo}, {kOne});
  for (const char* const name : {"a", "b"}) {
    fs::create_directory(archives / name);
    fs::rename(archives / std::string(name) + ".npz", archives / std::string(name) + "/x.npz");
    archives.write(std::string(name) + "/x.npy", kTwo.contents);
  }
  check_different(archives, {"a", "b"},
                  "FAIL a/x.npz:two: b/x.npz:two is missing\n3 pairs: 2 ok, 1 missing\n");
  fs::remove(archives / "b/x.npz");
  check_different(archives, {"a", "b"}, "FAIL a/x.npz: b/x.npz is missing\n2 pairs: 1 ok, 1 missing\n");
}

TEST_CASE("types that clipper does not read are compared byte by byte as files, as in archives") {
  const WorkingDirectory directory;
  for (const char* const descr : {"<U1", "|S4", "|O", "|V4", "<V1", "<f16"}) {
    CAPTURE(descr);
    const std::string elements(descr == std::string("<f16") ? 16 : 4, 'a');
    const std::string shape = descr == std::string("<V1") ? "(4,)" : "(1,)";
    for (const auto& [name, last] : {std::pair{"a", 'a'}, std::pair{"b", 'b'}}) {
      const std::string file = npy_file(descr, "False", shape, elements.substr(1) + last);
      directory.write(name + std::string(".npy"), file);
      directory.write(name + std::string(".npz"), npz_file({{"w.npy", file}}));
    }
    check_same(directory, {"--rtol", "1", "a.npy", "a.npy"});
    check_same(directory, {"a.npy", "a.npz:w"});
    std::string difference = run_compare(directory, {"--rtol", "1", "a.npz", "b.npz"}).output;
    const std::string member = "FAIL a.npz:w: 1 of ";
    CHECK(difference.starts_with(member));
    check_different(directory, {"--rtol", "1", "a.npy", "b.npy"},
                    difference.replace(0, member.size(), "FAIL a.npy: 1 of "));
  }
  directory.write("f.npy", float32_file({1}));
  check_different(directory, {"a.npy", "f.npy"},
                  "FAIL a.npy: a.npy has a type that clipper does not read, f.npy has numbers\n");
  directory.refused({"compare", "--diff-out", "d.npy", "a.npy", "b.npy"}, 2,
                    "--diff-out: is not written for types");
  directory.refused({"compare", "-", "a.npy"}, 3,
                    "standard input: dtype '<f16' (long double, float128) is not supported",
                    directory.read("a.npy"));
  const std::string strings =
      "\x08\x02\x10\x08\x32\x02"
      "ab\x32\x02";
  directory.write("a.pb", strings + "cd");
  directory.write("b.pb", strings + "ce");
  check_same(directory, {"a.pb", "a.pb"});
  check_different(directory, {"a.pb", "b.pb"},
                  "FAIL a.pb: 1 of 12 bytes differ (8.33 %); first [11] actual 100 expected 101 (1)\n");
}

TEST_CASE("compare fails if it compares nothing, unless --allow-empty is given") {
  const Archives archives({kOne}, {kTwo});
  for (const char* const name : {"a", "b", "c", "d"}) fs::create_directory(archives / name);
  archives.write("a/x.npy", kOne.contents);
  archives.write("b/x.npy", kTwo.contents);
  for (const Words& words :
       {Words{"--only", "int", "a.npz", "b.npz"}, Words{"--exclude-member", "*", "a.npz", "b.npz"},
        Words{"--only", "int", "a", "b"}, Words{"--exclude", "*", "a", "b"}, Words{"c", "d"}}) {
    CAPTURE(words);
    const bool are_directories = words.back().size() == 1;
    for (const char* const json : {"--json", "--quiet"}) {
      const Result result = run_compare(archives, joined({json}, words));
      CHECK(result.exit_code == 3);
      CHECK(contains(result.error, words.front() == "c" || words.front() == "--exclude"
                                       ? "contain no"
                                       : "nothing was compared"));
      CHECK(contains(result.output, "\"status\":3") == (json == std::string("--json")));
    }
    check_all_same(archives, joined({"--allow-empty"}, words), are_directories ? "0 pairs: 0 ok\n" : "");
  }
}

TEST_CASE("an archive that arrives on standard input is refused with advice") {
  const Archives archives({kOne}, {kOne});
  const Result result = run_compare(archives, {"-", "b.npz"}, npz_file({kOne}));
  check_refused(result, 3, "standard input: not a .npy file but an .npz archive; save it as a file first");
}

}  // namespace clipper::testing
