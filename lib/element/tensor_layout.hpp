#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "element/dtype.hpp"
#include "element/logical_type.hpp"
#include "error.hpp"

namespace clipper {

inline constexpr std::size_t kMaxRank = 64;

/// How a tensor's elements lie in a file or in memory, whatever the file's format.
struct TensorLayout {
  DType dtype = DType::float32;
  ByteOrder order = kNativeOrder;  ///< of the elements; kNativeOrder for elements of one byte
  std::string_view stored_as{};    ///< what a file calls elements of a dtype that numpy lacks, and what they
                                 ///< are called when written again: "|V2", "<u2"; empty for what numpy writes
  bool fortran_order = false;       ///< as in the file, even if both orders are the same (1-D, empty)
  std::vector<std::int64_t> shape;  ///< 0 to kMaxRank dimensions, each >= 0
  std::uint64_t count = 1;          ///< the product of the shape; count * size fits int64
  LogicalType meaning{};            ///< of elements that are stored as those of `dtype`

  [[nodiscard]] std::size_t element_size() const {
    return traits(dtype).size * (meaning.is_complex() ? 2 : 1);
  }
  [[nodiscard]] std::uint64_t data_size() const { return count * element_size(); }
};

/// The type as numpy prints it; see meaning.hpp.
[[nodiscard]] inline std::string type_name(const TensorLayout& layout) {
  return type_name(layout.dtype, layout.meaning);
}

/// The field() of npy::parse()'s error for a file that is valid, but whose type is no dtype of clipper. The
/// words of the term name the type: "bool", "strings", "structured".
inline constexpr std::string_view kTypeField = "type";

/// The error message for `|V2` or `<V1` if the user does not say which dtype it is.
[[nodiscard]] Message opaque_dtype(std::string_view descr);

/// "(3, 4)", "(7,)", "()": a shape as Python prints it.
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);

/// The index in the tensor of the element at `position`, which is less than `count`, in memory order.
[[nodiscard]] std::vector<std::uint64_t> index_of(const TensorLayout& layout, std::uint64_t position);

/// index_of() as text: "[0, 17, 3]", "[]".
[[nodiscard]] std::string index_text(const TensorLayout& layout, std::uint64_t position);

// Views of elements with gaps between them.

/// The bytes from an element to the next along each axis, without gaps.
[[nodiscard]] std::vector<std::int64_t> strides_without_gaps(std::span<const std::int64_t> shape,
                                                             std::size_t size, bool fortran_order);

/// Whether the elements lie as with these strides: those of axes with one element do not matter.
[[nodiscard]] bool lie_alike(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                             std::span<const std::int64_t> others);

/// Whether two elements of `size` bytes have one in common.
[[nodiscard]] bool overlap_each_other(std::span<const std::int64_t> shape,
                                      std::span<const std::int64_t> strides, std::size_t size);

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
