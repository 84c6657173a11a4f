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

TEST_CASE("an unreadable directory is an error, also through a link") {
  Trees trees;
  trees.link("../real", "got/sub");
  fs::permissions(trees.path(), fs::perms::others_exec, fs::perm_options::add);
  fs::permissions(trees / "real", fs::perms::none);
  const Result result = trees.run({"compare", "got", "want"}, become_user);
  check_refused(result, 4, "got/sub: cannot be read: Permission denied");
  fs::permissions(trees / "real", fs::perms::owner_all);
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

}  // namespace clipper::testing
