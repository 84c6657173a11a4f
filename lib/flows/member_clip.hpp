#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "files/input_file.hpp"
#include "files/output_file.hpp"
#include "flows/clip_file.hpp"
#include "formats/container.hpp"
#include "npz/codecs.hpp"

namespace clipper {

/// The CRC-32 of a known number of bytes that many threads add in pieces, in any order.
class PlacedCrc {
 public:
  explicit PlacedCrc(std::uint64_t size) noexcept : size_(size) {}

  /// Adds the bytes at `offset`. Each byte is added once.
  void add(std::uint64_t offset, std::span<const std::byte> bytes) {
    // The CRC-32 of a whole is the exclusive or of its parts' CRC-32s, each moved by the bytes after it.
    value_ ^= npz::crc32_of_both(npz::crc32(bytes), 0, size_ - offset - bytes.size());
  }

  /// After all bytes were added.
  [[nodiscard]] std::uint32_t value() const noexcept { return value_; }

 private:
  std::uint64_t size_;
  std::atomic<std::uint32_t> value_ = 0;
};

/// A header, which may be empty, and the elements after it, in memory that is used again.
class HeaderAndElements {
 public:
  /// Makes room for elements of this size after the header, and for `room` bytes while they are clipped.
  void assign(std::span<const std::byte> header, std::size_t elements, std::size_t room);

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return std::span(memory_).subspan(begin_, end_ - begin_);
  }
  [[nodiscard]] std::byte* elements() { return memory_.data() + elements_; }

 private:
  std::vector<std::byte> memory_;
  std::size_t begin_ = 0;     ///< of the header
  std::size_t elements_ = 0;  ///< the first one's position, which is aligned
  std::size_t end_ = 0;
};

/// Clips a member of an archive. The contents are compared with the member's CRC-32 while they are read.
class MemberClip {
 public:
  /// Opens the member and makes its plan.
  MemberClip(const Clipping& clipping, const Container& archive, const Entry& member);

  [[nodiscard]] ClipResult& result() noexcept { return result_; }

  /// Whether the elements change. Counts all if they do not, or if `counting` is on.
  bool scan(Counting counting);

  /// The size of the clipped contents.
  [[nodiscard]] std::uint64_t size() const;

  /// Puts the clipped contents of a small member into memory.
  void clip(HeaderAndElements& contents);

  /// Writes the clipped contents to a regular output, stored or deflated as the member is.
  [[nodiscard]] Contents write(OutputFile& output);

 private:
  [[nodiscard]] std::vector<std::byte> header() const;
  [[nodiscard]] ByteObserver observer();
  [[nodiscard]] Contents write_stored(std::span<const std::byte> header, OutputFile& output);
  [[nodiscard]] Contents write_deflated(std::span<const std::byte> header, OutputFile& output);
  void note(const StageCounts& counts);
  void expect_sound() const;

  const Clipping& clipping_;
  const Entry& member_;
  bool has_crc_;
  bool is_checked_;  ///< nothing is compared with the CRC-32 while the contents are read
  InputFile input_;
  std::vector<std::byte> header_;
  PlacedCrc crc_;  ///< of the contents that were read
  ClipResult result_;
};

}  // namespace clipper
