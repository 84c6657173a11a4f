#include "direct_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "checksum.hpp"
#include "files.hpp"
#include "refusal.hpp"
#include "tensors.hpp"

namespace clipper::testing {
namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kParts = 4;
constexpr std::size_t kPartSize = 4096;
constexpr std::string_view kWhat = "plus one";

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string header() {
  return float32_file(std::vector<float>(kParts * kPartSize / sizeof(float))).substr(0, 128);
}

/// A part's bytes before and after the change.
std::string before(std::size_t part) {
  return std::string(kPartSize, static_cast<char>('a' + 2 * part));
}
std::string after(std::size_t part) {
  return std::string(kPartSize, static_cast<char>('b' + 2 * part));
}

/// The file with that many parts changed.
std::string file_with(std::size_t changed) {
  std::string file = header();
  for (std::size_t part = 0; part < kParts; ++part) file += part < changed ? after(part) : before(part);
  return file;
}

std::string unfinished(std::string file) {
  file[npy::kVersionAt] = static_cast<char>(npy::kUnfinishedVersion);
  return file;
}

std::uint64_t offset_of(std::size_t part) {
  return header().size() + part * kPartSize;
}

/// The part as it is read, and what becomes of it.
struct Buffers {
  std::string before;
  std::string after;

  explicit Buffers(std::size_t part) : before(testing::before(part)), after(testing::after(part)) {}

  [[nodiscard]] DirectFile::Part part_at(std::uint64_t offset) {
    const auto writable = [](std::string& text) { return std::as_writable_bytes(std::span(text)); };
    return {offset, writable(before), writable(after), placed_sum(bytes(before), offset),
            placed_sum(bytes(after), offset)};
  }
};

DirectFile::Change to_do(const InputFile& input, std::string_view what = kWhat,
                         std::uint64_t capacity = kPartSize) {
  const auto sum = [&input](std::uint64_t begin, std::uint64_t end) {
    std::vector<std::byte> bytes(end - begin);
    input.read_at(bytes, begin);
    return placed_sum(bytes, begin);
  };
  return {std::string(what), capacity, header().size(), sum};
}

void change(DirectFile& file, std::size_t part) {
  Buffers buffers(part);
  std::string read(kPartSize, '\0');
  file.read(std::as_writable_bytes(std::span(read)), offset_of(part));
  CHECK(read == buffers.before);
  file.change(buffers.part_at(offset_of(part)));
}

struct Scratch {
  TemporaryDirectory directory;
  std::string path = directory / "x.npy";
  std::string journal = directory / ".x.npy.clipper-journal";

  Scratch() { write_file(path, file_with(0)); }

  [[nodiscard]] std::string file() const { return read_file(path); }

  /// As a process that ends after so many parts leaves it.
  void interrupt_after(std::size_t parts) const {
    const InputFile input = InputFile::open_to_change(path);
    DirectFile file(input);
    REQUIRE_FALSE(file.begin(to_do(input)));
    for (std::size_t part = 0; part < parts; ++part) change(file, part);
  }

  /// As a process leaves it that ends in commit(), before the file is valid.
  void interrupt_at_end() const {
    interrupt_after(kParts);
    std::optional<Journal> found = Journal::find(Place::of(path), 0600);
    JournalRecord last = *found->last();
    last.offset = last.file_size;
    last.part_sum = 0;
    const std::string all = file_with(kParts);
    last.rest_sum = placed_sum(bytes(all).first(offset_of(0)), 0) +
                    placed_sum(bytes(all).subspan(offset_of(0)), offset_of(0));
    found->append(last, {});
  }

  void damage(const std::string& name, std::size_t at) const {
    std::string damaged = read_file(name);
    damaged[at] ^= 1;
    write_file(name, damaged);
  }

  /// What a process that does `what` says to the file.
  [[nodiscard]] std::string refused(const std::string& what = std::string(kWhat)) const {
    return refusal(ErrorKind::refused, [&] {
      const InputFile input = InputFile::open_to_change(path);
      std::ignore = DirectFile(input).begin(to_do(input, what));
    });
  }

  /// Runs the change to its end. Returns the part that it went on with.
  [[nodiscard]] std::size_t finish() const {
    const InputFile input = InputFile::open_to_change(path);
    DirectFile file(input);
    std::size_t first = 0;
    std::size_t next = 0;
    if (const auto interrupted = file.begin(to_do(input, kWhat, 2 * kPartSize))) {
      CHECK(file.has_resumed());
      CHECK(file.capacity() == kPartSize);
      first = (interrupted->offset - header().size()) / kPartSize;
      next = first + 1;
      if (interrupted->length > 0) {
        REQUIRE(interrupted->length == kPartSize);
        std::string bytes_before(kPartSize, '\0');
        file.read_interrupted(std::as_writable_bytes(std::span(bytes_before)));
        CHECK(bytes_before == before(first));
      }
      Buffers buffers(first);
      if (interrupted->length == 0) buffers.before = buffers.after = "";
      file.finish_interrupted(buffers.part_at(interrupted->offset));
    }
    for (std::size_t part = next; part < kParts; ++part) change(file, part);
    file.commit();
    return first;
  }

