#include "element/boxes.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace clipper {
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
