#include "cli/archive_samples.hpp"

/// Mistakes with .npz archives: each is one clear line, and nothing is written.
namespace clipper::testing {
namespace {

struct Mistake {
  Words words;
  int code;
  std::string_view why;
};

/// Contains archives and tensors.
class Directory : public WorkingDirectory {
 public:
  Directory() {
    write("a.npz", mixed_archive());
    write("b.npz", archive(1));
    write("bad.npz", npz_file({{"w.npy", input(1)}, {"x.npy", "no tensor"}}));
    write("empty.npz", "");
    write("mask.npz", npz_file({{"mask.npy", kMask}}));
    write("cut.npz", mixed_archive().substr(0, 200));
    std::string damaged = archive(1);
    damaged[damaged.find(input(1)) + 130] ^= 1;
    write("crc.npz", damaged);
    write("x.npy", input(1));
  }

  void check(const std::vector<Mistake>& mistakes) const {
    for (const auto& [words, code, why] : mistakes) refused(clip(words), code, why);
  }
};

}  // namespace

TEST_CASE("a tensor is not written to OUT.npz, nor an archive to OUT.npy or a stream") {
  const Directory directory;
  directory.check({
      {{"x.npy", "o.npz"}, 2, "o.npz: x.npy is not an archive, so the result needs a name like OUT.npy"},
      {{"a.npz:w", "o.npz"}, 2, "o.npz: a.npz:w is not an archive"},
      {{"a.npz:w", "a.npz"}, 2, "a.npz: a.npz:w is not an archive"},
      {{"a.npz", "o.npy"}, 2, "o.npy: a.npz is an .npz archive, so the result needs a name like OUT.npz"},
      {{"a.npz", "-"}, 2, "a.npz: an archive cannot be written to a stream"},
      {{"-o", "-", "a.npz"}, 2, "a.npz: an archive cannot be written to a stream"},
      {{"a.npz", "/dev/null"}, 2, "a.npz: an archive cannot be written to a stream"},
      {{"-o", "{stem}.c.npz", "b.npz", "x.npy"}, 2, "x.c.npz: x.npy is not an archive"},
      {{"mask.npz", "o.npy"}, 2, "o.npy: mask.npz is an .npz archive"},
      {{"-o", "new/{stem}.npy", "a.npz"}, 2, "new/a.npy: a.npz is an .npz archive"},
      {{"--dry-run", "x.npy", "o.npz"}, 2, "o.npz: x.npy is not an archive"},
      {{"--dry-run", "a.npz", "o.npy"}, 2, "o.npy: a.npz is an .npz archive"},
  });
}

TEST_CASE("a member cannot be written, and never replaces its archive") {
  const Directory directory;
  const std::string_view advice = "is a member of an archive; use --in-place a.npz --member w";
  const std::string_view output = "a.npz:w: a member cannot be written";
  directory.check({
      {{"-i", "a.npz:w"}, 2, advice},
      {{"-i", "--dry-run", "a.npz:w"}, 2, advice},
      {{"-i", "--direct", "a.npz:w"}, 2, advice},
      {{"-i", "x.npy", "a.npz:w"}, 2, advice},
      {{"x.npy", "a.npz:w"}, 2, output},
      {{"a.npz", "a.npz:w"}, 2, output},
      {{"-o", "{dir}/a.npz:w", "x.npy"}, 2, output},
      {{"a.npz:w", "a.npz:w"}, 2, output},
      {{"--verify", "a.npz:w", "--update-golden", "x.npy"}, 2, "--update-golden: a.npz:w is a member"},
  });
  make_link("b.npz", directory / "link.npy");
  directory.check(
      {{{"b.npz:w", "link.npy"}, 5, "b.npz:w: refused to avoid data loss: link.npy is its archive"}});
}

TEST_CASE("a member has no output in a directory or by a template") {
  const Directory directory;
  const std::string_view why =
      "a.npz:w: one member needs IN and OUT; --output-dir and --output take the archive a.npz and --member w";
  directory.check({
      {{"--output-dir", "out", "a.npz:w"}, 2, why},
      {{"--output-dir", "out", "--relative-to", ".", "x.npy", "a.npz:w"}, 2, why},
      {{"-o", "{dir}/{stem}.clip.npy", "a.npz:w"}, 2, why},
      {{"--dry-run", "--output-dir", "out", "a.npz:w"}, 2, why},
  });
  directory.done(clip({"-o", "o.npy", "a.npz:w"}));
  CHECK(directory.read("o.npy") == output(1));
  const Result kept = directory.run(clip({"-k", "--json", "--output-dir", "out", "a.npz:w", "x.npy"}));
  check_refused(kept, 2, why);
  CHECK(kept.output.starts_with(R"({"version":2,"input":"a.npz:w","status":2,)"));
  CHECK(directory.read("out/x.npy") == output(1));
}

TEST_CASE("what takes one tensor refuses an archive") {
  const Directory directory;
  directory.check({
      {{"-i", "--direct", "a.npz"},
       2,
       "a.npz: is an archive, which --in-place --direct does not take; leave --direct out\n"},
      {{"-i", "--direct", "--dry-run", "a.npz"}, 2, "a.npz: is an archive, which --in-place --direct"},
      {{"-i", "--direct", "x.npy", "a.npz"}, 2, "a.npz: is an archive, which --in-place --direct"},
      {{"--shard", "0/2", "a.npz", "o.npz"}, 2, "a.npz: --shard takes one tensor, not an archive"},
      {{"--shard", "0/2", "--dry-run", "a.npz", "o.npz"}, 2, "a.npz: --shard takes one tensor"},
      {{"--shard", "0/2", "--split-output", "a.npz", "o.npz"}, 2, "a.npz: --split-output takes one tensor"},
      {{"--verify", "x.npy", "a.npz"}, 2, "a.npz: --verify takes two tensors or two archives; name a tensor"},
      {{"--verify", "a.npz", "x.npy"}, 2, "a.npz: --verify takes two tensors or two archives"},
      {{"--verify", "a.npz", "--update-golden", "x.npy"}, 2, "a.npz: --verify takes two tensors or two"},
      {{"--min", "@a.npz", "x.npy", "o.npy"}, 3, "--min @a.npz: not a .npy file but an .npz archive"},
      {{"--min", "a.npz:w", "x.npy", "o.npy"}, 2, "to read the number from a file, write @a.npz:w"},
  });
}

TEST_CASE("options that cannot be used with --member say so") {
  const Directory directory;
  directory.check({
      {{"--member", "w", "-i", "--direct", "a.npz"}, 2, "--direct and --member cannot be used together"},
      {{"--member", "w", "--shard", "0/2", "a.npz", "o.npz"}, 2, "--shard and --member cannot"},
      {{"--member", "w", "--shard", "0/2", "--split-output", "a.npz", "o.npz"}, 2, "--shard and --member"},
      {{"--member", "w", "--verify", "x.npy", "x.npy"}, 2, "x.npy: --member needs an archive"},
      {{"--member", "w", "--finalize", "a.npz", "o.npz"}, 2, "--finalize and --member cannot"},
      {{"--other", "drop", "--finalize", "a.npz", "o.npz"}, 2, "--finalize and --other cannot"},
      {{"--member", "w", "x.npy", "o.npy"}, 2, "x.npy: --member needs an archive"},
      {{"--member", "w", "a.npz:w", "o.npy"}, 2, "a.npz:w: --member needs an archive"},
      {{"--member", "w", "-i", "b.npz", "x.npy"}, 2, "x.npy: --member needs an archive"},
      {{"--member", "w", "-", "o.npy"}, 2, "--member needs an archive"},
      {{"--member"}, 2, "--member has no value"},
  });
  directory.done(clip({"--other", "error", "x.npy", "o.npy"}));
  CHECK(directory.read("o.npy") == output(1));
}

TEST_CASE("a member that does not exist or is no tensor is refused") {
  const Directory directory;
  directory.check({
      {{"a.npz:no", "o.npy"}, 2, "a.npz: no member 'no'; it has w, mask, b, note.txt"},
      {{"a.npz:", "o.npy"}, 2, "a.npz: no member ''"},
      {{"no.npz:w", "o.npy"}, 4, "no.npz:w: cannot be opened"},
      {{"x.npy:w", "o.npy"}, 4, "x.npy:w: cannot be opened"},
      {{"a.npz:mask", "o.npy"}, 2, "a.npz:mask: --max 6 is not 0, 1, true or false"},
      {{"a.npz:note.txt", "o.npy"}, 3, "a.npz:note.txt: not a .npy file"},
      {{"--min", "@a.npz:no", "x.npy", "o.npy"}, 2, "--min @a.npz: no member 'no'"},
      {{"bad.npz", "o.npz"}, 3, "bad.npz:x: not a .npy file"},
      {{"crc.npz", "o.npz"}, 3, "crc.npz:w: "},
      {{"-i", "crc.npz"}, 3, "crc.npz:w: "},
      {{"crc.npz:w", "o.npy"}, 3, "crc.npz:w: "},
      {{"cut.npz", "o.npz"}, 3, "cut.npz: "},
      {{"-i", "cut.npz"}, 3, "cut.npz: "},
      {{"empty.npz", "o.npz"}, 3, "empty.npz: not an .npz archive: it is empty"},
      {{"empty.npz", "o.npy"}, 3, "empty.npz: not an .npz archive: it is empty"},
      {{"--dry-run", "empty.npz", "o.npz"}, 3, "empty.npz: not an .npz archive: it is empty"},
      {{"--output-dir", "out", "empty.npz"}, 3, "empty.npz: not an .npz archive: it is empty"},
  });
}

TEST_CASE("no output replaces an archive of which a member is read") {
  const Directory directory;
  std::filesystem::create_hard_link(directory / "a.npz", directory / "hard.npy");
  directory.check({
      {{"--min", "@a.npz:w", "-i", "a.npz"}, 2, "a.npz would be written to a.npz, which --min reads"},
      {{"--min", "@a.npz:w", "b.npz", "a.npz"}, 2, "b.npz would be written to a.npz, which --min reads"},
      {{"--min", "@a.npz:w", "-o", "hard.npy", "x.npy"},
       2,
       "x.npy would be written to hard.npy, which --min"},
      {{"-i", "a.npz", "a.npz:w"}, 2, "are the same file"},
      {{"-i", "a.npz:w", "a.npz:b"}, 2, "a.npz:w and a.npz:b are the same file"},
  });
}

}  // namespace clipper::testing
