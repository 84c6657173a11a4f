#include <sys/file.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "cli/safetensors_files.hpp"
#include "cli/shard_directory.hpp"
#include "support/append_only.hpp"

/// Runs of shards whose file names other programs have taken, or whose file system lacks a feature.
namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

void make_socket(const std::string& path) {
  const Descriptor fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
}

struct Kind {
  const char* name;
  void (*make)(const std::string& path);
};

const std::vector<Kind> kNoFiles{
    {"FIFO", make_fifo},
    {"socket", make_socket},
    {"device",
     [](const std::string& path) { REQUIRE(::mknod(path.c_str(), S_IFCHR | 0666, ::makedev(1, 3)) == 0); }},
    {"dangling link", [](const std::string& path) { fs::create_symlink("nowhere", path); }},
    {"loop", [](const std::string& path) { fs::create_symlink(fs::path(path).filename(), path); }},
    {"link to a file",
     [](const std::string& path) {
       write_file(path + "-target", "");
       fs::create_symlink(path + "-target", path);
     }},
};

}  // namespace

TEST_CASE("shards and --finalize refuse an OUT.shards that no shard made") {
  const ShardDirectory directory;
  const Kind kind = GENERATE(from_range(kNoFiles));
  CAPTURE(kind.name);
  if (kind.name == std::string("device") && ::geteuid() != 0)
    return skip_unless_possible("mknod of a device");
  kind.make(directory.run_file());
  const auto before = directory.snapshot();
  check_refused(directory.shard(0), 5, "out.npy.shards: is not a file that shards made; remove it");
  check_refused(directory.finalize(), 5, "out.npy.shards: is not a file that shards made; remove it");
  CHECK(directory.snapshot() == before);
}

TEST_CASE("files of a run by an older version are refused") {
  const ShardDirectory directory;
  fs::create_directory(directory.run_file());
  directory.write("out.npy.partial", "");
  const auto before = directory.snapshot();
  const std::string why = "out.npy.shards: was left by an older version of clipper; remove it and";
  check_refused(directory.shard(0), 5, why);
  check_refused(directory.finalize(), 5, why);
  CHECK(directory.snapshot() == before);
}

TEST_CASE("--finalize refuses a common file or a record that is not a regular file") {
  const ShardDirectory directory;
  const Kind kind = GENERATE(from_range(kNoFiles));
  CAPTURE(kind.name);
  if (kind.name == std::string("device") && ::geteuid() != 0)
    return skip_unless_possible("mknod of a device");
  for (int index = 0; index < 3; ++index) check_done(directory.shard(index));
  const std::string path = GENERATE(true, false) ? directory.common() : directory.record(1);
  fs::remove(path);
  kind.make(path);
  check_refused(directory.finalize(), 5, "is not a file that shards made; remove it");
  CHECK_FALSE(fs::exists(directory / "out.npy"));
}

