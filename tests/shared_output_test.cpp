#include "shared_output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "files.hpp"
#include "refusal.hpp"

namespace clipper::testing {
namespace {

namespace fs = std::filesystem;

using Existing = OutputFile::Existing;
using Names = std::vector<std::string>;

constexpr std::string_view kResult = "header and elements";

/// A run of three shards, in processes that happen to be one.
class ThreeShards {
 public:
  explicit ThreeShards(std::string description = "elements") : description_(std::move(description)) {}

  [[nodiscard]] SharedOutput open(Existing existing = Existing::replace) const {
    return SharedOutput::open(path(), existing, {3, description_, kResult.size()});
  }

  static void write(const SharedOutput& output, std::uint64_t shard) {
    const std::size_t begin = shard * 7;
    const std::string_view part = kResult.substr(begin, 7);
    output.part(begin).write_at(std::as_bytes(std::span(part)), 0);
  }

  void run(std::uint64_t shard, Existing existing = Existing::replace) const {
    SharedOutput output = open(existing);
    if (output.is_in_place()) return;
    write(output, shard);
    CHECK(output.finish(shard));
  }

  /// Runs the shard. Whether the output is in place then.
  [[nodiscard]] bool places(std::uint64_t shard, Existing existing = Existing::replace) const {
    run(shard, existing);
    return fs::exists(path()) && !fs::exists(path(".shards"));
  }

  void check_result() const {
    CHECK(read_file(path()) == kResult);
    CHECK(status_of(path()).st_nlink == 1);
    CHECK(directory_->entries() == Names{"out"});
  }

  /// Another description of the same output.
  [[nodiscard]] ThreeShards other() const {
    ThreeShards run(*this);
    run.description_ = "others";
    return run;
  }

  [[nodiscard]] std::string path(const std::string& suffix = "") const {
    return *directory_ / "out" + suffix;
  }
  [[nodiscard]] std::string inode() const { return std::to_string(status_of(path(".partial")).st_ino); }

