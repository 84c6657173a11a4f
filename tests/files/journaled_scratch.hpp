#pragma once

#include "files/checksum.hpp"
#include "files/journaled_file.hpp"
#include "support/files.hpp"
#include "support/refusal.hpp"
#include "support/tensors.hpp"

/// A file to be changed directly, part by part.
namespace clipper::testing {

using Names = std::vector<std::string>;

inline constexpr std::size_t kParts = 4;
inline constexpr std::size_t kPartSize = 4096;
inline constexpr std::string_view kWhat = "plus one";

inline std::string header() {
  return float32_file(std::vector<float>(kParts * kPartSize / sizeof(float))).substr(0, 128);
}

/// A part's bytes before and after the change.
inline std::string before(std::size_t part) {
  return std::string(kPartSize, static_cast<char>('a' + 2 * part));
}
inline std::string after(std::size_t part) {
  return std::string(kPartSize, static_cast<char>('b' + 2 * part));
}

/// The file with that many parts changed.
inline std::string file_with(std::size_t changed) {
  std::string file = header();
  for (std::size_t part = 0; part < kParts; ++part) file += part < changed ? after(part) : before(part);
  return file;
}

inline std::string unfinished(std::string file) {
  file[npy::kVersionAt] = static_cast<char>(npy::kUnfinishedVersion);
  return file;
}

inline std::uint64_t offset_of(std::size_t part) {
  return header().size() + part * kPartSize;
}

/// The part as read, and its bytes after the change.
struct Buffers {
  std::string before;
  std::string after;

  explicit Buffers(std::size_t part) : before(testing::before(part)), after(testing::after(part)) {}

  [[nodiscard]] JournaledFile::Part part_at(std::uint64_t offset) {
    const auto writable = [](std::string& text) { return std::as_writable_bytes(std::span(text)); };
    return {offset, writable(before), writable(after), placed_sum(bytes(before), offset),
            placed_sum(bytes(after), offset)};
  }
};

inline JournaledFile::Change to_do(const InputFile& input, std::string_view what = kWhat,
                                   std::uint64_t capacity = kPartSize) {
  const auto sum = [&input](std::uint64_t begin, std::uint64_t end) {
    std::vector<std::byte> bytes(end - begin);
    input.read_at(bytes, begin);
    return placed_sum(bytes, begin);
  };
  return {std::string(what), fmt::format("{} in words", what), 0, 0, capacity, header().size(), sum};
}

inline void change(JournaledFile& file, std::size_t part) {
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

  /// Leaves the file like a process that ends after this many parts.
  void interrupt_after(std::size_t parts) const {
    const InputFile input = InputFile::open_to_change(path);
    JournaledFile file(input);
    REQUIRE_FALSE(file.begin(to_do(input)));
    for (std::size_t part = 0; part < parts; ++part) change(file, part);
  }

  /// Leaves the file like a process that ends in commit(), before the file is valid.
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

  /// The error of a process that starts the change `what` on the file.
  [[nodiscard]] std::string refused(const std::string& what = std::string(kWhat)) const {
    return refusal(ErrorKind::refused, [&] {
      const InputFile input = InputFile::open_to_change(path);
      std::ignore = JournaledFile(input).begin(to_do(input, what));
    });
  }

  /// Runs the change to its end. Returns the part with which it resumed.
  [[nodiscard]] std::size_t finish() const {
    const InputFile input = InputFile::open_to_change(path);
    JournaledFile file(input);
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

}  // namespace clipper::testing
