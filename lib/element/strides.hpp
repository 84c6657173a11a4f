#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Views of elements with gaps between them.
namespace clipper {

/// The bytes from an element to the next along each axis, without gaps.
[[nodiscard]] std::vector<std::int64_t> strides_without_gaps(std::span<const std::int64_t> shape,
                                                             std::size_t size, bool fortran_order);

/// Whether the elements lie as with these strides: those of axes with one element do not matter.
[[nodiscard]] bool lie_alike(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                             std::span<const std::int64_t> others);

/// Whether two elements of `size` bytes have one in common.
[[nodiscard]] bool overlap_each_other(std::span<const std::int64_t> shape,
                                      std::span<const std::int64_t> strides, std::size_t size);

}  // namespace clipper
