#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace clipper {

/// A part of a tensor with as many axes: in each axis `extent` indexes, the first of which is `begin`.
struct Box {
  std::vector<std::uint64_t> begin;
  std::vector<std::uint64_t> extent;

  [[nodiscard]] std::uint64_t count() const;
};

/// Elements of a box that follow each other in the tensor's file.
struct FileRange {
  std::uint64_t position;  ///< in the file, in elements
  std::uint64_t at;        ///< in the box, whose elements are in the file's memory order
  std::uint64_t count;
};

/// The cut of a tensor into boxes whose ranges are long both in C order and in Fortran order: no file is read
/// by many small reads.
class Boxes {
 public:
  /// No box has more than `max_count` elements. The shape has elements.
  Boxes(std::span<const std::int64_t> shape, std::uint64_t max_count);

  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] Box operator[](std::uint64_t index) const;

  /// All elements of a box, in the order of the file.
  [[nodiscard]] std::vector<FileRange> ranges(const Box& box, bool fortran_order) const;

 private:
  std::vector<std::uint64_t> shape_;
  std::vector<std::uint64_t> extent_;  ///< of a box that does not end at the tensor's end
};

/// Copies a box's elements of `size` bytes from Fortran order to C order, or the other way around.
void reorder(const Box& box, bool from_fortran_order, std::size_t size, std::span<const std::byte> from,
             std::span<std::byte> to);

}  // namespace clipper