  void check_finished() const {
    CHECK(file() == file_with(kParts));
    CHECK(directory.entries() == Names{"x.npy"});
  }
};

}  // namespace

TEST_CASE("A file that is changed where it is cannot be read until it is complete") {
  const Scratch scratch;
  const ino_t inode = status_of(scratch.path).st_ino;
  {
    const InputFile input = InputFile::open_to_change(scratch.path);
    DirectFile file(input);
    CHECK_FALSE(file.version());
    CHECK_FALSE(file.begin(to_do(input)));
    CHECK(scratch.directory.entries() == Names{"x.npy"});
    for (std::size_t part = 0; part < kParts; ++part) {
      change(file, part);
      CHECK(scratch.file() == unfinished(file_with(part + 1)));
      CHECK(file.is_unfinished());
      CHECK(mode_of(scratch.journal) == 0600);
    }
    file.commit();
    CHECK_FALSE(file.is_unfinished());
  }
  scratch.check_finished();
  CHECK(status_of(scratch.path).st_ino == inode);
}

TEST_CASE("Nothing happens to a file in which nothing changes") {
  const Scratch scratch;
  const auto snapshot = scratch.directory.snapshot();
  const InputFile input = InputFile::open_to_change(scratch.path);
  DirectFile file(input);
  CHECK_FALSE(file.begin(to_do(input)));
  file.commit();
  CHECK(scratch.directory.snapshot() == snapshot);
}

TEST_CASE("An interrupted change is finished by the same change") {
  for (std::size_t parts = 1; parts <= kParts; ++parts) {
    CAPTURE(parts);
    const Scratch scratch;
    scratch.interrupt_after(parts);
    CHECK(scratch.file() == unfinished(file_with(parts)));
    CHECK(scratch.refused("times two") ==
          scratch.path + ": another --in-place --direct was interrupted, which must end first: plus one");
    CHECK(scratch.file() == unfinished(file_with(parts)));
    CHECK(scratch.finish() == parts - 1);
    scratch.check_finished();
  }
}

TEST_CASE("A torn slot of the journal leaves the other one") {
  for (const std::size_t parts : {2U, 3U, 4U}) {
    // The newest slot: its record, or its bytes. As if the process had ended before the part was changed.
    const std::size_t slot = (parts - 1) % 2;
    for (const std::size_t at : {slot * 4096, slot * 4096 + 100, slot * 4096 + 4095, 8192 + slot * kPartSize,
                                 8192 + slot * kPartSize + kPartSize - 1}) {
      CAPTURE(parts, at);
      const Scratch scratch;
      scratch.interrupt_after(parts);
      write_file(scratch.path, unfinished(file_with(parts - 1)));
      scratch.damage(scratch.journal, at);
      CHECK(scratch.finish() == parts - 2);
      scratch.check_finished();
    }
  }
}

TEST_CASE("An unfinished file without a whole journal is refused") {
  const auto left_as_it_is = [](const Scratch& scratch, const std::string& why) {
    const auto snapshot = scratch.directory.snapshot();
    CHECK(scratch.refused() == scratch.path + ": left unfinished by --in-place --direct, " + why);
    CHECK(scratch.directory.snapshot() == snapshot);
  };
  const Scratch without;
  without.interrupt_after(1);
  std::filesystem::remove(without.journal);
  left_as_it_is(without, "and its journal is not beside it as .x.npy.clipper-journal");

  const Scratch damaged;
  damaged.interrupt_after(1);
  damaged.damage(damaged.journal, 16);
  left_as_it_is(damaged, "and " + damaged.journal + " is damaged");

  const Scratch empty;
  empty.interrupt_after(1);
  write_file(empty.journal, "");
  left_as_it_is(empty, "and " + empty.journal + " is damaged");

  const Scratch grown;
  grown.interrupt_after(1);
  write_file(grown.path, grown.file() + "x");
  left_as_it_is(grown, "and " + grown.journal + " is of another file");
}

