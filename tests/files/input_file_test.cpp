#include "files/input_file.hpp"

#include "support/refusal.hpp"
#include "support/removed_file.hpp"
#include "support/tensors.hpp"

namespace clipper::testing {
TEST_CASE("a file is read in order and at any offset") {
  const TemporaryDirectory directory{{"file", "0123456789"}};
  InputFile file = InputFile::open(directory / "file");
  CHECK(file.path() == directory / "file");
  CHECK(file.is_regular());
  CHECK(file.size() == 10);

  std::array<std::byte, 4> bytes{};
  file.read_exactly(bytes);
  CHECK(text_of(bytes) == "0123");
  file.read_at(bytes, 6);
  CHECK(text_of(bytes) == "6789");
  CHECK(file.read(bytes) == 4);
  CHECK(text_of(bytes) == "4567");
  CHECK(file.read(bytes) == 2);
  CHECK(file.read(bytes) == 0);
  file.expect_end();
}

TEST_CASE("a stream that ends too early or too late is an input error") {
  const TemporaryDirectory directory{{"file", "0123456789"}};
  InputFile file = InputFile::open(directory / "file");
  std::array<std::byte, 8> bytes{};
  file.read_exactly(bytes);
  CHECK(refusal(ErrorKind::input, [&] { file.read_exactly(bytes); }) ==
        directory / "file: truncated: ends before its last element");

  InputFile again = InputFile::open(directory / "file");
  CHECK(refusal(ErrorKind::input, [&] { again.expect_end(); }) ==
        directory / "file: unexpected bytes after the array");
}

TEST_CASE("a file that has shrunk is an I/O error") {
  const TemporaryDirectory directory{{"file", std::string(20'000, '-') + "0123456789"}};
  const InputFile file = InputFile::open(directory / "file");
  std::filesystem::resize_file(directory / "file", 20'005);
  std::array<std::byte, 4> bytes{};
  file.read_at(bytes, 20'001);
  CHECK(text_of(bytes) == "1234");
  const std::string message = refusal(ErrorKind::io, [&] { file.read_at(bytes, 20'003); });
  CHECK(message == directory / "file: changed while it was read: it now ends at byte 20005");
}

TEST_CASE("all reads of a small file give its bytes of one instant, and a later change is an I/O error") {
  const TemporaryDirectory directory{{"file", "0123456789"}};
  InputFile file = InputFile::open(directory / "file");
  directory.write("file", "abcde");
  std::array<std::byte, 4> bytes{};
  file.read_exactly(bytes);
  CHECK(text_of(bytes) == "0123");
  file.read_at(bytes, 5);
  CHECK(text_of(bytes) == "5678");
  CHECK(refusal(ErrorKind::io, [&] { file.expect_unwritten(); }) ==
        directory / "file: changed while it was read");
}

TEST_CASE("a write whose program sets the modification time back is an I/O error") {
  const TemporaryDirectory directory{{"file", "0123456789"}};
  const auto time = std::filesystem::last_write_time(directory / "file");
  const InputFile file = InputFile::open(directory / "file");
  directory.write("file", "9876543210");
  std::filesystem::last_write_time(directory / "file", time);
  CHECK(refusal(ErrorKind::io, [&] { file.expect_unwritten(); }) ==
        directory / "file: was written to, or its attributes changed, while it was read");
}

TEST_CASE("reads at the end of the bytes that are read first, and beyond, give the file's bytes") {
  const TemporaryDirectory directory;
  std::string contents;
  for (int i = 0; i < 5000; ++i)
    contents += std::to_string(i % 10) + "-+"[i % 2] + static_cast<char>('a' + i % 26);
  directory.write("file", contents);
  InputFile file = InputFile::open(directory / "file");
  std::array<std::byte, 7> bytes{};
  for (std::size_t at = 0; at + bytes.size() <= contents.size(); at += bytes.size()) {
    file.read_exactly(bytes);
    REQUIRE(text_of(bytes) == contents.substr(at, bytes.size()));
  }
  for (std::size_t at = 8180; at < 8200; ++at) {
    file.read_at(bytes, at);
    REQUIRE(text_of(bytes) == contents.substr(at, bytes.size()));
  }
}

TEST_CASE("an error of open names the path") {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink("loop", directory / "loop");
  const auto message = [](const std::string& path) {
    return refusal(ErrorKind::io, [&] { return InputFile::open(path); });
  };
  CHECK(message(directory / "missing") == directory / "missing: cannot be opened: No such file or directory");
  CHECK(message(directory.path()) == directory.path() + ": cannot be read: Is a directory");
  CHECK(message(directory / "loop").starts_with(directory / "loop: cannot be opened: "));
}

TEST_CASE("a file that is opened for a change is locked until it is closed") {
  const TemporaryDirectory directory{{"file", "x"}};
  std::filesystem::create_hard_link(directory / "file", directory / "hard");
  {
    const InputFile file = InputFile::open_to_change(directory / "file");
    CHECK(file.is_locked());
    CHECK(refusal(ErrorKind::refused, [&] { return InputFile::open_to_change(directory / "hard"); }) ==
          directory / "hard: is locked by another program, perhaps another clipper");
    std::ignore = InputFile::open(directory / "file");
  }
  CHECK(InputFile::open_to_change(directory / "hard").is_locked());
}

TEST_CASE("only a regular, writable file can be opened for a change") {
  const TemporaryDirectory directory;
  const auto message = [](ErrorKind kind, const std::string& path) {
    return refusal(kind, [&] { return InputFile::open_to_change(path); });
  };
  make_fifo(directory / "pipe");
  CHECK(message(ErrorKind::refused, "-") == "-: a change in place needs a regular file");
  CHECK(message(ErrorKind::refused, directory / "pipe") ==
        directory / "pipe: a change in place needs a regular file");
  CHECK(message(ErrorKind::refused, "/dev/null") == "/dev/null: a change in place needs a regular file");
  CHECK(message(ErrorKind::io, directory / "missing") ==
        directory / "missing: cannot be opened: No such file or directory");
  CHECK(message(ErrorKind::io, directory.path()) == directory.path() + ": cannot be read: Is a directory");
}

TEST_CASE("the path of a descriptor whose file is not under its name cannot be opened for a change") {
  const TemporaryDirectory directory;
  const RemovedFile file(directory / "x");
  const std::string expected =
      file.path() +
      ": leads to a file that is not under its name: it was removed, replaced or hidden by a mount";
  for (const bool has_neighbour : {true, false}) {
    if (!has_neighbour) std::filesystem::remove(file.neighbour);
    CHECK(refusal(ErrorKind::refused, [&] { return InputFile::open_to_change(file.path()); }) == expected);
  }
  directory.write("y", "named");
  const Descriptor named(::open((directory / "y").c_str(), O_RDWR | O_CLOEXEC));
  const std::string path = "/proc/self/fd/" + std::to_string(named.get());
  CHECK(InputFile::open_to_change(path).place().path() == std::filesystem::canonical(directory / "y"));
}

TEST_CASE("has_changed() detects writes and changed hard links") {
  const TemporaryDirectory directory;
  const auto opened = [&](InputFile (*open)(const std::string&, Caching)) {
    directory.write("file", "four");
    InputFile file = open(directory / "file", Caching::kept);
    CHECK_FALSE(file.has_changed());
    return file;
  };
  for (auto* const open : {&InputFile::open, &InputFile::open_to_change}) {
    const InputFile grown = opened(open);
    directory.write("file", "fives");
    CHECK(grown.has_changed());
  }
  for (auto* const open : {&InputFile::open, &InputFile::open_to_change}) {
    const InputFile written = opened(open);
    const timespec times[]{{0, UTIME_OMIT}, {1, 0}};
    REQUIRE(::utimensat(AT_FDCWD, (directory / "file").c_str(), times, 0) == 0);
    CHECK(written.has_changed());
  }
  {
    const InputFile replaced = opened(&InputFile::open_to_change);
    directory.write("other", "four");
    std::filesystem::rename(directory / "other", directory / "file");
    CHECK(replaced.has_changed());
  }
  const InputFile removed = opened(&InputFile::open);
  std::filesystem::remove(directory / "file");
  CHECK_FALSE(removed.has_changed());
}

TEST_CASE("links and other spellings lead to the same file") {
  const TemporaryDirectory directory{{"file", "x"}, {"other", "x"}};
  std::filesystem::create_symlink("file", directory / "link");
  std::filesystem::create_hard_link(directory / "file", directory / "hard");
  CHECK(is_same_file(directory / "file", directory / "file"));
  CHECK(is_same_file(directory / "file", directory / "./file"));
  CHECK(is_same_file(directory / "file", directory / "link"));
  CHECK(is_same_file(directory / "file", directory / "hard"));
  CHECK_FALSE(is_same_file(directory / "file", directory / "other"));
  CHECK_FALSE(is_same_file(directory / "file", directory / "missing"));
  CHECK_FALSE(is_same_file(directory / "file", "-"));
}

}  // namespace clipper::testing
