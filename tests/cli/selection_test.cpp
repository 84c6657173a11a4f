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

}  // namespace clipper::testing
