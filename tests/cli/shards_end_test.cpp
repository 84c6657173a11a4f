#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "shard_directory.hpp"

/// How runs of shards end when other programs have changed their files, or the file system cannot do all.
namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

struct Kind {
  const char* name;
  void (*make)(const std::string& path);
};

}  // namespace

TEST_CASE("An OUT.partial that somebody has changed is not put in place") {
  const ShardDirectory directory;
  check_done(directory.shard(0));
  check_done(directory.shard(1));
  const std::uintmax_t size = fs::file_size(directory.partial());
  SECTION("longer") {
    fs::resize_file(directory.partial(), size + 1);
  }
  SECTION("shorter") {
    fs::resize_file(directory.partial(), 1000);
  }
  SECTION("before --finalize") {
    write_file(directory.own("2-of-3"), "");
    fs::resize_file(directory.partial(), size + 1);
  }
  const std::uintmax_t changed = fs::file_size(directory.partial());
  const std::string word =
      fmt::format("out.npy.partial: has {} bytes instead of {}: changed by something else", changed, size);
  check_refused(directory.shard(2), 5, word);
  check_refused(directory.finalize(), 5, word);
  CHECK_FALSE(fs::exists(directory / "out.npy"));
  CHECK(fs::file_size(directory.partial()) == changed);
}

TEST_CASE("--finalize of a file that no shards wait for is refused") {
  const ShardDirectory directory;
  write_file(directory / "out.npy", "mine");
  const auto before = directory.snapshot();
  check_refused(directory.finalize(), 5, "out.npy: no shards of it wait to be put in place");
  CHECK(directory.snapshot() == before);
}

TEST_CASE("--finalize is fine if a killed shard has put the output in place") {
  const ShardDirectory directory;
  CHECK(directory.shard(0, 1, {}, [] { fail({{SYS_unlink, 0}}); }).signal == SIGSYS);
  CHECK(fs::exists(directory / "out.npy"));
  CHECK(fs::exists(directory.partial(".shards")));
  check_done(directory.finalize());
  directory.check_result();
  fs::remove(directory / "expected.npy");
  check_refused(directory.finalize(), 5, "no shards of it wait");
}

TEST_CASE("An output that has been replaced by something else, with its inode, is not in place") {
  const ShardDirectory directory;
  CHECK(directory.shard(0, 1, {}, [] { fail({{SYS_unlink, 0}}); }).signal == SIGSYS);
  fs::resize_file(directory / "out.npy", 1000);
  check_done(directory.shard(0, 1));
  directory.check_result();
}

TEST_CASE("An output beside which something cannot be removed is complete, but that is said") {
  const ShardDirectory directory;
  check_refused(directory.shard(0, 1, {},
                                [] {
                                  fail({{SYS_unlink, EIO}});
                                }),
                6, "out.npy: complete, but out.npy.partial: cannot be removed: Input/output error");
  check_done(directory.finalize());
  directory.check_result();
}

TEST_CASE("An output that cannot be put in place leaves no further name of its file") {
  const ShardDirectory directory;
  check_done(directory.shard(0));
  check_done(directory.shard(1));
  const auto check_kept = [&] {
    CHECK(status_of(directory.partial()).st_nlink == 1);
    CHECK(fs::exists(directory.own("2-of-3")));
  };
  check_refused(directory.shard(2, 3, {}, [] { fail({{SYS_rename, EIO}}); }), 4, "cannot be put in place");
  check_kept();
  const Kind kind =
      GENERATE(values<Kind>({{"FIFO", make_fifo},
                             {"directory", [](const std::string& path) { fs::create_directory(path); }},
                             {"file", [](const std::string& path) { write_file(path, "mine"); }}}));
  CAPTURE(kind.name);
  kind.make(directory / "out.npy");
  const auto before = directory.snapshot();
  const bool is_file = fs::is_regular_file(directory / "out.npy");
  check_refused(directory.finalize({"-n"}), 5,
                is_file ? "exists already (--no-clobber)" : "out.npy: not a file; shards need one");
  check_kept();
  CHECK(directory.snapshot() == before);
  fs::remove(directory / "out.npy");
  check_done(directory.finalize());
  directory.check_result();
}

TEST_CASE("shards remove only files of their own") {
  const ShardDirectory directory;
  fs::create_directory(directory.partial(".shards"));
  for (const char* name : {"mine", "mine.1", "run", "0-of-3", "-of-.7", "link-0.7"})
    write_file(directory.partial(".shards/") + name, "mine");
  for (int index = 0; index < 3; ++index) check_done(directory.shard(index));
  CHECK(fs::exists(directory / "out.npy"));
  CHECK_FALSE(fs::exists(directory.partial()));
  const auto left = fs::directory_iterator(directory.partial(".shards"));
  CHECK(std::distance(left, fs::directory_iterator()) == 6);
}

TEST_CASE("FIFOs where shards put markers do not hold them up") {
  const ShardDirectory directory;
  check_done(directory.shard(0));
  check_done(directory.shard(1));
  for (const char* name : {"2-of-3", "placed"}) make_fifo(directory.own(name));
  check_done(directory.shard(2));
  CHECK(fs::exists(directory / "out.npy"));
}

TEST_CASE("A claim of more shards than there can be is not believed") {
  const ShardDirectory directory;
  write_file(directory.partial(), "");
  fs::create_directory(directory.partial(".shards"));
  const auto* const target =
      GENERATE("18446744073709551615 shards of 9 bytes, x", "1000001 shards of 9 bytes, x",
               "3 shards of float32 (1)", "3 shards of 9 bytes", "3 shards of -1 bytes, x");
  fs::create_symlink(target, directory.own("run"));
  check_refused(directory.finalize(), 5, "not made by a shard; remove it");
  check_refused(directory.shard(0), 5, "not made by a shard; remove it");
}

TEST_CASE("shards on file systems without links") {
  const ShardDirectory directory;
  const std::vector<Failing> none{{SYS_link, EPERM}, {SYS_renameat2, EINVAL}};
  const auto last = [&](const Words& more, std::vector<Failing> failing) {
    return directory.shard(2, 3, more, [failing = std::move(failing)] { fail(failing); });
  };
  SECTION("of any kind") {
    check_refused(directory.shard(0, 3, {},
                                  [] {
                                    fail({{SYS_symlink, EPERM}});
                                  }),
                  5, "shards of one tensor need symbolic links, which this file system has not");
    return;
  }
  check_done(directory.shard(0));
  check_done(directory.shard(1));
  SECTION("to replace") {
    check_done(last({}, none));
  }
  SECTION("--no-clobber, with exclusive renames") {
    check_done(last({"-n"}, {{SYS_link, EPERM}}));
  }
  SECTION("--no-clobber, with neither") {
    check_refused(last({"-n"}, none), 5,
                  "--no-clobber cannot be kept on a file system without hard links and exclusive renames");
    check_done(directory.finalize());
  }
  SECTION("but for a moment") {
    check_refused(last({}, {{SYS_link, EIO}}), 4, "Input/output error");
    check_done(directory.finalize());
  }
  directory.check_result();
}

TEST_CASE("A shard whose files are taken away each time gives up") {
  const ShardDirectory directory;
  check_refused(directory.shard(0, 3, {},
                                [] {
                                  fail({{SYS_symlink, ENOENT}});
                                }),
                4, "out.npy: its shards' files are changed by others again and again");
}

}  // namespace clipper::testing
