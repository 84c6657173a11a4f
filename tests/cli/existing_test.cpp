#include "cli/archive_samples.hpp"

/// --skip-existing, --newer and --backup: what becomes of outputs that exist.
namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

std::uint64_t inode_of(const std::string& path) {
  return status_of(path).st_ino;
}

}  // namespace

TEST_CASE("--skip-existing leaves outputs that exist, and does not read their inputs") {
  const WorkingDirectory directory{{"in/a.npy", "damaged"}, {"in/b.npy", input(2)}, {"o/a.npy", output(1)}};
  const std::uint64_t before = inode_of(directory / "o/a.npy");
  directory.done(clip({"-r", "in", "--output-dir", "o", "--skip-existing"}));
  CHECK(inode_of(directory / "o/a.npy") == before);
  CHECK(directory.read("o/b.npy") == output(2));
  const Result again = directory.run(clip({"-v", "-r", "in", "--output-dir", "o", "--skip-existing"}));
  CHECK(again.exit_code == 0);
  CHECK(again.error ==
        "clipper: in/a.npy: skipped, o/a.npy exists\nclipper: in/b.npy: skipped, o/b.npy exists\n"
        "clipper: 2 files: 0 clipped, 2 skipped\n");
  directory.done(clip({"--skip-existing", "in/a.npy", "o/a.npy"}));
  const Result json = directory.run(clip({"--json", "-r", "in", "--output-dir", "o", "--skip-existing"}));
  CHECK(contains(json.output, R"("files":2,"ok":0,"failed":0,"other":0,"skipped":2})"));
  directory.refused(clip({"-r", "in", "--output-dir", "o"}), 3, "in/a.npy");
  directory.refused(clip({"--skip-existing", "-i", "in/b.npy"}), 2, "--in-place and --skip-existing");
  directory.refused(clip({"--skip-existing", "--newer", "in/b.npy", "c.npy"}), 2, "--newer");
  directory.refused(clip({"--skip-existing", "--shard", "0/2", "in/b.npy", "c.npy"}), 2, "--skip-existing");
}

TEST_CASE("--newer skips inputs that are not newer than their outputs") {
  const WorkingDirectory directory{{"in/a.npy", input(1)}, {"in/b.npy", input(2)}, {"in/c.npy", input(3)}};
  const auto then = fs::last_write_time(directory / "in/a.npy");
  for (const char* name : {"a.npy", "b.npy"}) {
    directory.write(std::string("o/") + name, "old");
    fs::last_write_time(directory / (std::string("o/") + name), then);
  }
  fs::last_write_time(directory / "in/b.npy", then + std::chrono::seconds(1));
  directory.done(clip({"-r", "in", "--output-dir", "o", "--newer"}));
  CHECK(directory.read("o/a.npy") == "old");
  CHECK(directory.read("o/b.npy") == output(2));
  CHECK(directory.read("o/c.npy") == output(3));
}

TEST_CASE("--backup keeps the file that is replaced under another name") {
  const WorkingDirectory directory{
      {"a.npy", input(1)}, {"b.npy", input(2)}, {"in.npy", input(3)}, {"o.npy", "old"}};
  const std::uint64_t a = inode_of(directory / "a.npy");
  const std::uint64_t o = inode_of(directory / "o.npy");
  directory.done(clip({"-i", "--backup", "a.npy", "b.npy"}));
  CHECK(inode_of(directory / "a.npy~") == a);
  CHECK(directory.read("a.npy~") == input(1));
  CHECK(directory.read("a.npy") == output(1));
  CHECK(directory.read("b.npy~") == input(2));
  CHECK(status_of(directory / "a.npy~").st_nlink == 1);
  directory.done(clip({"--backup=.orig", "in.npy", "o.npy"}));
  CHECK(inode_of(directory / "o.npy.orig") == o);
  CHECK(directory.read("o.npy") == output(3));
  directory.done(clip({"--backup", "in.npy", "new.npy"}));
  CHECK(directory.entries() ==
        Words{"a.npy", "a.npy~", "b.npy", "b.npy~", "in.npy", "new.npy", "o.npy", "o.npy.orig"});
}

TEST_CASE("a backup that exists is replaced only with --force, and a file that does not change needs none") {
  const WorkingDirectory directory{{"a.npy", input(1)}, {"a.npy~", "precious"}, {"in.npy", input(3)}};
  directory.refused(clip({"-i", "--backup", "a.npy"}), 5,
                    "a.npy~: refused to avoid data loss: this backup exists; --force replaces it");
  directory.refused(clip({"--backup", "--dry-run", "in.npy", "a.npy"}), 5, "a.npy~: refused");
  directory.refused(clip({"--backup", "in.npy", "a.npy"}), 5, "a.npy~: refused");
  CHECK(directory.read("a.npy") == input(1));
  directory.done(clip({"-i", "--backup", "-f", "a.npy"}));
  CHECK(directory.read("a.npy~") == input(1));
  directory.write("b.npy", output(1));
  directory.done(clip({"-i", "--backup", "b.npy"}));
  CHECK_FALSE(fs::exists(directory / "b.npy~"));
  directory.refused(clip({"-i", "--backup=/x", "b.npy"}), 2, "--backup: '/x' has a slash");
  directory.refused(clip({"-i", "--backup=", "b.npy"}), 2, "--backup has no value");
  directory.refused(clip({"-i", "--direct", "--backup", "b.npy"}), 2, "--direct and --backup");
}

TEST_CASE("a backup never gets the name of a file that the run reads or writes") {
  const WorkingDirectory directory{{"a.npy", input(1)}, {"a.npy~", input(2)}};
  const auto refuse = [&](const std::vector<std::string>& arguments, const char* why) {
    directory.refused(clip(arguments), 2, "--backup: " + std::string(why));
    CHECK(directory.read("a.npy") == input(1));
    CHECK(directory.read("a.npy~") == input(2));
  };
  refuse({"-i", "--backup", "-f", "a.npy", "a.npy~"}, "a.npy would be kept as");
  refuse({"--backup", "-f", "a.npy~", "a.npy"}, "a.npy would be kept as");
  refuse({"--backup", "-f", "--bias", "@a.npy~", "-i", "a.npy"}, "a.npy would be kept as");
  make_link("a.npy", directory / "link");
  refuse({"-i", "--backup", "-f", "link", "a.npy~"}, "link would be kept as");
}

TEST_CASE("after a kill between backup and replacement the same command goes on") {
  const WorkingDirectory directory{{"a.npy", input(1)}, {"in.npy", input(3)}, {"o.npy", "old"}};
  fs::create_hard_link(directory / "a.npy", directory / "a.npy~");
  fs::create_hard_link(directory / "o.npy", directory / "o.npy~");
  directory.done(clip({"-i", "--backup", "a.npy"}));
  CHECK(directory.read("a.npy") == output(1));
  CHECK(directory.read("a.npy~") == input(1));
  directory.done(clip({"--backup", "in.npy", "o.npy"}));
  CHECK(directory.read("o.npy~") == "old");
  fs::create_hard_link(directory / "a.npy", directory / "other");
  fs::remove(directory / "a.npy~");
  directory.write("a.npy", input(1));
  directory.refused(clip({"-i", "--backup", "a.npy"}), 5, "hard links");
}

}  // namespace clipper::testing
