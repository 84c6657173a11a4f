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

}  // namespace clipper
