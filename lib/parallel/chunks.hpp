#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace clipper {

/// Divides the elements of a tensor into chunks. All chunks but the first begin at a multiple of the chunk
/// size in the output file, so that no two threads write to one page.
class Chunks {
 public:
  Chunks(std::uint64_t count, std::size_t element_size, std::size_t chunk_size, std::size_t data_offset)
      : count_(count), each_(chunk_size / element_size) {
    const std::uint64_t until_boundary = (chunk_size - data_offset % chunk_size) / element_size;
    first_ = until_boundary == 0 ? each_ : until_boundary;
  }

  struct Chunk {
    std::uint64_t begin;  ///< index of the first element
    std::size_t count;
  };

  [[nodiscard]] std::uint64_t size() const {
    if (count_ == 0) return 0;
    return count_ <= first_ ? 1 : 1 + (count_ - first_ + each_ - 1) / each_;
  }
  [[nodiscard]] Chunk operator[](std::uint64_t index) const {
    const std::uint64_t begin = index == 0 ? 0 : first_ + (index - 1) * each_;
    return {begin, static_cast<std::size_t>(std::min(index == 0 ? first_ : each_, count_ - begin))};
  }

 private:
  std::uint64_t count_;
  std::uint64_t each_;
  std::uint64_t first_;
};

/// The lowest of the positions that many threads find in any order.
class FirstPosition {
 public:
  void note(std::uint64_t position) noexcept {
    std::uint64_t known = position_;
    while (position < known && !position_.compare_exchange_weak(known, position)) {
    }
  }

  /// Nothing if no position was found so far.
  [[nodiscard]] std::optional<std::uint64_t> position() const noexcept {
    const std::uint64_t position = position_;
    return position == kNone ? std::nullopt : std::optional(position);
  }
  [[nodiscard]] bool is_before(std::uint64_t position) const noexcept { return position_ < position; }

 private:
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::atomic<std::uint64_t> position_ = kNone;
};

}  // namespace clipper
