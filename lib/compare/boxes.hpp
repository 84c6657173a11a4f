#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace clipper {

/// A part of a tensor: in each axis the indexes from `begin`, `extent` of them.
struct Box {
  std::vector<std::uint64_t> begin;
  std::vector<std::uint64_t> extent;

  [[nodiscard]] std::uint64_t count() const;
};

/// A stretch of a box's elements that is one in the tensor's file too.
struct Run {
  std::uint64_t position;  ///< in the file, in elements
  std::uint64_t at;        ///< in the box, all of whose elements are in the same memory order
  std::uint64_t count;
};

/// The cut of a tensor into boxes that are long both in C order and in Fortran order, so that a file of
/// either order is read in pieces that are not too small.
class Boxes {
 public:
  /// None has more than `most` elements. The shape has elements.
  Boxes(std::span<const std::int64_t> shape, std::uint64_t most);

  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] Box operator[](std::uint64_t index) const;

  /// The runs of a box, in the order of the file.
  [[nodiscard]] std::vector<Run> runs(const Box& box, bool fortran_order) const;

 private:
  std::vector<std::uint64_t> shape_;
  std::vector<std::uint64_t> extent_;  ///< of a box that does not end at the tensor's end
};

/// Copies a box's elements of `size` bytes from Fortran order to C order, or the other way around.
void reorder(const Box& box, bool from_fortran_order, std::size_t size, std::span<const std::byte> from,
             std::span<std::byte> to);

}  // namespace clipper
