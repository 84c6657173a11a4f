#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "cli/archive_samples.hpp"

/// Archives beside .npy files: directories, lists, shards, and failures of some inputs.
namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

/// in/ with archives 1 and 3 and tensors 2 and 4, and files that are neither.
class Tree : public WorkingDirectory {
 public:
  Tree() {
    fs::create_directories(*this / "in/deep");
    write("in/a.npz", archive(1));
    write("in/b.npy", input(2));
    write("in/deep/c.npz", archive(3));
    write("in/deep/d.npy", input(4));
    write("in/deep/e.zip", archive(5));
  }

  void check_clipped(const std::string& below) const {
    CAPTURE(below);
    CHECK(read(below + "/a.npz") == archive_result(1));
    CHECK(read(below + "/b.npy") == output(2));
    CHECK(read(below + "/deep/c.npz") == archive_result(3));
    CHECK(read(below + "/deep/d.npy") == output(4));
  }
};

const Words kFiles{"in/a.npz", "in/b.npy", "in/deep/c.npz", "in/deep/d.npy"};

Words with_files(const Words& words) {
  return joined(words, kFiles);
}

}  // namespace

TEST_CASE("archives and tensors are clipped together, wherever the results go") {
  const Tree tree;
  tree.done(clip(with_files({"--output-dir", "one"})));
  tree.check_clipped("one/in");
  tree.done(clip({"-r", "--output-dir", "two", "in"}));
  tree.check_clipped("two");
  CHECK_FALSE(fs::exists(tree / "two/deep/e.zip"));
  tree.done(clip(with_files({"--output-dir", "three", "--relative-to", "."})));
  tree.check_clipped("three/in");
  tree.done(clip({"--output-dir", "four", "--files-from", "-"}),
            "in/a.npz\nin/b.npy\nin/deep/c.npz\nin/deep/d.npy\n");
  tree.check_clipped("four/in");
  tree.done(clip(with_files({"-o", "{dir}/out.{name}"})));
  CHECK(tree.read("in/out.a.npz") == archive_result(1));
  CHECK(tree.read("in/deep/out.d.npy") == output(4));
  tree.done(clip({"-r", "-i", "in"}));
  tree.check_clipped("in");
}

TEST_CASE("with --shard, every archive and tensor of a list is done by one process") {
  const Tree tree;
  for (const char* shard : {"0/3", "1/3", "2/3"})
    tree.done(clip(with_files({"--shard", shard, "--output-dir", "out"})));
  tree.check_clipped("out/in");
}

TEST_CASE("all archives are checked before anything is created") {
  const Tree tree;
  tree.write("bad.npz", npz_file({{"w.npy", input(1)}, {"x.npy", input(2).substr(0, 130)}}));
  const auto refused = [&](const Words& words) {
    Words all = with_files(words);
    all.emplace_back("bad.npz");
    tree.refused(clip(all), 3, "bad.npz:x: ");
  };
  refused({"--output-dir", "out"});
  refused({"-o", "new/{name}"});
  refused({"-i"});
  tree.refused(clip(with_files({"--member", "w", "--output-dir", "out"})), 2,
               ".npy: --member needs an .npz archive");
}

TEST_CASE("with --keep-going, archives that fail do not stop the others") {
  const Tree tree;
  tree.write("in/a.npz", "PK\3\4");
  std::string damaged = archive(3);
  damaged[damaged.find(input(3)) + 130] ^= 1;
  tree.write("in/deep/c.npz", damaged);
  const Result result = tree.run(clip({"-r", "-k", "--output-dir", "out", "in"}));
  CHECK(result.exit_code == 3);
  CHECK(contains(result.error, "clipper: in/a.npz: "));
  CHECK(contains(result.error, "clipper: in/deep/c.npz:w: "));
  CHECK(tree.read("out/b.npy") == output(2));
  CHECK(tree.read("out/deep/d.npy") == output(4));
  CHECK_FALSE(fs::exists(tree / "out/a.npz"));
  CHECK_FALSE(fs::exists(tree / "out/deep/c.npz"));

  const Result chosen = tree.run(clip({"-r", "-k", "--member", "w", "-i", "in"}));
  CHECK(chosen.exit_code == 3);
  CHECK(contains(chosen.error, "in/b.npy: --member needs an .npz archive"));
  CHECK(tree.read("in/b.npy") == input(2));
}

TEST_CASE("existing archives are replaced unless --no-clobber is given") {
  const Tree tree;
  tree.write("old.npz", "old");
  tree.refused(clip({"-n", "in/a.npz", "old.npz"}), 5, "old.npz: already exists");
  tree.done(clip({"-n", "-f", "in/a.npz", "old.npz"}));
  CHECK(tree.read("old.npz") == archive_result(1));
}

TEST_CASE("in place, an archive keeps its mode, and its links are followed") {
  const Tree tree;
  const std::string path = tree / "in/a.npz";
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  fs::create_symlink("in/a.npz", tree / "link");
  tree.done(clip({"-i", "link"}));
  CHECK(tree.read("in/a.npz") == archive_result(1));
  CHECK(mode_of(path) == 0640);
  CHECK(fs::is_symlink(tree / "link"));
  fs::create_hard_link(tree / "in/deep/c.npz", tree / "hard.npz");
  tree.refused(clip({"-i", "hard.npz"}), 5, "hard.npz: ");
}

TEST_CASE("a directory that has only archives is not empty, and one without tensors is refused") {
  const Tree tree;
  fs::create_directories(tree / "only");
  fs::create_directories(tree / "zip");
  tree.write("only/a.npz", archive(1));
  tree.write("zip/a.zip", archive(1));
  tree.done(clip({"-r", "-i", "only"}));
  CHECK(tree.read("only/a.npz") == archive_result(1));
  tree.refused(clip({"-r", "-i", "zip"}), 3, "zip: contains no .npy or .npz file");
  fs::create_symlink("nowhere", tree / "only/b.npz");
  check_refused(tree.run(clip({"-r", "-i", "only"})), 4, "only/b.npz: cannot be opened");
}

}  // namespace clipper::testing
