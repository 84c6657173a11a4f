#include "element/tensor_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "element/text.hpp"

namespace clipper {

Message opaque_dtype(std::string_view descr) {
  std::vector<std::string_view> names;
  for (const DTypeTraits& row : kDTypes)
    if (is_foreign(row.dtype) && descr.ends_with(fmt::format("V{}", row.size))) names.push_back(row.name);
  if (names.size() == 1)
    return fmt::format("dtype '{0}' may be {1}; if it is, add ", descr, names[0]) +
           Term{"dtype", "dtype=", Says::setting} + names[0];
  const std::string last(names.back());
  names.pop_back();
  return fmt::format("dtype '{}' (", descr) + Term{kTypeField, "raw bytes"} +
         fmt::format(") may be {} or {}; if it is, add ", joined(names, ", "), last) +
         Term{"dtype", "dtype"} + " and this name" +
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

namespace {

using Extents = std::vector<std::uint64_t>;

std::uint64_t product(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::uint64_t{1}, std::multiplies<>());
}

/// The distance between neighbours in each axis, in elements.
Extents strides_of(const Extents& shape, bool fortran_order) {
  Extents strides(shape.size());
  std::uint64_t stride = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = fortran_order ? i : shape.size() - 1 - i;
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

std::uint64_t position_of(const Extents& index, const Extents& strides) {
  return std::inner_product(index.begin(), index.end(), strides.begin(), std::uint64_t{0});
}

/// The index of element `number` of a shape.
Extents index_of(std::uint64_t number, const Extents& shape, bool fortran_order) {
  Extents index(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = fortran_order ? i : shape.size() - 1 - i;
    index[axis] = number % shape[axis];
    number /= shape[axis];
  }
  return index;
}

/// How far the contiguous ranges of a box extend: over whole axes, then perhaps over a part of the next.
struct Along {
  std::uint64_t count = 1;  ///< elements of a range
  std::size_t next = 0;     ///< the axis in which a range could grow; the rank if the box is the whole tensor
};

Along along(const Extents& shape, const Extents& extent, bool fortran_order) {
  Along result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    result.next = fortran_order ? i : shape.size() - 1 - i;
    result.count *= extent[result.next];
    if (extent[result.next] != shape[result.next]) return result;
  }
  result.next = shape.size();
  return result;
}

}  // namespace

std::uint64_t Box::count() const {
  return product(extent);
}

Boxes::Boxes(std::span<const std::int64_t> shape, std::uint64_t max_count)
    : shape_(shape.begin(), shape.end()), extent_(shape.size(), 1) {
  for (;;) {
    const Along c = along(shape_, extent_, false);
    const Along fortran = along(shape_, extent_, true);
    const std::size_t axis = c.count < fortran.count ? c.next : fortran.next;
    if (axis == shape_.size()) return;
    const std::uint64_t grown = std::min(2 * extent_[axis], shape_[axis]);
    if (product(extent_) / extent_[axis] * grown > max_count) return;
    extent_[axis] = grown;
  }
}

std::uint64_t Boxes::size() const {
  std::uint64_t size = 1;
  for (std::size_t axis = 0; axis < shape_.size(); ++axis)
    size *= (shape_[axis] + extent_[axis] - 1) / extent_[axis];
  return size;
}

Box Boxes::operator[](std::uint64_t index) const {
  Box box{Extents(shape_.size()), extent_};
  for (std::size_t axis = shape_.size(); axis-- > 0;) {
    const std::uint64_t boxes = (shape_[axis] + extent_[axis] - 1) / extent_[axis];
    box.begin[axis] = index % boxes * extent_[axis];
    box.extent[axis] = std::min(extent_[axis], shape_[axis] - box.begin[axis]);
    index /= boxes;
  }
  return box;
}

std::vector<FileRange> Boxes::ranges(const Box& box, bool fortran_order) const {
  const std::uint64_t each = along(shape_, box.extent, fortran_order).count;
  const Extents strides = strides_of(shape_, fortran_order);
  const std::uint64_t begin = position_of(box.begin, strides);
  std::vector<FileRange> ranges;
  for (std::uint64_t at = 0; at < box.count(); at += each)
    ranges.push_back({begin + position_of(index_of(at, box.extent, fortran_order), strides), at, each});
  return ranges;
}

bool has_one_order(const TensorLayout& layout) {
  return layout.count == 0 ||
         std::ranges::count_if(layout.shape, [](std::int64_t extent) { return extent > 1; }) <= 1;
}

void reorder(const Box& box, bool from_fortran_order, std::size_t size, std::span<const std::byte> from,
             std::span<std::byte> to) {
  const Extents strides = strides_of(box.extent, from_fortran_order);
  const std::size_t fastest = from_fortran_order ? box.extent.size() - 1 : 0;  // in `to`
  const std::size_t step = strides[fastest] * size;
  const std::uint64_t row = box.extent[fastest];
  std::byte* target = to.data();
  for (std::uint64_t at = 0; at < box.count(); at += row) {
    const std::uint64_t begin = position_of(index_of(at, box.extent, !from_fortran_order), strides);
    const std::byte* source = from.data() + begin * size;
    for (std::uint64_t i = 0; i < row; ++i, source += step, target += size) std::memcpy(target, source, size);
  }
}

}  // namespace clipper
