#include <sys/mman.h>
#include <sys/syscall.h>

#include <functional>

#include "cli/clipper.hpp"
#include "cli/no_unnamed_files.hpp"
#include "support/append_only.hpp"
#include "support/archives.hpp"
#include "support/attributes.hpp"
#include "support/fork.hpp"

namespace clipper::testing {
namespace {

const std::string kOutput = float32_file({0, 0.5F, 6});

/// Contains in.npy.
class Directory : public WorkingDirectory {
 public:
  Directory() { write("in.npy", float32_file({-1, 0.5F, 9})); }

  [[nodiscard]] Result clip_to(const std::string& out, mode_t umask = 022) const {
    return run(to(out), [=] { ::umask(umask); });
  }

  static Words to(const std::string& out) { return {"--min", "0", "--max", "6", "in.npy", out}; }
};

/// Copies clipper into the directory and lets all users write to the directory.
void share(const WorkingDirectory& directory) {
  std::filesystem::copy_file(clipper_binary(), directory / "clipper");
  REQUIRE(::chmod(directory.path().c_str(), 0777) == 0);
}

/// Runs the shared clipper as user nobody. Checks that it refuses and changes nothing.
void check_denied(const WorkingDirectory& directory, const Words& arguments, int exit_code,
                  std::string_view word) {
  Words words = joined({directory / "clipper"}, arguments);
  const auto before = directory.snapshot();
  check_refused(Process(words, {directory.path(), become_user}).finish(), exit_code, word);
  CHECK(directory.snapshot() == before);
}

}  // namespace

TEST_CASE("nothing is left behind in an append-only directory") {
  const Directory directory;
  directory.write("old.npy", "old");
  const AppendOnly append_only(directory.path());
  if (!append_only) return skip_unless_possible("chattr +a");
  directory.refused(Directory::to("old.npy"), 5, "append-only");
  directory.refused({"--min", "0", "-i", "in.npy"}, 5, "append-only");
  directory.refused(Directory::to("out.npy"), 5, "append-only", [] { be_without_unnamed_files(); });
  if (!has_proc()) return skip_without("/proc");
  check_done(directory.clip_to("out.npy"));
  CHECK(directory.read("out.npy") == kOutput);
}

TEST_CASE("a new file has the input's mode and follows the umask; that of a stream is for all") {
  for (const mode_t umask : {0000U, 0022U, 0027U, 0077U, 0777U})
    for (const mode_t mode : {0644U, 0600U, 0440U, 06755U}) {
      CAPTURE(umask, mode);
      const Directory directory;
      REQUIRE(::chmod((directory / "in.npy").c_str(), mode) == 0);
      check_done(directory.clip_to("out.npy", umask));
      CHECK(mode_of(directory / "out.npy") == (mode & 0777 & ~umask));
      REQUIRE(::chmod((directory / "out.npy").c_str(), 0600) == 0);
      CHECK(directory.read("out.npy") == kOutput);
      CHECK(directory.entries() == Words{"in.npy", "out.npy"});

      const auto prepare = [=] { ::umask(umask); };
      directory.done(clip({"-", "piped.npy"}), prepare, float32_file({7}));
      CHECK(mode_of(directory / "piped.npy") == (0666 & ~umask));
    }
}

TEST_CASE("all new files that are made from a private file are private") {
  const Directory directory;
  const std::string archive = directory / "in.npz";
  write_file(archive, npz_file({{"w.npy", float32_file({-1, 7})}}));
  for (const char* name : {"in.npy", "in.npz"}) REQUIRE(::chmod((directory / name).c_str(), 0600) == 0);
  directory.write("expected.npy", kOutput);
  const std::vector<Words> commands{
      clip({"in.npz", "out.npz"}),
      clip({"in.npz:w", "w.npy"}),
      clip({"--output-dir", "made", "in.npy", "in.npz"}),
      clip({"--shard", "0/1", "--split-output", "in.npy", "slab.npy"}),
      clip({"--shard", "0/1", "in.npy", "joined.npy"}),
      clip({"in.npy", "--verify", "golden.npy", "--update-golden"}),
      {"--finalize", "joined.npy"},
      {"compare", "--atol", "9", "in.npy", "expected.npy", "--diff-out", "difference.npy"},
  };
  for (const Words& words : commands) {
    CHECK(directory.run(words, [] { ::umask(022); }).exit_code == 0);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
      const std::string path = entry.path();
      CAPTURE(words, path);
      if (entry.is_regular_file() && entry.path().filename() != "expected.npy") CHECK(mode_of(path) == 0600);
    }
  }
  CHECK(directory.entries().size() == 11);
}

