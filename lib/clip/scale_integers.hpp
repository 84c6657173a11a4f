#pragma once

#include <cstddef>

#include "clip/clip.hpp"
#include "clip/clip_vectors.hpp"
#include "clip/parameters.hpp"
#include "simd/levels.hpp"

namespace clipper {

/// x * scale + bias of integer elements, truncated toward zero and saturated to their type: the first half of
/// clip(), with the same requirements on memory. Clipping afterwards gives the same element as clipping
/// before the truncation, because the bounds are integers. Not for Arithmetic::none.
void scale_integers(const Operation& operation, const NoVectors& vectors, const std::byte* in, std::byte* out,
                    std::size_t count, SimdLevel level) noexcept;
void scale_integers(const Operation& operation, const ParameterVectors& vectors, const std::byte* in,
                    std::byte* out, std::size_t count, SimdLevel level) noexcept;

}  // namespace clipper
