#include <sys/syscall.h>

#include "files/output_file.hpp"
#include "support/files.hpp"
#include "support/fork.hpp"
#include "support/lines.hpp"
#include "support/refusal.hpp"

// musl has no renameat2(), so lib makes the system call itself, and the hook would not be called.
#if defined(__GLIBC__)

namespace clipper::testing {
namespace {

/// Called before the first renameat2() and after it.
std::function<void()> before;
std::function<void()> after;

}  // namespace
}  // namespace clipper::testing

/// Takes the place of libc's function.
extern "C" int renameat2(int from, const char* old_name, int to, const char* new_name,
                         unsigned flags) noexcept {
  using clipper::testing::after;
  using clipper::testing::before;
  if (const auto act = std::exchange(before, nullptr)) act();
  const auto result = static_cast<int>(::syscall(SYS_renameat2, from, old_name, to, new_name, flags));
  const int error = errno;
  if (const auto act = std::exchange(after, nullptr)) act();
  errno = error;
  return result;
}

namespace clipper::testing {
namespace {

/// Replaces "x" in place, or writes a new "x".
class Replaced {
 public:
  Replaced() : path_(directory / "x") {
    write_file(path_, "old");
    before = after = nullptr;
  }

  void replace(const std::optional<Backup>& backup = std::nullopt) const {
    InputFile input = InputFile::open_to_change(path_);
    OutputFile output = OutputFile::create_in_place(input, backup);
    output.write(bytes("new"));
    output.keep_replaced(input);
    output.replace(input);
  }

  void write(const Backup& backup) const {
    OutputFile output =
        OutputFile::create(path_, OutputFile::Existing::replace, OutputFile::Durability::none);
    output.set_backup(backup);
    output.write(bytes("new"));
    output.commit();
  }

  /// What `mv x BACKUP; mv NEW x` does, where NEW has these bytes.
  void put(const std::string& backup, const std::string& text) const {
    std::filesystem::rename(path_, directory / backup);
    write_file(path_, text);
  }

