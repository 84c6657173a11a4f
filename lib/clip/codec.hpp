#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "element/tensor_layout.hpp"
#include "simd/levels.hpp"

/// Between elements as files store them and as kernels take them: in this machine's byte order, and 1 for
/// every byte of a bool that is not 0. Kernels know nothing else; elements of other dtypes are widened where
/// they are calculated with (element/small_floats.hpp).
namespace clipper {

/// Whether kernels take the elements as they are stored.
[[nodiscard]] bool is_decoded(const TensorLayout& stored) noexcept;

/// Whether elements of `size` bytes are aligned, as kernels want them.
[[nodiscard]] inline bool is_aligned(const void* elements, std::size_t size) noexcept {
  return reinterpret_cast<std::uintptr_t>(elements) % size == 0;
}

/// Makes stored elements at `in` plain ones at `out`: in the same memory, or in memory without a common byte.
/// Neither needs to be aligned.
void decode(const TensorLayout& stored, const std::byte* in, std::span<std::byte> out,
            SimdLevel level = simd_levels().back()) noexcept;

/// Makes plain elements stored ones.
void encode(const TensorLayout& stored, const std::byte* in, std::span<std::byte> out,
            SimdLevel level = simd_levels().back()) noexcept;

/// The same in place.
inline void decode(const TensorLayout& stored, std::span<std::byte> elements,
                   SimdLevel level = simd_levels().back()) noexcept {
  decode(stored, elements.data(), elements, level);
}

}  // namespace clipper