TEST_CASE("A part that was written in part is finished, one that was written by somebody else is not") {
  for (std::size_t parts = 1; parts <= kParts; ++parts) {
    CAPTURE(parts);
    for (const char other : {'\0', '!'}) {
      const Scratch scratch;
      scratch.interrupt_after(parts);
      std::string torn = scratch.file();
      for (std::size_t i = 0; i < kPartSize; i += 3)  // no write is torn at every third byte; the rule is
        torn[offset_of(parts - 1) + i] = before(parts - 1)[i];
      if (other != '\0') torn[offset_of(parts - 1) + 4] = other;
      write_file(scratch.path, torn);
      if (other == '\0') {
        CHECK(scratch.finish() == parts - 1);
        scratch.check_finished();
        continue;
      }
      CHECK(refusal(ErrorKind::refused, [&] {
              std::ignore = scratch.finish();
            }).find("is of another file, or this one was written to since") != std::string::npos);
      CHECK(scratch.file() == torn);
    }
  }
}

namespace {

/// A journal as it is before the file's version becomes another, with or without its first record.
void make_first_record(const Scratch& scratch, bool has_record, std::string_view content) {
  Journal journal = Journal::create(Place::of(scratch.path), 0600, kPartSize);
  const std::string all(content);
  if (has_record)
    journal.append({.capacity = kPartSize,
                    .offset = offset_of(0),
                    .file_size = all.size(),
                    .part_sum = placed_sum(bytes(all).subspan(offset_of(0), kPartSize), offset_of(0)),
                    .rest_sum = placed_sum(bytes(all).first(header().size()), 0) +
                                placed_sum(bytes(all).subspan(offset_of(1)), offset_of(1)),
                    .parameters = "times two"},
                   bytes(before(0)));
  journal.keep();
}

const char* const kNotIt = ": is not what an interrupted --in-place --direct has left ";

}  // namespace

TEST_CASE("A change that ended before its first part was written is forgotten") {
  for (const bool has_record : {false, true}) {
    CAPTURE(has_record);
    const Scratch scratch;
    make_first_record(scratch, has_record, file_with(0));
    CHECK(scratch.directory.entries() == Names{".x.npy.clipper-journal", "x.npy"});
    CHECK(scratch.finish() == 0);
    scratch.check_finished();
  }
}

TEST_CASE("A file that was written to after such a change is refused") {
  for (const std::size_t at : {std::size_t{100}, offset_of(0) + 5, file_with(0).size() - 1}) {
    CAPTURE(at);
    const Scratch scratch;
    make_first_record(scratch, true, file_with(0));
    scratch.damage(scratch.path, at);
    const std::string changed = scratch.file();
    CHECK(scratch.refused("times two").find(kNotIt) != std::string::npos);
    CHECK(scratch.refused().find(kNotIt) != std::string::npos);
    CHECK(scratch.file() == changed);
  }
}

TEST_CASE("A change that ended after its last part is complete") {
  for (const bool is_valid : {false, true}) {
    CAPTURE(is_valid);
    const Scratch scratch;
    scratch.interrupt_at_end();
    REQUIRE(scratch.file() == unfinished(file_with(kParts)));
    if (is_valid) write_file(scratch.path, file_with(kParts));
    CHECK(scratch.finish() == kParts);
    scratch.check_finished();
  }
}

TEST_CASE("A complete change that is not known to be one is finished by the same change only") {
  const Scratch scratch;
  scratch.interrupt_at_end();
  CHECK(scratch.refused("times two").find("must end first: plus one") != std::string::npos);
  write_file(scratch.path, file_with(kParts));  // valid: it is known, and the journal needless
  const InputFile input = InputFile::open_to_change(scratch.path);
  CHECK_FALSE(DirectFile(input).begin(to_do(input, "times two")));
  scratch.check_finished();
}

TEST_CASE("A valid file that is not as the journal has it is left alone") {
  for (const bool is_complete : {false, true}) {
    for (const std::string& content :
         {file_with(0), file_with(1), file_with(kParts) + "longer", std::string(file_with(0).size(), 'x')}) {
      const Scratch scratch;
      if (is_complete)
        scratch.interrupt_at_end();
      else
        scratch.interrupt_after(kParts);
      write_file(scratch.path, content);
      const auto snapshot = scratch.directory.snapshot();
      const std::string why =
          scratch.path + kNotIt + scratch.journal + " for; remove that if the tensor is as it should be";
      CHECK(scratch.refused() == why);
      CHECK(scratch.refused("times two") == why);
      CHECK(scratch.directory.snapshot() == snapshot);
    }
  }
  const Scratch scratch;  // even as it should be: without the last record that is not known
  scratch.interrupt_after(kParts);
  write_file(scratch.path, file_with(kParts));
  CHECK(scratch.refused().find(kNotIt) != std::string::npos);
}

TEST_CASE("What only has the journal's name is not touched") {
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
      const DirectFile file(input);
    };
    CHECK(refusal(ErrorKind::refused, look) == scratch.journal + ": is no journal of clipper's");
    CHECK(scratch.directory.snapshot() == snapshot);
  }
}