TEST_CASE("shards do not use files of other users") {
  if (::geteuid() != 0) return skip_unless_possible("files of another user");
  const ShardDirectory directory;
  constexpr uid_t kOther = 1234;
  for (int index = 0; index < 3; ++index) check_done(directory.shard(index));
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

TEST_CASE("--discard-shards removes what abandoned shards have left; --dry-run lists it") {
  const ShardDirectory directory;
  check_done(directory.shard(0));
  check_done(directory.shard(1, 4));
  directory.write("out.npy", "old");
  const auto before = directory.entries();
  const Result listed = run_clipper({"--discard-shards", "--dry-run", "out.npy"}, {directory.path()});
  CHECK(listed.exit_code == 0);
  CHECK(std::ranges::count(listed.output, '\n') == static_cast<std::ptrdiff_t>(before.size()) - 2);
  CHECK(listed.output.ends_with("out.npy.shards\n"));
  CHECK(directory.entries() == before);
  check_done(run_clipper({"--discard-shards", "out.npy"}, {directory.path()}));
  CHECK(directory.entries() == std::vector<std::string>{"in.npy", "out.npy"});
  CHECK(directory.read("out.npy") == "old");
}

TEST_CASE("--discard-shards refuses while a shard is running, and takes OUT alone") {
  const ShardDirectory directory;
  check_done(directory.shard(0));
  const Descriptor running(::open(directory.run_file().c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(running.get(), LOCK_SH) == 0);
  const auto before = directory.snapshot();
  const Words words{"--discard-shards", "out.npy"};
  check_refused(run_clipper(words, {directory.path()}), 5,
                "out.npy: a shard or --finalize is running and uses out.npy.shards");
  CHECK(directory.snapshot() == before);
  check_refused(run_clipper({"--discard-shards", "in.npy", "out.npy"}, {directory.path()}), 2,
                "--discard-shards takes only OUT");
  for (const Words& more :
       {Words{"--finalize"}, Words{"--min", "0"}, Words{"--in-place", "--direct"}, Words{"--json"},
        Words{"--flat"}, Words{"--member", "w"}, Words{"--fail-if-clipped", "1%"}, Words{"--force"}}) {
    check_refused(run_clipper(joined(words, more), {directory.path()}), 2,
                  "--discard-shards and " + more.front() + " cannot be used together");
  }
  CHECK(directory.snapshot() == before);
}

TEST_CASE("shards refuse an append-only directory") {
  const ShardDirectory directory;
  const AppendOnly append_only(directory.path());
  if (!append_only) return skip_unless_possible("chattr +a");
  const auto before = directory.snapshot();
  check_refused(directory.shard(0, 1), 5, "out.npy: its directory is append-only");
  CHECK(directory.snapshot() == before);
}

TEST_CASE("--finalize refuses an OUT that is not a regular file, and changes nothing") {
  const ShardDirectory directory;
  for (int index = 0; index < 3; ++index) check_done(directory.shard(index));
  SECTION("FIFO") {
    make_fifo(directory / "out.npy");
  }
  SECTION("directory") {
    fs::create_directory(directory / "out.npy");
  }
  const auto before = directory.snapshot();
  check_refused(directory.finalize(), 5, "out.npy: is not a regular file; shards need one");
  CHECK(directory.snapshot() == before);
  fs::remove(directory / "out.npy");
  check_done(directory.finalize());
  directory.check_result();
}

TEST_CASE("--finalize keeps the parts if it cannot put the output in place") {
  if (!has_proc()) return skip_without("/proc");  // which renames the output instead of linking it
  const ShardDirectory directory;
  for (int index = 0; index < 3; ++index) check_done(directory.shard(index));
  const auto before = directory.snapshot();
  check_refused(directory.finalize({}, [] { fail({{SYS_linkat, EIO}}); }), 4, "cannot be put in place");
  CHECK(directory.snapshot() == before);
  check_done(directory.finalize());
  directory.check_result();
}

TEST_CASE("--no-clobber holds until --finalize puts the output in place") {
  const ShardDirectory directory;
  for (int index = 0; index < 3; ++index) check_done(directory.shard(index));
  directory.write("out.npy", "mine");
  const auto before = directory.snapshot();
  check_refused(directory.finalize({"-n"}), 5, "out.npy: already exists (--no-clobber or --flat)");
  CHECK(directory.snapshot() == before);
  fs::remove(directory / "out.npy");
  check_done(directory.finalize({"-n"}));
  directory.check_result();
}

TEST_CASE("--finalize reports parts that it cannot remove; the output is complete") {
  const ShardDirectory directory;
  for (int index = 0; index < 3; ++index) check_done(directory.shard(index));
  check_refused(directory.finalize({},
                                   [] {
                                     fail({{SYS_unlinkat, EIO}});
                                   }),
                6, "out.npy: complete, but out.npy.shard-0-of-3.");
  check_done(directory.finalize());
  directory.check_result();
  check_refused(directory.finalize(), 5, "no shards to finalize");
}

TEST_CASE("the next --finalize completes one that was killed while it removed files") {
  const ShardDirectory directory;
  for (int index = 0; index < 3; ++index) check_done(directory.shard(index));
  CHECK(directory.finalize({}, [] { fail({{SYS_unlinkat, 0}}); }).signal == SIGSYS);
  CHECK(fs::exists(directory / "out.npy"));
  check_done(directory.finalize());
  directory.check_result();
}

TEST_CASE("shards write files of their own if the file system has no locks") {
  const ShardDirectory directory;
  for (int index = 0; index < 3; ++index)
    check_done(directory.shard(index, 3, {}, [] { fail({{SYS_flock, ENOLCK}}); }));
  std::size_t parts = 0;
  for (const std::string& name : directory.entries()) parts += name.starts_with("out.npy.shard-") ? 1 : 0;
  CHECK(parts == 6);
  check_done(directory.finalize());
  directory.check_result();
}

TEST_CASE("--finalize flushes an output that is already in place to the disk") {
  const ShardDirectory directory;
  for (int index = 0; index < 3; ++index) check_done(directory.shard(index));
  fs::create_hard_link(directory.common(), directory / "out.npy");  // as a killed --finalize leaves it
  check_refused(directory.finalize({}, [] { fail({{SYS_fsync, EIO}}); }), 6, "out.npy: complete, but");
  check_done(directory.finalize());
  directory.check_result();
}

TEST_CASE("a set is finished although what was left of one of its files cannot be removed") {
  const std::string index = "model.safetensors.index.json";
  const auto text = [](int total_size) {
    return fmt::format(
        R"({{"metadata":{{"total_size":{}}},"weight_map":{{"a":"1.safetensors","b":"2.safetensors"}}}})",
        total_size);
  };
  const WorkingDirectory directory{{"1.safetensors", file_of({{"a", "F32", floats({1, 2})}})},
                                   {"2.safetensors", file_of({{"b", "F32", floats({3})}})},
                                   {index, text(12)}};
  const Words cast{"--threads", "1", "--to", "bfloat16", "-i", index};
  const Result result = directory.run(cast, [] { fail({{SYS_unlinkat, EIO}}); });
  CAPTURE(result.error);
  CHECK(result.exit_code == 6);
  CHECK(contains(result.error, "/1.safetensors: complete, but"));
  CHECK(contains(result.error, "/2.safetensors: complete, but"));
  CHECK(directory.read(index) == text(6));
}

TEST_CASE("--finalize does not rely on locks if the file system may be shared by machines") {
  const ShardDirectory directory;
  for (int index = 0; index < 3; ++index) check_done(directory.shard(index));
  const auto common = status_of(directory.common());
  const int kept = ::open(directory.common().c_str(), O_RDONLY | O_CLOEXEC);
  check_done(directory.finalize({}, [] { fail({{SYS_fstatfs, ENOSYS}}); }));
  CHECK(status_of(directory / "out.npy").st_ino != common.st_ino);
  ::close(kept);
  directory.check_result();
}

TEST_CASE("--finalize copies the parts if the file system has no locks") {
  const ShardDirectory directory;
  for (int index = 0; index < 3; ++index) check_done(directory.shard(index));
  const ino_t common = status_of(directory.common()).st_ino;
  const Descriptor held(
      ::open(directory.common().c_str(), O_RDONLY | O_CLOEXEC));  // prevents reuse of the inode
  check_done(directory.finalize({}, [] { fail({{SYS_flock, ENOLCK}}); }));
  CHECK(status_of(directory / "out.npy").st_ino != common);
  directory.check_result();
}

}  // namespace clipper::testing
