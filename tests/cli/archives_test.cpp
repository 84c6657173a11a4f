#include <unistd.h>

#include <filesystem>
#include <string>

#include "cli/archive_samples.hpp"

/// Clipping .npz archives: which members, and where to.
namespace clipper::testing {
namespace {

/// Contains a.npz.
class Directory : public WorkingDirectory {
 public:
  Directory() { write("a.npz", mixed_archive()); }
};

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
  directory.refused(clip({"--member", "b", "--member", "mask", "a.npz", "out.npz"}), 3, "a.npz:mask: ");
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
  directory.done(clip({"--other", "drop", "-i", "a.npz"}));
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

TEST_CASE(
    "a large compressed member is inflated in $TMPDIR, and a directory that cannot hold it is an error") {
  const WorkingDirectory directory;
  const std::vector<float> large = scattered_floats(400'000);
  directory.write("a.npz", npz_file({{"w.npy", float32_file(large), true}}));
  const auto run = [&](const char* temporary) {
    return directory.run(clip({"a.npz:w", "out.npy"}), [=] { ::setenv("TMPDIR", temporary, 1); });
  };
  check_refused(run("/dev/null/none"), 4,
                "a.npz:w: cannot be inflated to /dev/null/none: Not a directory; set TMPDIR");
  check_done(run(directory.path().c_str()));
  CHECK((directory.read("out.npy") == float32_file(clipped(large, 0, 6))));
  CHECK(directory.entries() == std::vector<std::string>{"a.npz", "out.npy"});
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

}  // namespace clipper::testing
