#include "cli/clipper.hpp"
#include "cli/no_unnamed_files.hpp"
#include "support/append_only.hpp"

/// Runs of shards whose file names other programs have taken, or whose file system lacks a feature.
namespace clipper::testing::shards_end_test {

namespace {

namespace fs = std::filesystem;

/// SIGALRM ends a process that hangs, which fails the test.
constexpr unsigned kHang = 60;  // seconds

/// Contains in.npy, which is large enough for three shards (2.5 MiB), and no output.
class ShardDirectory : public WorkingDirectory {
 public:
  /// Some of the shards are done.
  explicit ShardDirectory(int done = 0) {
    write("in.npy", float32_file(scattered_floats(655'363)));
    for (int index = 0; index < done; ++index) check_done(shard(index));
  }

  [[nodiscard]] Result shard(
      int index, int count = 3, const Words& more = {}, const std::function<void()>& prepare = [] {}) const {
    Words words{"--shard", fmt::format("{}/{}", index, count), "--max", "6", "in.npy", "out.npy"};
    words.insert(words.begin(), more.begin(), more.end());
    return run(words, prepare);
  }

  [[nodiscard]] Result finalize(
      const Words& more = {}, const std::function<void()>& prepare = [] {}) const {
    Words words{"--finalize", "out.npy"};
    words.insert(words.begin(), more.begin(), more.end());
    return run(words, prepare);
  }

  [[nodiscard]] std::string run_file() const { return *this / "out.npy.shards"; }

  [[nodiscard]] std::string only(const std::function<bool(const std::string&)>& is_wanted) const {
    std::vector<std::string> names = entries();
    std::erase_if(names, [&](const std::string& name) { return !is_wanted(name); });
    REQUIRE(names.size() == 1);
    return *this / names.front();
  }
  [[nodiscard]] std::string common() const {
    return only([](const std::string& name) { return name.starts_with("out.npy.shards."); });
  }
  [[nodiscard]] std::string record(int index) const {
    const std::string begin = fmt::format("out.npy.shard-{}-of-", index);
    return only([&](const std::string& name) { return name.starts_with(begin) && name.ends_with(".done"); });
  }

  /// Checks that the output equals the output of one process, and that no other files are left.
  void check_result() const {
    CHECK(entries() == std::vector<std::string>{"in.npy", "out.npy"});
    check_done(run({"--max", "6", "in.npy", "expected.npy"}, [] {}));
    CHECK((read("out.npy") == read("expected.npy")));  // not printed: 2.5 MiB
  }

 private:
  [[nodiscard]] Result run(const Words& words, const std::function<void()>& prepare) const {
    return run_clipper(words, {path(), [&] {
                                 ::alarm(kHang);
                                 prepare();
                               }});
  }
};

}  // namespace

TEST_CASE("shards do not use files of other users") {
  if (::geteuid() != 0) return skip_unless_possible("files of another user");
  const ShardDirectory directory(3);
  constexpr uid_t kOther = 1234;
  const std::string path = GENERATE(true, false) ? directory.run_file() : directory.record(1);
  REQUIRE(::chown(path.c_str(), kOther, kOther) == 0);
  check_refused(directory.finalize(), 5, "belongs to user 1234, not to you");
  // clipper trusts the directory's owner, who can replace every file in it.
  REQUIRE(::chown(directory.path().c_str(), kOther, kOther) == 0);
  check_done(directory.finalize());
  directory.check_result();
}

TEST_CASE("a shard whose user may not read the files of another user names that user") {
  if (::geteuid() != 0) return skip_unless_possible("files of another user");
  const ShardDirectory directory;
  fs::permissions(directory.path(), fs::perms{0777});
  fs::permissions(directory / "in.npy", fs::perms{0644});
  check_done(directory.shard(0, 3, {}, [] { ::umask(077); }));
  const auto as_other = [] {
    if (::setuid(1234) != 0) ::_exit(125);
  };
  const std::string why =
      "out.npy.shards: belongs to user 0, whose umask keeps you out (mode 600); run this as that user";
  check_refused(directory.shard(1, 3, {}, as_other), 5, why);
  check_refused(directory.finalize({}, as_other), 5, why);
}

TEST_CASE("shards refuse an append-only directory") {
  const ShardDirectory directory;
  const AppendOnly append_only(directory.path());
  if (!append_only) return skip_unless_possible("chattr +a");
  const auto before = directory.snapshot();
  check_refused(directory.shard(0, 1), 5, "out.npy: its directory is append-only");
  CHECK(directory.snapshot() == before);
}

TEST_CASE("--finalize keeps the parts if it cannot put the output in place") {
  if (!has_proc()) return skip_without("/proc");  // which renames the output instead of linking it
  const ShardDirectory directory(3);
  const auto before = directory.snapshot();
  check_refused(directory.finalize({}, [] { be_without(SYS_linkat, 0, 0, EIO); }), 4,
                "cannot be put in place");
  CHECK(directory.snapshot() == before);
  check_done(directory.finalize());
  directory.check_result();
}

TEST_CASE("--finalize reports parts that it cannot remove; the output is complete") {
  const ShardDirectory directory(3);
  check_refused(directory.finalize({}, [] { be_without(SYS_unlinkat, 0, 0, EIO); }), 6,
                "out.npy: complete, but out.npy.shard-0-of-3.");
  check_done(directory.finalize());
  directory.check_result();
  check_refused(directory.finalize(), 5, "no shards to finalize");
}

TEST_CASE("shards write files of their own if the file system has no locks") {
  const ShardDirectory directory;
  for (int index = 0; index < 3; ++index)
    check_done(directory.shard(index, 3, {}, [] { be_without(SYS_flock, 0, 0, ENOLCK); }));
  std::size_t parts = 0;
  for (const std::string& name : directory.entries()) parts += name.starts_with("out.npy.shard-") ? 1 : 0;
  CHECK(parts == 6);
  check_done(directory.finalize());
  directory.check_result();
}

TEST_CASE("--finalize flushes an output that is already in place to the disk") {
  const ShardDirectory directory(3);
  fs::create_hard_link(directory.common(), directory / "out.npy");  // as a killed --finalize leaves it
  check_refused(directory.finalize({}, [] { be_without(SYS_fsync, 0, 0, EIO); }), 6,
                "out.npy: complete, but");
  check_done(directory.finalize());
  directory.check_result();
}

TEST_CASE("--finalize copies the parts if there are no locks, or other machines may not see them") {
  for (const auto& [call, error] : {std::pair(SYS_flock, ENOLCK), {SYS_fstatfs, ENOSYS}}) {
    CAPTURE(call);
    const ShardDirectory directory(3);
    const ino_t common = status_of(directory.common()).st_ino;
    const Descriptor held(::open(directory.common().c_str(), O_RDONLY | O_CLOEXEC));  // keeps the inode
    check_done(directory.finalize({}, [=] { be_without(call, 0, 0, error); }));
    CHECK(status_of(directory / "out.npy").st_ino != common);
    directory.check_result();
  }
}

}  // namespace clipper::testing::shards_end_test
