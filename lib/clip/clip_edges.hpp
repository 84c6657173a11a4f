#pragma once

#include <cstddef>

#include "clip/clip.hpp"
#include "clip/clip_vectors.hpp"
#include "simd/levels.hpp"

/// Operations with Operation::zero_tie or Operation::poisons: the kernels clip a block as if it had neither,
/// then a loop mends its results. Other operations do not come here.
namespace clipper {

/// Whether zero_tie or poisons can change a result.
[[nodiscard]] inline bool may_have_edges(const Operation& operation) noexcept {
  return operation.zero_tie != ZeroTie::element || operation.poisons;
}

/// clip() or clip_and_count(); `vectors` is null if the numbers of the operation hold for all elements.
/// Without counting, only `changed` is returned.
ElementCounts clip_edges(const Operation& operation, const ParameterVectors* vectors, const std::byte* in,
                         std::byte* out, std::size_t count, SimdLevel level, Counting counting) noexcept;

}  // namespace clipper
