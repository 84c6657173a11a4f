#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simd/levels.hpp"

/// Elements of a view with gaps between them, moved to where kernels take them, or back.
namespace clipper {

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
