#include <sys/file.h>
#include <sys/syscall.h>

#include "files/output_file.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"

namespace clipper::testing {
namespace {

int flushes_of_directories = 0;
#if defined(__GLIBC__)
constexpr bool counts_flushes = true;
#else
constexpr bool counts_flushes = false;
#endif

}  // namespace
}  // namespace clipper::testing

#if defined(__GLIBC__)
/// Takes the place of libc's function.
extern "C" int fsync(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) ++clipper::testing::flushes_of_directories;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
#endif

namespace clipper::testing {
namespace {

/// How a replacement ended: "done", or the kind of its error.
using Ends = std::vector<std::string>;

std::string text_of(const std::exception_ptr& failure) {
  if (!failure) return "done";
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return fmt::format("{}", static_cast<int>(error.kind()));
  }
}

void add(ReplacementBatch& replacements, const std::string& path, Ends& ends,
         const std::optional<Backup>& backup = std::nullopt) {
  InputFile input = InputFile::open_to_change(path);
  OutputFile output = OutputFile::create_in_place(input, backup);
  output.write(std::as_bytes(std::span("new", 3)));
  const auto done = [&ends](const std::exception_ptr& failure) { ends.push_back(text_of(failure)); };
  replacements.add({std::move(input), std::move(output), done});
}

}  // namespace

TEST_CASE("commit() makes all replacements that were added") {
  const TemporaryDirectory directory;
  Ends ends;
  ReplacementBatch replacements;
  std::filesystem::create_directory(directory / "deep");
  const std::vector<std::string> files{directory / "a", directory / "b", directory / "deep/c"};
  for (const std::string& file : files) {
    write_file(file, "old");
    add(replacements, file, ends);
  }
  for (const std::string& file : files) CHECK(read_file(file) == "old");
  CHECK(ends.empty());
  CHECK(replacements.commit());
  for (const std::string& file : files) CHECK(read_file(file) == "new");
  CHECK(ends == Ends{"done", "done", "done"});
  CHECK_FALSE(replacements.commit());
  CHECK(directory.entries() == std::vector<std::string>{"a", "b", "deep"});
}

TEST_CASE("the backups of a batch are flushed together, and a file that fails loses its own") {
  const TemporaryDirectory directory;
  Ends ends;
  ReplacementBatch replacements;
  for (const char* name : {"a", "b", "changed", "d"}) {
    directory.write(name, "old");
    add(replacements, directory / name, ends, Backup{"~"});
  }
  directory.write("changed", "other");
  const int before = flushes_of_directories;
  CHECK(replacements.commit());
  if (counts_flushes) CHECK(flushes_of_directories - before == 2);
  CHECK(ends == Ends{"done", "done", "4", "done"});
  CHECK(directory.entries() == std::vector<std::string>{"a", "a~", "b", "b~", "changed", "d", "d~"});
  CHECK(directory.read("a~") == "old");
  CHECK(status_of(directory / "changed").st_nlink == 1);
}

TEST_CASE("a replacement that fails leaves its file and does not stop the others") {
  const TemporaryDirectory directory;
  Ends ends;
  ReplacementBatch replacements;
  for (const char* name : {"a", "changed", "gone", "z"}) {
    directory.write(name, "old");
    add(replacements, directory / name, ends);
  }
  directory.write("changed", "other");
  std::filesystem::remove(directory / "gone");
  CHECK(replacements.commit());
  CHECK(ends == Ends{"done", "4", "4", "done"});
  CHECK(directory.read("a") == "new");
  CHECK(directory.read("changed") == "other");
  CHECK(directory.read("z") == "new");
  CHECK(directory.entries() == std::vector<std::string>{"a", "changed", "z"});
}

TEST_CASE("a file that takes the name of a file being clipped is not replaced") {
  const TemporaryDirectory directory;
  Ends ends;
  ReplacementBatch replacements;
  for (const char* name : {"copied", "renamed", "linked"}) {
    directory.write(name, "old");
    add(replacements, directory / name, ends);
    std::filesystem::rename(directory / name, directory / (std::string(name) + ".moved"));
  }
  directory.write("copied", "stranger");
  directory.write("stranger", "stranger");
  std::filesystem::rename(directory / "stranger", directory / "renamed");
  directory.write("elsewhere", "stranger");
  std::filesystem::create_symlink("elsewhere", directory / "linked");
  CHECK(replacements.commit());
  CHECK(ends == Ends{"5", "5", "5"});
  for (const char* name : {"copied", "renamed", "linked"}) {
    CHECK(directory.read(name) == "stranger");
    CHECK(directory.read(std::string(name) + ".moved") == "old");
  }
  CHECK(directory.entries().size() == 7);
}

