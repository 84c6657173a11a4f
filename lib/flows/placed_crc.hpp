#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

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

}  // namespace clipper
