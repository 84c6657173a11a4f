#include "element/strides.hpp"

#include <algorithm>

namespace clipper {

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
