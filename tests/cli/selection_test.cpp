#include "cli/archive_samples.hpp"

/// Which tensors of archives, trees and lists are clipped, and what becomes of the others.
namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

std::string int64_file(const std::vector<std::int64_t>& elements) {
  return npy_file("<i8", "False", fmt::format("({},)", elements.size()), bytes_of(elements));
}

const std::string kIds = int64_file({16777217, 5});
const std::string kDay = npy_file("<M8[D]", "False", "(1,)", bytes_of<std::int64_t>({18000}));
const std::string kHalf = npy_file("<f2", "False", "(1,)", std::string("\0\x3c", 2));  // 1

/// a.npz: a float, integers and flags.
std::string members(const std::string& w, const std::string& ids, const std::string& mask = kMask) {
  return npz_file({{"w.npy", w}, {"ids.npy", ids}, {"mask.npy", mask}});
}

std::string safetensors(const std::string& ids) {
  std::string header = R"({"ids":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})";
  header.resize(56, ' ');
  return zip::little(header.size(), 8) + header + ids;
}

/// d/ with a file of each type that is not clipped, x.npy, and an archive of strings.
class Tree : public WorkingDirectory {
 public:
  Tree() {
    write("d/x.npy", input(1));
    for (const auto& [name, bytes] : others()) write("d/sub/" + name, bytes);
  }

  static std::vector<std::pair<std::string, std::string>> others() {
    return {
        {"bool.npy", kMask},
        {"complex.npy", npy_file("<c8", "False", "(1,)", std::string(8, '\1'))},
        {"date.npy", kDay},
        {"float8.npy", npy_file("<f1", "False", "(2,)", "\1\2")},
        {"long.npy", npy_file("<f16", "False", "(1,)", std::string(16, '\1'))},
        {"objects.npy", npy_file("|O", "False", "(1,)", "\x80\4]\x94.")},
        {"raw.npy", npy_file("|V3", "False", "(1,)", "abc")},
        {"strings.npy", npy_file("<U1", "False", "(1,)", std::string("a\0\0\0", 4))},
        {"strings.npz", npz_file({{"s.npy", npy_file("<U1", "False", "(1,)", std::string("b\0\0\0", 4))}})},
        {"structured.npy", structured()}};
  }

  void check_others(const std::string& below) const {
    for (const auto& [name, bytes] : others()) {
      CAPTURE(name);
      CHECK(read(below + "/sub/" + name) == bytes);
    }
  }

 private:
  static std::string structured() {
    const std::string descr = "[('x', '<f4')]";
    std::string file = npy_file(std::string(descr.size() - 2, '#'), "False", "(1,)", "1234");
    return file.replace(file.find("'#"), descr.size(), descr);
  }
};

constexpr const char* kReasons =
    "(Python objects, bool, complex numbers, dates, float8_e5m2, long double, raw bytes, "
    "strings, "
    "structured)";

}  // namespace

TEST_CASE("--to converts the floats of an archive; integers and flags keep their bytes and are counted") {
  const WorkingDirectory directory{{"a.npz", members(float32_file({1}), kIds)}};
  const Result result = directory.run({"--to", "float16", "a.npz", "out.npz"});
  CHECK(result.exit_code == 0);
  CHECK(result.error == "clipper: a.npz: 1 member clipped, 2 copied (bool, int64)\n");
  CHECK(directory.read("out.npz") == members(kHalf, kIds));
  directory.done({"-q", "--to", "float16", "--in-place", "a.npz"});
  CHECK(directory.read("a.npz") == members(kHalf, kIds));
  directory.write("b.npz", members(float32_file({1}), kIds));
  const Result both = directory.run({"--to", "float16", "--output-dir", "o", "a.npz", "b.npz"});
  CHECK(both.error == "clipper: 2 files: 2 clipped; 4 members not converted (bool, int64)\n");
  const Result checked = directory.run({"--to", "float16", "b.npz", "--verify", "out.npz"});
  CHECK(checked.exit_code == 0);
}

TEST_CASE(
    "the last line gives the types of all members that --to copies, and counts those removed in place") {
  const WorkingDirectory directory{
      {"a.npz", npz_file({{"w.npy", input(1)}, {"m.npy", kMask}, {"d.npy", kDay}})}};
  CHECK(directory.run({"--to", "int8", "a.npz", "out.npz"}).error ==
        "clipper: a.npz: 1 member clipped, 2 copied (bool, dates)\n");
  const Words drop = clip({"--other", "drop", "-i"});
  fs::create_directory(directory / "tree");
  fs::copy(directory / "a.npz", directory / "tree/a.npz");
  needs_posix("to replace an open file");
  CHECK(directory.run(joined(drop, {"-r", "tree"})).error ==
        "clipper: 1 file: 1 clipped; 2 members dropped (bool, dates)\n");
  CHECK(directory.run(joined(drop, {"a.npz"})).error ==
        "clipper: a.npz: 1 member clipped, 2 dropped (bool, dates)\n");
}

