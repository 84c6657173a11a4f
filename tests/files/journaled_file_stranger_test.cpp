#include "files/journaled_scratch.hpp"

// What other programs do to the file, its names and its journal during a change.
namespace clipper::testing {

TEST_CASE("A file that is no journal but has a journal's name is not touched") {
  enum class What { link, names, text, directory };
  for (const What what : {What::link, What::names, What::text, What::directory}) {
    CAPTURE(static_cast<int>(what));
    const Scratch scratch;
    write_file(scratch.directory / "other", "precious");
    switch (what) {
      case What::link: std::filesystem::create_symlink("other", scratch.journal); break;
      case What::names:
        std::filesystem::create_hard_link(scratch.directory / "other", scratch.journal);
        break;
      case What::text:
        write_file(scratch.journal, "precious");
        std::filesystem::permissions(scratch.journal, std::filesystem::perms{0600});
        break;
      case What::directory: std::filesystem::create_directory(scratch.journal); break;
    }
    const auto snapshot = scratch.directory.snapshot();
    const auto look = [&] {
      const InputFile input = InputFile::open_to_change(scratch.path);
      const JournaledFile file(input);
    };
    CHECK(refusal(ErrorKind::refused, look) ==
          scratch.journal + ": is not a clipper journal; move it elsewhere and try again");
    CHECK(scratch.directory.snapshot() == snapshot);
  }
}

TEST_CASE("A journal that is in use is not used for another file with the tensor's name") {
  const Scratch scratch;
  const Journal journal = Journal::create(Place::of(scratch.path), 0600, kPartSize);
  CHECK(scratch.refused() == scratch.journal + ": is locked by another program, perhaps another clipper");
  CHECK(scratch.directory.entries() == Names{".x.npy.clipper-journal", "x.npy"});
}

TEST_CASE("Parameters that do not fit the journal are refused before anything is written") {
  const Scratch scratch;
  const auto snapshot = scratch.directory.snapshot();
  CHECK(refusal(ErrorKind::refused, [&] {
          const InputFile input = InputFile::open_to_change(scratch.path);
          JournaledFile file(input);
          CHECK_FALSE(file.begin(to_do(input, std::string(3977, 'x'))));
          change(file, 0);
        }).find("3977 bytes") != std::string::npos);
  CHECK(scratch.directory.snapshot() == snapshot);
  const InputFile input = InputFile::open_to_change(scratch.path);
  JournaledFile file(input);
  CHECK_FALSE(file.begin(to_do(input, std::string(3976, 'x'))));
  change(file, 0);
}

namespace {

const char* const kWritten = ": another process wrote to it while it was changed";
const char* const kDamaged = " and may have damaged it";

/// Writes the byte like another process, and advances the time by 100 s, because tests must not depend on
/// clocks.
void write_from_outside(const Scratch& scratch, std::size_t at, char byte) {
  std::fstream file(scratch.path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at)).put(byte).flush();
  REQUIRE(file);
  timespec time = status_of(scratch.path).st_mtim;
  time.tv_sec += 100;
  const std::array<timespec, 2> times{time, time};
  REQUIRE(::utimensat(AT_FDCWD, scratch.path.c_str(), times.data(), 0) == 0);
}

}  // namespace

TEST_CASE("A write by another process stops the change") {
  // Writes after `parts` parts (kParts: before the commit), to a changed and to an unchanged part.
  for (std::size_t parts = 0; parts <= kParts; ++parts) {
    for (const std::size_t at : {offset_of(0) + 7, offset_of(kParts) - 1}) {
      CAPTURE(parts, at);
      const Scratch scratch;
      {
        const InputFile input = InputFile::open_to_change(scratch.path);
        JournaledFile file(input);
        CHECK_FALSE(file.begin(to_do(input)));
        for (std::size_t part = 0; part < parts; ++part) change(file, part);
        write_from_outside(scratch, at, '!');
        CHECK(refusal(ErrorKind::io, [&] {
                if (parts == kParts)
                  file.commit();
                else
                  change(file, parts);
              }) == scratch.path + kWritten + (parts == 0 ? "" : kDamaged));
        CHECK(file.is_unfinished() == (parts > 0));
      }
      if (parts == 0)
        CHECK(scratch.directory.entries() == Names{"x.npy"});
      else
        CHECK(refusal(ErrorKind::refused, [&] { return scratch.finish(); }).find("restore its own journal") !=
              std::string::npos);
    }
  }
}