TEST_CASE("a symbolic link that is changed while its file is clipped has no effect") {
  const TemporaryDirectory directory{{"a", "old"}, {"b", "stranger"}};
  std::filesystem::create_symlink("a", directory / "link");
  Ends ends;
  ReplacementBatch replacements;
  InputFile input = InputFile::open_to_change(directory / "link");
  std::filesystem::remove(directory / "link");
  std::filesystem::create_symlink("b", directory / "link");
  OutputFile output = OutputFile::create_in_place(input);
  output.write(std::as_bytes(std::span("new", 3)));
  replacements.add(
      {std::move(input), std::move(output), [&](const auto& why) { ends.push_back(text_of(why)); }});
  CHECK(replacements.commit());
  CHECK(ends == Ends{"done"});
  CHECK(directory.read("a") == "new");
  CHECK(directory.read("b") == "stranger");
}

TEST_CASE("a directory that takes the place of the original one gets nothing") {
  const TemporaryDirectory directory{{"deep/x", "old"}};
  Ends ends;
  ReplacementBatch replacements;
  add(replacements, directory / "deep/x", ends);
  std::filesystem::rename(directory / "deep", directory / "moved");
  std::filesystem::create_directory(directory / "deep");
  directory.write("deep/x", "stranger");
  CHECK(replacements.commit());
  CHECK(ends == Ends{"done"});
  CHECK(directory.read("moved/x") == "new");
  CHECK(directory.read("deep/x") == "stranger");
}

TEST_CASE("attributes that are changed during the work are not lost") {
  const TemporaryDirectory directory{{"x", "old"}};
  Ends ends;
  ReplacementBatch replacements;
  add(replacements, directory / "x", ends);
  std::filesystem::permissions(directory / "x", std::filesystem::perms::owner_read);
  CHECK(replacements.commit());
  CHECK(ends == Ends{"4"});
  CHECK(mode_of(directory / "x") == 0400);
  CHECK(directory.read("x") == "old");
}

TEST_CASE("a replacement that another clipper has locked is not put in place, and is unlocked afterwards") {
  for (const bool is_locked : {true, false}) {
    const TemporaryDirectory directory{{"x", "old"}};
    InputFile input = InputFile::open_to_change(directory / "x");
    OutputFile output = OutputFile::create_in_place(input);
    output.write(std::as_bytes(std::span("new", 3)));
    const std::string path = fmt::format("/proc/self/fd/{}", output.descriptor().get());
    const Descriptor other(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (is_locked) {
      REQUIRE(::flock(other.get(), LOCK_EX) == 0);
      CHECK(refusal(ErrorKind::refused, [&] {
              output.replace(input);
            }).ends_with("is locked by another program, perhaps another clipper"));
    } else {
      output.replace(input);
      CHECK(::flock(other.get(), LOCK_EX | LOCK_NB) == 0);
    }
    CHECK(directory.read("x") == (is_locked ? "old" : "new"));
  }
}

TEST_CASE("a file whose replacement is not committed stays as it was") {
  const TemporaryDirectory directory;
  Ends ends;
  directory.write("a", "old");
  {
    ReplacementBatch replacements;
    add(replacements, directory / "a", ends);
  }
  CHECK(ends.empty());
  CHECK(directory.read("a") == "old");
  CHECK(directory.entries() == std::vector<std::string>{"a"});
}

TEST_CASE("add() commits a batch that is large enough") {
  const TemporaryDirectory directory;
  Ends ends;
  ReplacementBatch replacements;
  for (int i = 0; i < 300; ++i) {
    const std::string file = directory / fmt::format("{}", i);
    write_file(file, "old");
    add(replacements, file, ends);
  }
  CHECK(ends.size() >= 224);
  CHECK(ends.size() < 300);
}

}  // namespace clipper::testing