TEST_CASE("--member, FILE:NAME and --only select integers for --to") {
  const WorkingDirectory directory{{"a.npz", members(float32_file({1}), int64_file({7}))}};
  const std::string seven = npy_file("<f4", "False", "(1,)", bytes_of<float>({7}));
  directory.done({"--to", "float32", "--member", "ids", "a.npz", "out.npz"});
  CHECK(directory.read("out.npz") == members(float32_file({1}), seven));
  directory.done({"--to", "float32", "a.npz:ids", "out.npy"});
  CHECK(directory.read("out.npy") == seven);
  directory.done({"--to", "float32", "--only", "int", "a.npz", "out.npz"});
  CHECK(directory.read("out.npz") == members(float32_file({1}), seven));
  directory.done({"--to", "float16", "--only", "F32", "--only", "|i1", "a.npz", "out.npz"});
  CHECK(directory.read("out.npz") == members(kHalf, int64_file({7})));
  directory.done({"--max", "0", "--only", "bool", "a.npz", "out.npz"});
  CHECK(directory.read("out.npz") ==
        members(float32_file({1}), int64_file({7}), npy_file("|b1", "False", "(2,)", std::string(2, '\0'))));
  for (const char* kind : {"float", "date"}) {
    directory.done({"--min", "9", "--member", "ids", "--member", "w", "--only", kind, "a.npz", "out.npz"});
    CHECK(directory.read("out.npz") == members(float32_file({9}), int64_file({9})));
  }
  directory.refused({"--max", "0", "--only", "flaot", "a.npz", "out.npz"}, 2, "did you mean 'float'?");
  directory.refused({"--max", "0", "--only", "u8", "a.npz", "out.npz"}, 2, "--only: 'u8' is uint64 in numpy");
}

TEST_CASE("an archive in which --to finds nothing to convert is refused, with the kind that it has") {
  const WorkingDirectory directory{{"a.npz", npz_file({{"ids.npy", kIds}})},
                                   {"mask.npz", npz_file({{"mask.npy", kMask}})},
                                   {"a.safetensors", safetensors(std::string(8, '\1'))}};
  directory.refused({"--to", "float32", "a.npz", "o.npz"}, 3,
                    "(the first, a.npz:ids: int64); to convert it, add --only int");
  directory.refused({"--to", "float32", "mask.npz", "o.npz"}, 3, "add --only bool");
  directory.refused({"--to", "float32", "a.npz", "--verify", "a.npz"}, 3, "add --only int");
  directory.refused({"--to", "float32", "a.safetensors", "o.safetensors"}, 3, "add --only int");
  directory.done({"--to", "float32", "--only", "int", "a.safetensors", "o.safetensors"});
}

TEST_CASE("files are converted by --to whatever their dtype, also below directories") {
  const WorkingDirectory directory{{"d/ids.npy", int64_file({7})}};
  directory.done({"--to", "float32", "d/ids.npy", "out.npy"});
  directory.done({"--to", "float32", "-r", "d", "--output-dir", "o"});
  CHECK(directory.read("o/ids.npy") == directory.read("out.npy"));
  CHECK(directory.run({"--to", "float32", "--only", "float", "-r", "d", "--output-dir", "p"}).error ==
        "clipper: 1 file: 0 clipped, 1 copied (int64)\n");
  CHECK(directory.read("p/ids.npy") == int64_file({7}));
}

TEST_CASE(
    "below directories and in lists, valid tensors that are not clipped are copied, whole and counted") {
  const Tree tree;
  const auto check = [&](const Words& words, const std::string& out) {
    CAPTURE(words);
    std::string list = "d/x.npy\n";
    for (const auto& [name, bytes] : Tree::others()) list += "d/sub/" + name + "\n";
    const Result result = tree.run(clip(words), list);
    CHECK(result.exit_code == 0);
    CHECK(result.error == fmt::format("clipper: 11 files: 1 clipped, 10 copied {}\n", kReasons));
    CHECK(tree.read(out + "/x.npy") == output(1));
    tree.check_others(out);
  };
  check({"-r", "d", "--output-dir", "o"}, "o");
  check({"--files-from", "-", "--output-dir", "list"}, "list/d");
  check({"-r", "d", "-o", "t/{dir}/{name}"}, "t/d");
}

