#include <sys/mman.h>

#include "cli/clipper.hpp"
#include "cli/no_unnamed_files.hpp"
#include "support/append_only.hpp"
#include "support/attributes.hpp"
#include "support/fork.hpp"

namespace clipper::testing::output_test {
namespace {

const std::string kOutput = float32_file({0, 0.5F, 6});

/// Contains in.npy.
class Directory : public WorkingDirectory {
 public:
  Directory() { write("in.npy", float32_file({-1, 0.5F, 9})); }

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
  directory.done(Directory::to("out.npy"));
  CHECK(directory.read("out.npy") == kOutput);
}

TEST_CASE("--no-clobber works on file systems without O_TMPFILE and rename flags") {
  const Directory directory;
  const auto poor = [] {
    be_without_unnamed_files();
    be_without_rename_flags();
  };
  const Words words = joined({"-n"}, Directory::to("out.npy"));
  directory.done(words, poor);
  CHECK(directory.read("out.npy") == kOutput);
  directory.refused(words, 5, "out.npy: already exists", poor);
  directory.done({"--min", "0", "--max", "6", "-i", "in.npy"}, poor);
  CHECK(directory.read("in.npy") == kOutput);
  CHECK(directory.entries() == Words{"in.npy", "out.npy"});
}

TEST_CASE("the umask, which all threads share, is never changed") {
  const Directory directory;
  directory.done(Directory::to("out.npy"), [] {
    ::umask(077);
    be_without_unnamed_files();
    be_without(SYS_umask, 0, 0, EPERM);
  });
  CHECK(mode_of(directory / "out.npy") == 0600);
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

TEST_CASE("--sync asks the disk, whose failure leaves no file; other runs do not ask it") {
  const Directory directory;
  const auto prepare = [] { be_without(SYS_fsync, 0, 0, EIO); };
  const auto before = directory.snapshot();
  directory.refused(clip({"--sync", "in.npy", "out.npy"}), 4, "out.npy: ", prepare);
  CHECK(directory.snapshot() == before);
  directory.done(clip({"in.npy", "out.npy"}), prepare);
  CHECK(directory.read("out.npy") == kOutput);
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

}  // namespace clipper::testing::output_test