 private:
  std::string description_;
  std::shared_ptr<TemporaryDirectory> directory_ = std::make_shared<TemporaryDirectory>();
};

}  // namespace

TEST_CASE("The last of the shards puts the output in place, whatever their order") {
  const ThreeShards run;
  const auto order = GENERATE(values<std::vector<std::uint64_t>>({{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}));
  CHECK_FALSE(run.places(order[0]));
  CHECK_FALSE(run.places(order[1]));
  CHECK_FALSE(run.places(order[0]));  // again
  CHECK_FALSE(fs::exists(run.path()));
  CHECK(run.places(order[2]));
  run.check_result();
}

TEST_CASE("An existing file is as it was until then, and hands on its mode") {
  const ThreeShards run;
  write_file(run.path(), "old");
  constexpr unsigned kMode = 0660;  // more than the umask leaves a new file
  fs::permissions(run.path(), fs::perms{kMode});
  run.run(0);
  CHECK((mode_of(run.path(".partial")) & ~kMode) == 0);
  run.run(1);
  CHECK(read_file(run.path()) == "old");
  run.run(2);
  run.check_result();
  CHECK(mode_of(run.path()) == kMode);
}

TEST_CASE("A link to the output stays a link") {
  const TemporaryDirectory directory;
  write_file(directory / "target", "old");
  fs::create_symlink("target", directory / "link");
  SharedOutput output = SharedOutput::open(directory / "link", Existing::replace, {1, "elements", 3});
  output.part(0).write_at(std::as_bytes(std::span("new", 3)), 0);
  CHECK(output.finish(0));
  CHECK(read_file(directory / "target") == "new");
  CHECK(fs::is_symlink(directory / "link"));
  CHECK(directory.entries() == Names{"link", "target"});
}

TEST_CASE("Shards that finish at once are all fine") {
  const ThreeShards run;
  run.run(0);
  SharedOutput one = run.open();
  SharedOutput same = run.open();
  SharedOutput two = run.open();
  ThreeShards::write(one, 1);
  ThreeShards::write(two, 2);
  CHECK(one.finish(1));
  CHECK(two.finish(2));
  CHECK(two.is_in_place());
  CHECK(same.finish(1));
  CHECK(same.is_in_place());
  run.check_result();
}

TEST_CASE("What a killed shard has left is finished by whoever comes next") {
  const ThreeShards run;
  const bool by_hand = GENERATE(false, true);
  const auto next = [&] {
    if (by_hand)
      SharedOutput::finalize(run.path(), Existing::replace);
    else
      CHECK(run.places(1));
  };
  run.run(0);
  run.run(1);
  const std::string inode = run.inode();
  SharedOutput last = run.open();
  ThreeShards::write(last, 2);
  write_file(run.path(".shards/2-of-3." + inode), "");
  SECTION("when all are done") {}
  SECTION("with the file linked") {
    fs::create_hard_link(run.path(".partial"), run.path(".shards/link-0123456789abcdef." + inode));
  }
  SECTION("before it is in place") {
    fs::create_hard_link(run.path(".partial"), run.path(".shards/link-0123456789abcdef." + inode));
    write_file(run.path(".shards/placed." + inode), "");
  }
  SECTION("when it is in place") {
    fs::create_hard_link(run.path(".partial"), run.path());
    write_file(run.path(".shards/placed." + inode), "");
  }
  SECTION("when only the claim is left") {
    fs::rename(run.path(".partial"), run.path());
    write_file(run.path(".shards/placed." + inode), "");
    for (int i = 0; i < 3; ++i) fs::remove(run.path(".shards/" + std::to_string(i) + "-of-3." + inode));
  }
  next();
  run.check_result();
}

TEST_CASE("A shard that comes too late changes nothing of the next run") {
  const ThreeShards run;
  SharedOutput late = run.open();
  run.run(0);
  run.run(1);
  CHECK(run.places(2));
  CHECK_FALSE(run.places(0));  // of the next run
  const auto before = fs::directory_iterator(run.path(".shards"));
  const std::ptrdiff_t markers = std::distance(before, fs::directory_iterator());
  CHECK(late.finish(1));
  CHECK(late.is_in_place());
  CHECK(std::distance(fs::directory_iterator(run.path(".shards")), fs::directory_iterator()) == markers);
  CHECK_FALSE(run.places(2));
  CHECK(run.places(1));
  run.check_result();
}

TEST_CASE("A run does not mix with another one") {
  const ThreeShards run;
  run.run(0);
  const std::string message = refusal(ErrorKind::refused, [&] { run.other().run(1); });
  CHECK(message == run.path(".shards") +
                       ": begun by another run: 3 shards of 19 bytes, elements; finish that one, or " +
                       "remove it and " + run.path(".partial"));
  refusal(ErrorKind::refused, [&] {
    (void)SharedOutput::open(run.path(), Existing::replace, {4, "elements", kResult.size()});
  });
  run.run(1);
  run.run(2);
  run.check_result();
  CHECK_FALSE(run.other().places(0));
}

TEST_CASE("Another run begins where one was killed while it cleaned up") {
  const ThreeShards run;
  run.run(0);
  const std::string inode = run.inode();
  fs::rename(run.path(".partial"), run.path());
  write_file(run.path(".shards/placed." + inode), "");
  CHECK_FALSE(run.other().places(0));
  CHECK_FALSE(fs::exists(run.path(".shards/0-of-3." + inode)));
}

TEST_CASE("Markers count only with the file that they are of") {
  const ThreeShards run;
  run.run(0);
  run.run(1);
  SECTION("it is gone") {
    fs::remove(run.path(".partial"));
  }
  SECTION("it is another one") {
    fs::rename(run.path(".partial"), run.path(".kept"));
    write_file(run.path(".partial"), "");
  }
  SECTION("another file has its inode") {
    fs::rename(run.path(".partial"), run.path());
  }
  try {
    run.run(2);  // begins anew, unless it gets a file with the same inode
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("but it is gone; remove both") != std::string::npos);
  }
  refusal(ErrorKind::refused, [&] { SharedOutput::finalize(run.path(), Existing::replace); });
}

TEST_CASE("Files that shards did not make are not touched") {
  const ThreeShards run;
  SECTION("OUT.partial") {
    write_file(run.path(".partial"), "mine");
    refusal(ErrorKind::refused, [&] { run.run(0); });
    CHECK(read_file(run.path(".partial")) == "mine");
  }
  SECTION("OUT.partial, a link") {
    write_file(run.path(".mine"), "");
    fs::create_symlink(run.path(".mine"), run.path(".partial"));
    refusal(ErrorKind::refused, [&] { run.run(0); });
    CHECK(read_file(run.path(".mine")).empty());
  }
  SECTION("the claim") {
    fs::create_directory(run.path(".shards"));
    write_file(run.path(".partial"), "");
    const std::string claim = run.path(".shards/run." + run.inode());
    const bool link = GENERATE(false, true);
    link ? fs::create_symlink("mine", claim) : write_file(claim, "");
    refusal(ErrorKind::refused, [&] { run.run(0); });
  }
  SECTION("OUT, a device") {
    refusal(ErrorKind::refused, [] { (void)SharedOutput::open("/dev/null", Existing::replace, {1, "", 1}); });
  }
}

TEST_CASE("--no-clobber is kept to the end") {
  const ThreeShards run;
  run.run(0, Existing::refuse);
  run.run(1, Existing::refuse);
  SECTION("with a file") {
    SharedOutput last = run.open(Existing::refuse);
    ThreeShards::write(last, 2);
    write_file(run.path(), "mine");
    refusal(ErrorKind::refused, [&] { (void)last.finish(2); });
    CHECK(read_file(run.path()) == "mine");
    SharedOutput::finalize(run.path(), Existing::replace);
  }
  SECTION("without") {
    CHECK(run.places(2, Existing::refuse));
  }
  run.check_result();
}

TEST_CASE("finalize() says what is missing") {
  const TemporaryDirectory directory;
  const std::string path = directory / "out";
  const auto finalize = [&] { SharedOutput::finalize(path, Existing::replace); };
  CHECK(refusal(ErrorKind::refused, finalize) == path + ": no shard of it has been run");
  const SharedOutput::Run run{9, "elements", 3};
  const auto finish = [&](std::uint64_t shard) {
    CHECK(SharedOutput::open(path, Existing::replace, run).finish(shard));
  };
  finish(3);
  CHECK(refusal(ErrorKind::refused, finalize) == path + ": shards 0 to 2, 4 to 8 of 9 are missing");
  for (const std::uint64_t shard : {0U, 2U, 5U, 7U, 8U}) finish(shard);
  CHECK(refusal(ErrorKind::refused, finalize) == path + ": shards 1, 4, 6 of 9 are missing");
  finish(4);
  finish(6);
  CHECK(refusal(ErrorKind::refused, finalize) == path + ": shard 1 of 9 is missing");
  finish(1);
  CHECK(refusal(ErrorKind::refused, finalize) == path +
                                                     ": no shards of it wait to be put in place; they are "
                                                     "there already, or something else has written it");
  CHECK(directory.entries() == Names{"out"});
}

TEST_CASE("A long description is as good as a short one") {
  const std::string description(5000, 'x');
  const ThreeShards run(description + "a");
  CHECK_FALSE(run.places(0));
  CHECK_FALSE(run.places(1));
  refusal(ErrorKind::refused, [&] {
    (void)SharedOutput::open(run.path(), Existing::replace, {3, description + "b", kResult.size()});
  });
  CHECK(run.places(2));
  run.check_result();
}

}  // namespace clipper::testing
