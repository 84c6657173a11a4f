#include "element/tensor_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "element/joined.hpp"

namespace clipper {

Message opaque_dtype(std::string_view descr) {
  std::vector<std::string_view> names;
  for (const DTypeTraits& row : kDTypes)
    if (is_foreign(row.dtype) && descr.ends_with(fmt::format("V{}", row.size))) names.push_back(row.name);
  if (names.size() == 1)
    return fmt::format("dtype '{}' may be {}; ", descr, names[0]) + Term{"dtype", "if it is, say so"};
  const std::string last(names.back());
  names.pop_back();
  return fmt::format("dtype '{}' (", descr) + Term{kTypeField, "raw bytes"} +
         fmt::format(") may be {} or {}; ", joined(names, ", "), last) +
         Term{"dtype", "if it is, say which one"} +
         (descr.ends_with("V1")
              ? "; int4, uint4, float4 and float6 are not supported: save x.astype('i1') or x.astype('f4')"
              : "");
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("({}{})", joined(shape, ", "), shape.size() == 1 ? "," : "");
}

std::vector<std::uint64_t> index_of(const TensorLayout& layout, std::uint64_t position) {
  const std::size_t rank = layout.shape.size();
  std::vector<std::uint64_t> index(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = layout.fortran_order ? i : rank - 1 - i;
    const auto extent = static_cast<std::uint64_t>(layout.shape[axis]);
    index[axis] = position % extent;
    position /= extent;
  }
  return index;
}

std::string index_text(const TensorLayout& layout, std::uint64_t position) {
  return fmt::format("[{}]", joined(index_of(layout, position), ", "));
}

std::vector<std::int64_t> strides_without_gaps(std::span<const std::int64_t> shape, std::size_t size,
                                               bool fortran_order) {
  std::vector<std::int64_t> strides(shape.size());
  auto stride = static_cast<std::int64_t>(size);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = fortran_order ? i : shape.size() - 1 - i;
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

bool lie_alike(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
               std::span<const std::int64_t> others) {
  if (std::ranges::find(shape, 0) != shape.end()) return true;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] != 1 && strides[axis] != others[axis]) return false;
  return true;
}

bool overlap_each_other(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                        std::size_t size) {
  if (std::ranges::find(shape, 0) != shape.end()) return false;
  const auto distance = [&](std::size_t axis) {
    const auto stride = static_cast<std::uint64_t>(strides[axis]);
    return strides[axis] < 0 ? 0 - stride : stride;
  };
  std::vector<std::size_t> axes;  // with more than one element, the nearest elements first
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] > 1) axes.push_back(axis);
  std::ranges::sort(axes, {}, distance);
  std::uint64_t extent = size;  // of the elements along the axes so far
  std::uint64_t bytes = size;
  bool is_nested = true;
  for (const std::size_t axis : axes) {
    is_nested = is_nested && distance(axis) >= extent;
    const auto count = static_cast<std::uint64_t>(shape[axis]);
    std::uint64_t more = 0;
    if (__builtin_mul_overflow(count - 1, distance(axis), &more) ||
        __builtin_add_overflow(extent, more, &extent))
      return false;  // no memory is that large
    bytes *= count;
  }
  if (is_nested || bytes > extent) return !is_nested;
  std::vector<std::int64_t> offsets{0};  // of all elements: the rows of strange views lie between each other
  for (const std::size_t axis : axes)
    for (std::size_t i = 0, count = offsets.size(); i < count; ++i)
      for (std::int64_t step = 1; step < shape[axis]; ++step)
        offsets.push_back(offsets[i] + step * strides[axis]);
  std::ranges::sort(offsets);
  const auto overlap = [&](std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(b - a) < size; };
  return std::ranges::adjacent_find(offsets, overlap) != offsets.end();
}

}  // namespace clipper
