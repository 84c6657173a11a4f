#include "direct_file.hpp"

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "files.hpp"
#include "refusal.hpp"
#include "tensors.hpp"

namespace clipper::testing {
namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kParts = 4;
constexpr std::size_t kPartSize = 16;
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

void change(DirectFile& file, std::size_t part) {
  file.change(offset_of(part), bytes(before(part)), bytes(after(part)));
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
    REQUIRE_FALSE(file.begin(std::string(kWhat), kPartSize));
    for (std::size_t part = 0; part < parts; ++part) change(file, part);
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
      std::ignore = DirectFile(input).begin(what, kPartSize);
    });
  }

  /// Runs the change to its end. Returns the part that it went on with.
  [[nodiscard]] std::size_t finish() const {
    const InputFile input = InputFile::open_to_change(path);
    DirectFile file(input);
    std::size_t first = 0;
    if (const auto interrupted = file.begin(std::string(kWhat), 2 * kPartSize)) {
      REQUIRE(interrupted->length == kPartSize);
      CHECK(file.capacity() == kPartSize);
      first = (interrupted->offset - header().size()) / kPartSize;
      std::string bytes_before(kPartSize, '\0');
      file.read_interrupted(std::as_writable_bytes(std::span(bytes_before)));
      CHECK(bytes_before == before(first));
      file.finish_interrupted(bytes(after(first)));
    }
    for (std::size_t part = first + (first > 0 || file.version() ? 1 : 0); part < kParts; ++part)
      change(file, part);
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
    CHECK_FALSE(file.begin(std::string(kWhat), kPartSize));
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
  CHECK_FALSE(file.begin(std::string(kWhat), kPartSize));
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
  left_as_it_is(without, "and its journal is not beside it");

  const Scratch damaged;
  damaged.interrupt_after(1);
  damaged.damage(damaged.journal, 8);
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

TEST_CASE("A change that ended before its first part was written is forgotten") {
  for (const bool has_record : {false, true}) {
    CAPTURE(has_record);
    const Scratch scratch;
    {
      Journal journal = Journal::create(Place::of(scratch.path), kPartSize);
      if (has_record)
        journal.append({.capacity = kPartSize,
                        .offset = offset_of(0),
                        .file_size = file_with(0).size(),
                        .parameters = "times two"},
                       bytes(before(0)));
      journal.keep();
    }
    CHECK(scratch.directory.entries() == Names{".x.npy.clipper-journal", "x.npy"});
    CHECK(scratch.finish() == 0);
    scratch.check_finished();
  }
}

TEST_CASE("A change that ended after its last part is complete") {
  const Scratch scratch;
  scratch.interrupt_after(kParts);
  write_file(scratch.path, file_with(kParts));
  CHECK(scratch.refused("times two").find("must end first: plus one") != std::string::npos);
  CHECK(scratch.finish() == kParts - 1);
  scratch.check_finished();
}

TEST_CASE("A valid file that was changed after an interruption is left alone") {
  const Scratch scratch;
  scratch.interrupt_after(kParts);
  std::string changed = file_with(kParts);
  changed.back() = '!';
  write_file(scratch.path, changed);
  CHECK(refusal(ErrorKind::refused, [&] { std::ignore = scratch.finish(); }) ==
        scratch.path + ": has changed since --in-place --direct was interrupted; remove " + scratch.journal +
            " if it is as it should be");
  CHECK(scratch.file() == changed);
}

TEST_CASE("The journal of an earlier file of that name is removed") {
  const Scratch scratch;
  scratch.interrupt_after(2);
  write_file(scratch.path, file_with(0) + "longer");
  const InputFile input = InputFile::open_to_change(scratch.path);
  CHECK_FALSE(DirectFile(input).begin("times two", kPartSize));
  CHECK(scratch.directory.entries() == Names{"x.npy"});
}

TEST_CASE("What only has the journal's name is not touched") {
  for (const bool symbolic : {false, true}) {
    CAPTURE(symbolic);
    const Scratch scratch;
    write_file(scratch.directory / "other", "precious");
    if (symbolic)
      std::filesystem::create_symlink("other", scratch.journal);
    else
      std::filesystem::create_hard_link(scratch.directory / "other", scratch.journal);
    const auto snapshot = scratch.directory.snapshot();
    const auto look = [&] {
      const InputFile input = InputFile::open_to_change(scratch.path);
      const DirectFile file(input);
    };
    CHECK(refusal(symbolic ? ErrorKind::io : ErrorKind::refused, look).starts_with(scratch.journal + ": "));
    CHECK(scratch.directory.snapshot() == snapshot);
  }
}

}  // namespace clipper::testing
