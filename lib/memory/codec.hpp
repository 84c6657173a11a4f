#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "element/tensor_layout.hpp"
#include "simd/levels.hpp"

/// Between elements as they are stored and as kernels take them: without gaps, in this machine's byte order,
/// and 1 for every byte of a bool that is not 0. Kernels know nothing else; elements of other dtypes are
/// widened where they are calculated with (element/small_floats.hpp).
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

/// Copies elements from one view to another of the same shape, in C order. Strides are bytes from an element
/// to the next along each axis.
class StridedCopy {
 public:
  StridedCopy(std::span<const std::int64_t> shape, std::size_t size, std::span<const std::int64_t> from,
              std::span<const std::int64_t> to, SimdLevel level = simd_levels().back());

  /// Copies the elements `begin` to `begin + count - 1`. `from` is where the first element of the view is,
  /// `to` where the element `begin` goes, which must be the first one unless `to` has no gaps. No element of
  /// `to` has a byte in common with another element of either.
  void operator()(const std::byte* from, std::byte* to, std::uint64_t begin, std::uint64_t count) const;

  /// The bytes from an element to the next along an axis.
  struct Axis {
    std::int64_t extent;
    std::int64_t from;
    std::int64_t to;
  };

 private:
  /// How far away the parts of elements that lie at a position in C order are.
  [[nodiscard]] Axis place_of(std::uint64_t position) const;

  std::size_t size_;  ///< of a part of an element, up to 8 bytes
  SimdLevel level_;
  std::uint64_t parts_;     ///< of an element
  std::vector<Axis> axes_;  ///< as few as say the same; at least one
};

}  // namespace clipper
