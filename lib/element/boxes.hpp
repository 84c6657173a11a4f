#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "element/tensor_layout.hpp"

namespace clipper {

/// A part of a tensor: the indexes from begin[i] to begin[i] + extent[i] - 1 in each axis i.
struct Box {
  std::vector<std::uint64_t> begin;
  std::vector<std::uint64_t> extent;

  [[nodiscard]] std::uint64_t count() const;
};

/// Elements of a box that are contiguous in the tensor's file.
struct FileRange {
  std::uint64_t position;  ///< of the first element among those of the file
  std::uint64_t at;        ///< of the first element among those of the box, in the file's memory order
  std::uint64_t count;
};

/// Cuts a tensor into boxes whose ranges are long both in C order and in Fortran order, so that files of
/// either order are read by large reads.
class Boxes {
 public:
  /// Boxes have at most `max_count` elements. The product of the shape must not be 0.
  Boxes(std::span<const std::int64_t> shape, std::uint64_t max_count);

  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] Box operator[](std::uint64_t index) const;

  /// The ranges of a box, in the order of the file.
  [[nodiscard]] std::vector<FileRange> ranges(const Box& box, bool fortran_order) const;

 private:
  std::vector<std::uint64_t> shape_;
  std::vector<std::uint64_t> extent_;  ///< of the boxes, except at the end of an axis
};

/// Whether the tensor has the same bytes in C order and in Fortran order.
[[nodiscard]] bool has_one_order(const TensorLayout& layout);

/// Copies the elements of a box, of `size` bytes each, from Fortran order to C order or the reverse.
void reorder(const Box& box, bool from_fortran_order, std::size_t size, std::span<const std::byte> from,
             std::span<std::byte> to);

}  // namespace clipper