  TemporaryDirectory directory;

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("every file that others give the name while it is exchanged stays, and the newest has the name") {
  const Replaced file;
  before = [&] { file.put("x.1", "stranger"); };
  after = [&] { file.put("x.2", "newest"); };
  const std::string text = refusal(ErrorKind::io, [&] { file.replace(); });
  CHECK(read_file(file.directory / "x") == "newest");
  CHECK(read_file(file.directory / "x.1") == "old");
  CHECK(read_file(file.directory / "x.2") == "new");
  const std::string is_now = "; a file that another program had given this name is now ";
  REQUIRE(text.find(is_now) != text.npos);
  CHECK(read_file(text.substr(text.find(is_now) + is_now.size())) == "stranger");
  CHECK(file.directory.entries().size() == 4);
}

TEST_CASE("a file that takes the name before the exchange gets it back, and nothing is left") {
  const Replaced file;
  before = [&] { file.put("x.1", "stranger"); };
  CHECK(refusal(ErrorKind::io, [&] { file.replace(); }).ends_with(": changed while it was clipped"));
  CHECK(read_file(file.directory / "x") == "stranger");
  CHECK(file.directory.entries() == std::vector<std::string>{"x", "x.1"});
}

TEST_CASE("a file that takes the result's name after the exchange stays, and the result is complete") {
  const Replaced file;
  after = [&] { file.put("x.1", "newest"); };
  file.replace();
  CHECK(read_file(file.directory / "x") == "newest");
  CHECK(read_file(file.directory / "x.1") == "new");
  CHECK(file.directory.entries() == std::vector<std::string>{"x", "x.1"});
}

TEST_CASE("an input that is changed before the exchange and whose name is taken after it stays") {
  const Replaced file;
  before = [&] { write_file(file.directory / "x", "changed"); };
  after = [&] { file.put("x.1", "newest"); };
  const std::string text = refusal(ErrorKind::io, [&] { file.replace(); });
  CHECK(read_file(file.directory / "x") == "newest");
  CHECK(file.directory.entries().size() == 3);
  CHECK(read_file(text.substr(text.rfind(' ') + 1)) == "changed");
}

TEST_CASE("other clippers refuse the result while it may be taken back") {
  const Replaced file;
  after = [&] {
    CHECK(refusal(ErrorKind::refused, [&] {
            return InputFile::open_to_change(file.directory / "x");
          }).ends_with("is locked by another program, perhaps another clipper"));
  };
  file.replace();
  CHECK(read_file(file.directory / "x") == "new");
}

TEST_CASE("a file that takes the name while the backup is made is neither replaced nor lost") {
  const Replaced file;
  before = [&] { file.put("x.1", "stranger"); };
  CHECK(contains(refusal(ErrorKind::refused, [&] { file.write({"~"}); }),
                 ": another file took its name while its backup was made; try again"));
  CHECK(read_file(file.directory / "x") == "stranger");
  CHECK(read_file(file.directory / "x.1") == "old");
  CHECK(read_file(file.directory / "x~") == "old");
  CHECK(file.directory.entries() == std::vector<std::string>{"x", "x.1", "x~"});
}

TEST_CASE("a file that takes a name that no file had is not replaced if a backup is asked for") {
  const Replaced file;
  std::filesystem::remove(file.directory / "x");
  OutputFile output =
      OutputFile::create(file.directory / "x", OutputFile::Existing::replace, OutputFile::Durability::none);
  output.set_backup(Backup{"~"});
  output.write(bytes("new"));
  write_file(file.directory / "x", "stranger");
  output.commit();
  CHECK(read_file(file.directory / "x") == "new");
  CHECK(read_file(file.directory / "x~") == "stranger");
}

TEST_CASE("where the file that was backed up has no other name, the backup stays") {
  const Replaced file;
  before = [&] {
    write_file(file.directory / "newest", "newest");
    std::filesystem::rename(file.directory / "newest", file.directory / "x");
  };
  CHECK(refusal(ErrorKind::refused, [&] {
          file.write({"~"});
        }).ends_with("; the file that it replaces is now " + file.directory / "x~"));
  CHECK(read_file(file.directory / "x") == "newest");
  CHECK(read_file(file.directory / "x~") == "old");
}

TEST_CASE("after a failure, names of backups are as before") {
  for (const bool has_older : {true, false}) {
    CAPTURE(has_older);
    const Replaced file;
    if (has_older) file.directory.write("x~", "older");
    before = [&] { write_file(file.directory / "x", "changed"); };
    CHECK(refusal(ErrorKind::io, [&] {
            file.replace(Backup{"~", true});
          }).ends_with(has_older ? "x: changed while it was read" : "x: changed while it was clipped"));
    CHECK(read_file(file.directory / "x") == "changed");
    if (has_older) CHECK(read_file(file.directory / "x~") == "older");
    CHECK(file.directory.entries().size() == (has_older ? 2 : 1));
    CHECK(status_of(file.directory / "x").st_nlink == 1);
  }
}

TEST_CASE("the older backup is named if it does not get its name back") {
  const Replaced file;
  file.directory.write("x~", "older");
  before = [&] { file.put("x.1", "stranger"); };
  const std::string text = refusal(ErrorKind::refused, [&] { file.write({"~", true}); });
  REQUIRE(contains(text, "; the older backup is now "));
  CHECK(read_file(text.substr(text.rfind(' ') + 1)) == "older");
  CHECK(read_file(file.directory / "x") == "stranger");
  CHECK(read_file(file.directory / "x~") == "old");
}

TEST_CASE("a backup that becomes the same file as the one that is replaced leaves no hidden link") {
  const Replaced file;
  file.directory.write("x~", "older");
  before = [&] {
    std::filesystem::remove(file.directory / "x~");
    std::filesystem::create_hard_link(file.directory / "x", file.directory / "x~");
  };
  file.write({"~", true});
  CHECK(read_file(file.directory / "x") == "new");
  CHECK(read_file(file.directory / "x~") == "old");
  CHECK(file.directory.entries() == std::vector<std::string>{"x", "x~"});
}

TEST_CASE("no backup is made of a file that a sticky directory keeps from this user") {
  if (::geteuid() != 0) return skip_unless_possible("to become another user");
  const Replaced file;
  using std::filesystem::perms;
  std::filesystem::permissions(std::filesystem::path(file.directory / "."), perms::all | perms::sticky_bit);
  std::filesystem::permissions(file.directory / "x", perms(0666));
  in_a_process([&] {
    become_user();
    return contains(refusal(ErrorKind::io, [&] { file.write({"~"}); }), "its directory is sticky");
  });
  CHECK(file.directory.entries() == std::vector<std::string>{"x"});
}

}  // namespace clipper::testing

#endif