TEST_CASE("in place, files below directories that are not clipped are left alone") {
  const Tree tree;
  const auto before = fs::last_write_time(tree / "d/sub/bool.npy");
  for (const Words& way : {Words{"-i"}, Words{"-i", "--direct"}}) {
    CAPTURE(way);
    const bool takes_archives = way.size() == 1;
    if (!takes_archives) fs::remove(tree / "d/sub/strings.npz");
    const Result result = tree.run(joined(clip({"-r", "d"}), way));
    CHECK(result.exit_code == 0);
    CHECK(result.error == fmt::format("clipper: {} files: 1 clipped, {} left alone {}\n",
                                      takes_archives ? 11 : 10, takes_archives ? 10 : 9, kReasons));
  }
  CHECK(tree.read("d/x.npy") == output(1));
  CHECK(fs::last_write_time(tree / "d/sub/bool.npy") == before);
  const Result dry = tree.run(clip({"-r", "d", "-i", "--dry-run"}));
  CHECK(contains(dry.error, "d/sub/bool.npy: would be left alone (bool)\n"));
}

TEST_CASE("a file that is named, or whose kind is, is clipped; --other drops or forbids the rest") {
  const Tree tree;
  const std::string zeros = npy_file("|b1", "False", "(2,)", std::string(2, '\0'));
  tree.done({"--max", "0", "-r", "d/sub/bool.npy", "--output-dir", "named"});
  CHECK(tree.read("named/d/sub/bool.npy") == zeros);
  const Result only = tree.run({"--max", "0", "--only", "bool", "-r", "d", "--output-dir", "only", "-v"});
  CHECK(tree.read("only/sub/bool.npy") == zeros);
  CHECK(tree.read("only/x.npy") == input(1));
  CHECK(contains(only.error, "clipper: d/x.npy: copied (float32)\n"));
  CHECK(tree.run(clip({"-r", "d", "--output-dir", "drop", "--other", "drop"})).exit_code == 0);
  CHECK(tree.read("drop/x.npy") == output(1));
  CHECK(!fs::exists(tree / "drop/sub/bool.npy"));
  tree.refused(clip({"-r", "d", "--output-dir", "no", "--other", "error"}), 3, "which --other error forbids");
  const Result json = tree.run(clip({"--json", "-r", "d", "--output-dir", "json"}));
  CHECK(contains(json.output, R"("action":"copied","reason":"bool")"));
  CHECK(contains(json.output, R"("files":11,"ok":11,"failed":0,"other":10)"));
}

TEST_CASE("what is damaged or unknown below a directory is an error, whatever its type") {
  const Tree tree;
  const auto refused = [&](const std::string& bytes, const char* word) {
    tree.write("d/bad.npy", bytes);
    tree.refused(clip({"-r", "d", "--output-dir", "o"}), 3, word);
  };
  refused("version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer");
  refused(kMask.substr(0, kMask.size() - 1), "2 data bytes expected for bool");
  refused(npy_file("<c8", "False", "(2,)", "1234"), "16 data bytes expected");
  refused(npy_file("<U1", "False", "(1,)", "1234abcd"), "4 bytes after the array");
  refused(npy_file("<q9", "False", "(1,)", "1234"), "is not supported");
  refused(npy_file("|V2", "False", "(2,)", "1234"), "may be bfloat16");
}

TEST_CASE("--verify of a directory compares what is not clipped with its golden file as it is") {
  const Tree tree;
  static_cast<void>(tree.run(clip({"-r", "d", "--output-dir", "golden"})));
  const Words verify = clip({"-r", "d", "--verify", "golden"});
  CHECK(tree.run(verify).output == "11 pairs: 11 ok\n");
  fs::create_directory(tree / "dropped");
  fs::copy(tree / "golden/x.npy", tree / "dropped/x.npy");
  CHECK(tree.run(clip({"-r", "d", "--verify", "dropped", "--other", "drop"})).output == "1 pair: 1 ok\n");
  tree.write("golden/sub/bool.npy", npy_file("|b1", "False", "(2,)", std::string(2, '\1')));
  tree.write("golden/sub/strings.npy", npy_file("<U1", "False", "(1,)", std::string("b\0\0\0", 4)));
  const Result different = tree.run(verify);
  CHECK(different.exit_code == 1);
  CHECK(contains(different.output, "11 pairs: 9 ok, 2 FAIL\n"));
  needs_posix("to replace an open file");
  CHECK(tree.run(joined(verify, {"--update-golden"})).exit_code == 0);
  tree.check_others("golden");
}

}  // namespace clipper::testing
