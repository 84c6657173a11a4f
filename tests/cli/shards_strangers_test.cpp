#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "append_only.hpp"
#include "shard_directory.hpp"
#include "skip.hpp"

/// What other programs may have put where shards keep their files.
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

const std::vector<Kind> kNeitherFileNorDirectory{
    {"FIFO", make_fifo},
    {"socket", make_socket},
    {"dangling link", [](const std::string& path) { fs::create_symlink("nowhere", path); }},
    {"loop", [](const std::string& path) { fs::create_symlink(fs::path(path).filename(), path); }},
};

std::vector<Kind> with(std::vector<Kind> kinds, const std::vector<Kind>& more) {
  kinds.insert(kinds.end(), more.begin(), more.end());
  return kinds;
}

/// Each shard and --finalize must end, with one line and exit code 5, and leave everything as it was.
void check_both_refused(const ShardDirectory& directory, std::string_view word) {
  const auto before = directory.snapshot();
  check_refused(directory.shard(0), 5, word);
  check_refused(directory.finalize(), 5, word);
  CHECK(directory.snapshot() == before);
}

}  // namespace

TEST_CASE("shards refuse an OUT.partial that is no file") {
  const ShardDirectory directory;
  const Kind kind = GENERATE(from_range(with(
      kNeitherFileNorDirectory, {{"directory", [](const std::string& path) { fs::create_directory(path); }},
                                 {"link to a file", [](const std::string& path) {
                                    write_file(path + ".target", "");
                                    fs::create_symlink(path + ".target", path);
                                  }}})));
  CAPTURE(kind.name);
  kind.make(directory.partial());
  check_both_refused(directory, "out.npy.partial: not a file that shards write to; remove it");
}

TEST_CASE("shards refuse an OUT.partial that is a FIFO with a reader, or a device") {
  const ShardDirectory directory;
  Descriptor reader;
  SECTION("FIFO") {
    make_fifo(directory.partial());
    reader = Descriptor(::open(directory.partial().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  SECTION("device") {
    if (::geteuid() != 0) return skip_unless_possible("mknod of a device");
    REQUIRE(::mknod(directory.partial().c_str(), S_IFCHR | 0666, ::makedev(1, 3)) == 0);
  }
  check_both_refused(directory, "out.npy.partial: not a file that shards write to; remove it");
}

TEST_CASE("shards refuse an OUT.shards that is no directory, or a link to one") {
  const ShardDirectory directory;
  const Kind kind = GENERATE(from_range(
      with(kNeitherFileNorDirectory, {{"file", [](const std::string& path) { write_file(path, ""); }},
                                      {"link to a directory", [](const std::string& path) {
                                         fs::create_directory(path + ".target");
                                         fs::create_symlink(path + ".target", path);
                                       }}})));
  CAPTURE(kind.name);
  kind.make(directory.partial(".shards"));
  check_both_refused(directory, "out.npy.shards: not a directory that shards made; remove it");
}

TEST_CASE("shards do not use files of another user") {
  if (::geteuid() != 0) return skip_unless_possible("files of another user");
  const ShardDirectory directory;
  constexpr uid_t kOther = 1234;
  std::string name = directory.partial();
  SECTION("OUT.partial") {
    write_file(name, "");
  }
  SECTION("OUT.shards") {
    name = directory.partial(".shards");
    fs::create_directory(name);
  }
  REQUIRE(::chown(name.c_str(), kOther, kOther) == 0);
  check_both_refused(directory, "belongs to user 1234, not to you");
  // Whoever owns the directory can replace everything in it anyway.
  REQUIRE(::chown(directory.path().c_str(), kOther, kOther) == 0);
  check_done(directory.shard(0, 1));
  directory.check_result();
}

TEST_CASE("shards refuse a directory that lets nothing be removed") {
  const ShardDirectory directory;
  const AppendOnly append_only(directory.path());
  if (!append_only) return skip_unless_possible("chattr +a");
  const auto before = directory.snapshot();
  check_refused(directory.shard(0, 1), 5, "out.npy: its directory is append-only");
  CHECK(directory.snapshot() == before);
}

}  // namespace clipper::testing
