#include "element/strides.hpp"

#include <algorithm>
#include <cstring>

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

void copy_elements(std::span<const std::int64_t> shape, std::size_t size, const StridedElements& from,
                   const StridedElements& to) {
  if (std::ranges::find(shape, 0) != shape.end()) return;
  if (shape.empty()) {
    std::memcpy(to.first, from.first, size);
    return;
  }
  const std::size_t last = shape.size() - 1;
  std::vector<std::int64_t> index(last);
  std::byte* source = from.first;
  std::byte* target = to.first;
  for (;;) {
    for (std::int64_t i = 0; i < shape[last]; ++i)
      std::memcpy(target + i * to.strides[last], source + i * from.strides[last], size);
    std::size_t axis = last;
    for (; axis > 0; --axis) {  // the next row
      source += from.strides[axis - 1];
      target += to.strides[axis - 1];
      if (++index[axis - 1] < shape[axis - 1]) break;
      source -= shape[axis - 1] * from.strides[axis - 1];
      target -= shape[axis - 1] * to.strides[axis - 1];
      index[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

}  // namespace clipper
