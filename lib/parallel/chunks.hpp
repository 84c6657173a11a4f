#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

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

}  // namespace clipper