TEST_CASE("system calls that old container runtimes refuse with EPERM are done without") {
  constexpr int kFaccessat2 = 439;  // in <sys/syscall.h> since Linux 5.8
  for (const int call : {kFaccessat2, SYS_linkat, SYS_sync_file_range, SYS_syncfs, SYS_fgetxattr,
                         SYS_flistxattr, SYS_statx, SYS_renameat2, SYS_fallocate, SYS_flock}) {
    CAPTURE(call);
    const Directory directory;
    const std::string large = float32_file(std::vector<float>(500'000, 7));
    for (const char* name : {"old.npy", "a.npy", "b.npy"}) directory.write(name, large);
    const bool has_attribute = set_attribute(directory / "a.npy", "user.unit", "metres");
    const auto run = [&](const Words& words) {
      CAPTURE(words);
      const auto prepare = [=] { be_without(call, 0, 0, EPERM); };
      const Result result = directory.run(clip(words), prepare);
      CAPTURE(result.error);
      CHECK(result.exit_code == 0);
      if (call != SYS_flock) CHECK(result.error.empty());  // clipper warns that it cannot lock
    };
    run({"--sync", "a.npy", "new.npy"});
    run({"a.npy", "old.npy"});
    run({"-n", "a.npy", "never.npy"});
    run({"--in-place", "a.npy", "b.npy"});
    run({"--in-place", "--direct", "in.npy"});
    const std::string clipped = float32_file(std::vector<float>(500'000, 6));
    for (const char* name : {"new.npy", "old.npy", "never.npy", "a.npy", "b.npy"})
      CHECK((directory.read(name) == clipped));
    CHECK(directory.read("in.npy") == kOutput);
    if (has_attribute) CHECK(attribute_of(directory / "a.npy", "user.unit") == "metres");
    CHECK(directory.entries().size() == 6);
  }
}

TEST_CASE("the file of a descriptor that has no name gets the output, as by cp") {
  const Directory directory;
  directory.write("x (deleted)", "neighbour");
  const std::string script = "exec 3<>x; rm x; \"$@\" && exec 4</dev/fd/3 && cat <&4";
  directory.write("x", std::string(1000, 'x'));
  const Result result = directory.run_in_shell(script, Directory::to("/dev/fd/3"));
  CHECK(result.exit_code == 0);
  CHECK(result.output == kOutput);
  CHECK(directory.read("x (deleted)") == "neighbour");
  CHECK(directory.entries() == Words{"in.npy", "x (deleted)"});
}

TEST_CASE("an existing file is replaced by a new inode and keeps its mode") {
  for (const mode_t mode : {0600U, 0644U, 0755U}) {
    CAPTURE(mode);
    const Directory directory;
    const std::string out = directory / "out.npy";
    write_file(out, std::string(100'000, 'x'));
    REQUIRE(::chmod(out.c_str(), mode) == 0);
    const Descriptor reader(::open(out.c_str(), O_RDONLY | O_CLOEXEC));
    check_done(directory.clip_to("out.npy", 077));
    CHECK(read_file(out) == kOutput);
    CHECK(mode_of(out) == mode);
    CHECK(directory.entries() == Words{"in.npy", "out.npy"});

    struct stat old {};
    REQUIRE(::fstat(reader.get(), &old) == 0);
    CHECK(old.st_size == 100'000);
    CHECK(old.st_ino != status_of(out).st_ino);
  }
}

TEST_CASE("a large new file is complete where its pages cannot be mapped") {
  constexpr std::size_t kElements = 17'000'000;
  const WorkingDirectory directory{{"in.npy", float32_file(std::vector<float>(kElements, 7))}};
  const std::string expected = float32_file(std::vector<float>(kElements, 6));
  const std::vector<std::function<void()>> machines{[] {},
                                                    [] { be_without(SYS_mmap, 3, MAP_SHARED, ENODEV); },
                                                    [] { be_without(SYS_madvise, 2, 16, EINVAL); }};
  for (const auto& machine : machines) {
    directory.done(clip({"--threads", "4", "in.npy", "out.npy"}), machine);
    CHECK((directory.read("out.npy") == expected));
    CHECK(::unlink((directory / "out.npy").c_str()) == 0);
  }
}

TEST_CASE("missing permissions are errors that name the file, and nothing changes") {
  const Directory directory;
  share(directory);
  directory.write("out.npy", "old");
  REQUIRE(::chmod((directory / "out.npy").c_str(), 0444) == 0);
  REQUIRE(::chmod((directory / "in.npy").c_str(), 0444) == 0);
  check_denied(directory, Directory::to("out.npy"), 4, "out.npy: ");
  check_denied(directory, {"-i", "--min", "0", "in.npy"}, 5, "in.npy: ");

  REQUIRE(::chmod((directory / "out.npy").c_str(), 0666) == 0);
  REQUIRE(::chmod(directory.path().c_str(), 0555) == 0);
  check_denied(directory, Directory::to("out.npy"), 4, "out.npy: ");
  check_denied(directory, Directory::to("new.npy"), 4, "new.npy: ");
  REQUIRE(::chmod(directory.path().c_str(), 0755) == 0);
}

}  // namespace clipper::testing
