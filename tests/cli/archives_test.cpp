#include "cli/archive_samples.hpp"

/// Clipping .npz archives: which members, and where to; directories and lists, also with .npy files.
namespace clipper::testing {
namespace {

/// Contains a.npz.
class Directory : public WorkingDirectory {
 public:
  Directory() { write("a.npz", mixed_archive()); }
};

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

TEST_CASE("every tensor of an archive is clipped, and every other member is copied") {
  const Directory directory;
  directory.done(clip({"a.npz", "out.npz"}));
  CHECK(directory.read("out.npz") == mixed_result());
  CHECK(directory.read("a.npz") == mixed_archive());
  directory.done(clip({"-i", "a.npz"}));
  CHECK(directory.read("a.npz") == mixed_result());
}

TEST_CASE("an archive that would not change is not rewritten in place") {
  const Directory directory;
  directory.done(clip({"-i", "a.npz"}));
  const auto before = directory.snapshot();
  directory.done(clip({"-i", "a.npz"}));
  directory.done(clip({"a.npz", "a.npz"}));
  CHECK(directory.snapshot() == before);
}

TEST_CASE("--member clips only the members with these names or keys") {
  const Directory directory;
  for (const char* name : {"b", "b.npy"}) {
    directory.done(clip({"--member", name, "a.npz", "out.npz"}));
    CHECK(directory.read("out.npz") == npz_file({{"w.npy", input(1)},
                                                 {"mask.npy", kMask},
                                                 {"b.npy", int32_file({0, 3, 6})},
                                                 {"note.txt", "text"}}));
  }
  directory.done(clip({"--member=b", "--member", "w", "--member", "b", "a.npz", "out.npz"}));
  CHECK(directory.read("out.npz") == mixed_result());
  directory.refused(clip({"--member", "b", "--member", "no", "a.npz", "out.npz"}), 2,
                    "a.npz: no member 'no'; it has w, mask, b, note.txt");
  directory.refused(clip({"--member", "b", "--member", "mask", "a.npz", "out.npz"}), 2,
                    "a.npz:mask: --max 6 is not 0, 1, true or false, but the tensor is bool");
  directory.refused(clip({"--member", "", "--member", "b", "a.npz", "out.npz"}), 2, "--member has no value");
}

TEST_CASE("a member is found by its exact name before it is found by its key") {
  const WorkingDirectory directory;
  const auto contents = [](int w, int wnpy, int list) {
    const auto file = [](int number) { return number < 0 ? output(-number) : input(number); };
    return npz_file({{"w.npy", file(wnpy)}, {"w", file(w)}, {"[a,b].npy", file(list)}});
  };
  directory.write("a.npz", contents(1, 2, 3));
  const auto check = [&](const char* name, const std::string& expected) {
    CAPTURE(name);
    directory.done(clip({"--member", name, "a.npz", "out.npz"}));
    CHECK(directory.read("out.npz") == expected);
  };
  check("w", contents(-1, 2, 3));
  check("w.npy", contents(1, -2, 3));
  check("[a,b]", contents(1, 2, -3));
  directory.done(clip({"a.npz:w", "w.npy"}));
  CHECK(directory.read("w.npy") == output(1));
  directory.done(clip({"a.npz:[a,b].npy", "list.npy"}));
  CHECK(directory.read("list.npy") == output(3));
}

TEST_CASE("--other says what becomes of members that are not clipped") {
  const Directory directory;
  directory.done(clip({"--other", "copy", "a.npz", "out.npz"}));
  CHECK(directory.read("out.npz") == mixed_result());
  directory.done(clip({"--other", "drop", "a.npz", "out.npz"}));
  CHECK(directory.read("out.npz") == npz_file({{"w.npy", output(1)}, {"b.npy", int32_file({0, 3, 6})}}));
  directory.done(clip({"--other", "drop", "--member", "w", "a.npz", "out.npz"}));
  CHECK(directory.read("out.npz") == archive_result(1));
  directory.done(clip({"--other", "error", "out.npz", "same.npz"}));
  CHECK(directory.read("same.npz") == archive_result(1));
  directory.refused(clip({"--other", "error", "a.npz", "out.npz"}), 3,
                    "a.npz:mask: would not be clipped (bool), which --other error forbids");
  directory.refused(clip({"--other", "dorp", "a.npz", "out.npz"}), 2, "did you mean 'drop'?");
  directory.done(clip({"-q", "--other", "drop", "-i", "a.npz"}));
  CHECK(directory.read("a.npz") == npz_file({{"w.npy", output(1)}, {"b.npy", int32_file({0, 3, 6})}}));
}

TEST_CASE("an archive without members is written as it is, and one without a tensor is refused") {
  const WorkingDirectory directory{{"empty.npz", npz_file({})},
                                   {"mask.npz", npz_file({{"mask.npy", kMask}, {"note.txt", "text"}})}};
  directory.done(clip({"empty.npz", "out.npz"}));
  CHECK(directory.read("out.npz") == npz_file({}));
  for (const char* other : {"copy", "drop"})
    directory.refused(clip({"--other", other, "mask.npz", "out.npz"}), 3,
                      "mask.npz: no member can be clipped (the first, mask.npz:mask: bool)\n");
}

TEST_CASE("the members of a compressed archive are clipped, and clipped alike with any number of threads") {
  const WorkingDirectory directory;
  const std::vector<float> large = scattered_floats(300'000);
  directory.write("a.npz", npz_file({{"w.npy", input(1), true},
                                     {"mask.npy", kMask, true},
                                     {"large.npy", float32_file(large), true}}));
  for (const char* threads : {"1", "4"})
    directory.done(clip({"-j", threads, "a.npz", std::string(threads) + ".npz"}));
  CHECK((directory.read("1.npz") == directory.read("4.npz")));
  for (const auto& [key, contents] :
       {std::pair{"w", output(1)}, {"large", float32_file(clipped(large, 0, 6))}}) {
    directory.done({"--max", "inf", std::string("4.npz:") + key, "out.npy"});
    CHECK((directory.read("out.npy") == contents));
  }
}

TEST_CASE("FILE:MEMBER is a tensor wherever a tensor is read") {
  const Directory directory;
  directory.write("lo.npz",
                  npz_file({{"lo.npy", float32_file({0})}, {"each.npy", float32_file({-1, 0.5F, 3})}}));
  directory.write("golden.npz", npz_file({{"w.npy", output(1)}}));
  directory.write("x.npy", input(1));
  directory.done(clip({"a.npz:w", "w.npy"}));
  CHECK(directory.read("w.npy") == output(1));
  const Result streamed = directory.run(clip({"a.npz:w", "-"}));
  check_done(streamed);
  CHECK(streamed.output == output(1));
  directory.done({"--min", "@lo.npz:lo", "--max", "6", "x.npy", "o.npy"});
  CHECK(directory.read("o.npy") == output(1));
  directory.done({"--min", "@lo.npz:each.npy", "a.npz:w", "o.npy"});
  CHECK(directory.read("o.npy") == float32_file({-1, 0.5F, 9}));
  directory.done(clip({"--verify", "golden.npz:w", "a.npz:w"}));
  directory.done(clip({"--verify", "golden.npz:w", "x.npy"}));
  directory.done(clip({"--verify", "o2.npy", "--update-golden", "-q", "a.npz:w"}));
  CHECK(directory.read("o2.npy") == output(1));
  for (const char* shard : {"0/2", "1/2"}) directory.done(clip({"--shard", shard, "a.npz:w", "s.npy"}));
  directory.done(clip({"--finalize", "--shard", "0/2", "a.npz:w", "s.npy"}));
  CHECK(directory.read("s.npy") == output(1));
}

TEST_CASE("a file whose whole name is FILE:MEMBER is this file") {
  const Directory directory;
  directory.write("a.npz:w", input(7));
  directory.done(clip({"a.npz:w", "w.npy"}));
  CHECK(directory.read("w.npy") == output(7));
  directory.done(clip({"-i", "a.npz:w"}));
  CHECK(directory.read("a.npz:w") == output(7));
  CHECK(directory.read("a.npz") == mixed_archive());
  directory.done(clip({"w.npy", "none.npz:w"}));
  CHECK(directory.read("none.npz:w") == output(7));
}

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
               ".npy: --member needs an archive");
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
  CHECK_FALSE(contains(chosen.error, "in/b.npy"));
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
  set_mode(path, 0640);
  make_link("in/a.npz", tree / "link");
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
  make_link("nowhere", tree / "only/b.npz");
  check_refused(tree.run(clip({"-r", "-i", "only"})), 4, "only/b.npz: cannot be opened");
}

}  // namespace clipper::testing
