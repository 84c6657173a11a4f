#pragma once

#include <cstddef>

#include "element/dtype.hpp"
#include "simd/levels.hpp"

namespace clipper {

/// Whether of `count` pairs of bounds no min exceeds its max and none is NaN. Both are aligned to the size of
/// an element, in this machine's byte order. The level must be one of simd_levels().
[[nodiscard]] bool are_ordered_bounds(DType dtype, const std::byte* min, const std::byte* max,
                                      std::size_t count, SimdLevel level) noexcept;

}  // namespace clipper