TEST_CASE("A journal that is in use is not taken for another file's of that name") {
  const Scratch scratch;
  const Journal journal = Journal::create(Place::of(scratch.path), 0600, kPartSize);
  CHECK(scratch.refused() == scratch.journal + ": is in use by another clipper");
  CHECK(scratch.directory.entries() == Names{".x.npy.clipper-journal", "x.npy"});
}

TEST_CASE("A text that the journal has no room for is refused before anything is written") {
  const Scratch scratch;
  const auto snapshot = scratch.directory.snapshot();
  CHECK(refusal(ErrorKind::refused, [&] {
          const InputFile input = InputFile::open_to_change(scratch.path);
          DirectFile file(input);
          CHECK_FALSE(file.begin(to_do(input, std::string(4001, 'x'))));
          change(file, 0);
        }).find("4001 bytes") != std::string::npos);
  CHECK(scratch.directory.snapshot() == snapshot);
  const InputFile input = InputFile::open_to_change(scratch.path);
  DirectFile file(input);
  CHECK_FALSE(file.begin(to_do(input, std::string(4000, 'x'))));
  change(file, 0);
}

namespace {

/// Another process writes the byte, and does so much later than all before: tests must not depend on clocks.
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

TEST_CASE("Another process's write ends the change") {
  // After so many parts; kParts: before the end. To what is done by then, and to what is not.
  for (std::size_t parts = 0; parts <= kParts; ++parts) {
    for (const std::size_t at : {offset_of(0) + 7, offset_of(kParts) - 1}) {
      CAPTURE(parts, at);
      const Scratch scratch;
      {
        const InputFile input = InputFile::open_to_change(scratch.path);
        DirectFile file(input);
        CHECK_FALSE(file.begin(to_do(input)));
        for (std::size_t part = 0; part < parts; ++part) change(file, part);
        write_from_outside(scratch, at, '!');
        CHECK(refusal(ErrorKind::io, [&] {
                if (parts == kParts)
                  file.commit();
                else
                  change(file, parts);
              }) == scratch.path + ": another process has written to it");
        CHECK(file.is_unfinished() == (parts > 0));
      }
      if (parts == 0)
        CHECK(scratch.directory.entries() == Names{"x.npy"});
      else
        CHECK(refusal(ErrorKind::refused, [&] {
                std::ignore = scratch.finish();
              }).find("was written to since") != std::string::npos);
    }
  }
}

TEST_CASE("Another process's write between reading a part and writing it ends the change") {
  for (const std::size_t parts : {0U, 2U}) {
    CAPTURE(parts);
    const Scratch scratch;
    const InputFile input = InputFile::open_to_change(scratch.path);
    DirectFile file(input);
    CHECK_FALSE(file.begin(to_do(input)));
    for (std::size_t part = 0; part < parts; ++part) change(file, part);
    Buffers buffers(parts);
    file.read(std::as_writable_bytes(std::span(buffers.before)), offset_of(parts));
    write_from_outside(scratch, offset_of(parts) + 9, '!');
    CHECK(refusal(ErrorKind::io, [&] { file.change(buffers.part_at(offset_of(parts))); }) ==
          scratch.path + ": another process has written to it");
    CHECK(scratch.file()[offset_of(parts) + 9] == '!');
    CHECK(scratch.directory.entries().size() == (parts == 0 ? 1 : 2));
  }
}

TEST_CASE("A write that the file's times do not show is noticed in what has not been read before") {
  const Scratch scratch;
  const InputFile input = InputFile::open_to_change(scratch.path);
  DirectFile file(input);
  CHECK_FALSE(file.begin(to_do(input)));
  change(file, 0);
  change(file, 1);
  const timespec time = status_of(scratch.path).st_mtim;
  write_from_outside(scratch, offset_of(2), '!');
  const std::array<timespec, 2> times{time, time};
  REQUIRE(::utimensat(AT_FDCWD, scratch.path.c_str(), times.data(), 0) == 0);
  Buffers buffers(2);
  file.read(std::as_writable_bytes(std::span(buffers.before)), offset_of(2));
  file.change(buffers.part_at(offset_of(2)));
  change(file, 3);
  CHECK(refusal(ErrorKind::io, [&] { file.commit(); }) ==
        scratch.path + ": another process has written to it");
  CHECK(file.is_unfinished());
}

TEST_CASE("Names may be given and taken while the file is changed") {
  const Scratch scratch;
  const std::string moved = scratch.directory / "moved.npy";
  {
    const InputFile input = InputFile::open_to_change(scratch.path);
    DirectFile file(input);
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

TEST_CASE("At the end the journal may be gone, or another file have its name") {
  for (const bool replaced : {false, true}) {
    CAPTURE(replaced);
    const Scratch scratch;
    const InputFile input = InputFile::open_to_change(scratch.path);
    DirectFile file(input);
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
