#include <sys/syscall.h>

#include "files/output_file.hpp"
#include "support/files.hpp"
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

/// Replaces "x" in place.
class Replaced {
 public:
  Replaced() : path_(directory / "x") {
    write_file(path_, "old");
    before = after = nullptr;
  }

  void replace() const {
    InputFile input = InputFile::open_to_change(path_);
    OutputFile output = OutputFile::create_in_place(input);
    output.write(bytes("new"));
    output.replace(input);
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

}  // namespace clipper::testing

#endif