TEST_CASE("A write by another process between reading and writing a part stops the change") {
  for (const std::size_t parts : {0U, 2U}) {
    CAPTURE(parts);
    const Scratch scratch;
    const InputFile input = InputFile::open_to_change(scratch.path);
    JournaledFile file(input);
    CHECK_FALSE(file.begin(to_do(input)));
    for (std::size_t part = 0; part < parts; ++part) change(file, part);
    Buffers buffers(parts);
    file.read(std::as_writable_bytes(std::span(buffers.before)), offset_of(parts));
    write_from_outside(scratch, offset_of(parts) + 9, '!');
    CHECK(refusal(ErrorKind::io, [&] { file.change(buffers.part_at(offset_of(parts))); }) ==
          scratch.path + kWritten + (parts == 0 ? "" : kDamaged));
    CHECK(scratch.file()[offset_of(parts) + 9] == '!');
    CHECK(scratch.directory.entries().size() == (parts == 0 ? 1 : 2));
  }
}

namespace {

/// As write_from_outside(), but in the tick of the clock in which the file was last written.
void write_in_the_same_tick(const Scratch& scratch, std::size_t at, char byte) {
  const timespec time = status_of(scratch.path).st_mtim;
  write_from_outside(scratch, at, byte);
  const std::array<timespec, 2> times{time, time};
  REQUIRE(::utimensat(AT_FDCWD, scratch.path.c_str(), times.data(), 0) == 0);
}

}  // namespace

TEST_CASE("A write that the file's times do not show, between reading and writing a part, is kept") {
  const Scratch scratch;
  const InputFile input = InputFile::open_to_change(scratch.path);
  JournaledFile file(input);
  CHECK_FALSE(file.begin(to_do(input)));
  change(file, 0);
  Buffers buffers(1);
  file.read(std::as_writable_bytes(std::span(buffers.before)), offset_of(1));
  write_in_the_same_tick(scratch, offset_of(2) - 1, '!');
  CHECK(refusal(ErrorKind::io, [&] { file.change(buffers.part_at(offset_of(1))); }) ==
        scratch.path + kWritten + kDamaged);
  CHECK(scratch.file()[offset_of(2) - 1] == '!');
}

TEST_CASE("A write that the file's times do not show is detected in parts that are read later") {
  const Scratch scratch;
  const InputFile input = InputFile::open_to_change(scratch.path);
  JournaledFile file(input);
  CHECK_FALSE(file.begin(to_do(input)));
  change(file, 0);
  change(file, 1);
  write_in_the_same_tick(scratch, offset_of(2), '!');
  Buffers buffers(2);
  file.read(std::as_writable_bytes(std::span(buffers.before)), offset_of(2));
  file.change(buffers.part_at(offset_of(2)));
  change(file, 3);
  CHECK(refusal(ErrorKind::io, [&] { file.commit(); }) == scratch.path + kWritten + kDamaged);
  CHECK(file.is_unfinished());
}

TEST_CASE("The file may be renamed and linked while it is changed") {
  const Scratch scratch;
  const std::string moved = scratch.directory / "moved.npy";
  {
    const InputFile input = InputFile::open_to_change(scratch.path);
    JournaledFile file(input);
    CHECK_FALSE(file.begin(to_do(input)));
    change(file, 0);
    std::filesystem::rename(scratch.path, moved);
    std::filesystem::create_hard_link(moved, scratch.directory / "second.npy");
    write_file(scratch.path, "new");
    for (std::size_t part = 1; part < kParts; ++part) change(file, part);
    file.commit();
  }
  CHECK(scratch.file() == "new");
  CHECK(read_file(moved) == file_with(kParts));
  CHECK(scratch.directory.entries() == Names{"moved.npy", "second.npy", "x.npy"});
}

TEST_CASE("At the end the journal may be gone, or its name may belong to another file") {
  for (const bool replaced : {false, true}) {
    CAPTURE(replaced);
    const Scratch scratch;
    const InputFile input = InputFile::open_to_change(scratch.path);
    JournaledFile file(input);
    CHECK_FALSE(file.begin(to_do(input)));
    for (std::size_t part = 0; part < kParts; ++part) change(file, part);
    std::filesystem::remove(scratch.journal);
    if (replaced) write_file(scratch.journal, "precious");
    file.commit();
    CHECK(scratch.file() == file_with(kParts));
    CHECK(scratch.directory.entries().size() == (replaced ? 2 : 1));
    if (replaced) CHECK(read_file(scratch.journal) == "precious");
  }
}

}  // namespace clipper::testing
