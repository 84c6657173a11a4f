#pragma once

#include <cstddef>

#include "clip/clip.hpp"
#include "clip/clip_vectors.hpp"
#include "clip/parameters.hpp"
#include "simd/levels.hpp"

namespace clipper {

/// x * scale + bias of integer elements, clipped to the operation's bounds and truncated toward zero: all of
/// clip(). Not for Arithmetic::none.
void scale_integers(const Operation& operation, const NoVectors& vectors, const std::byte* in, std::byte* out,
                    std::size_t count, SimdLevel level) noexcept;

/// The first half of clip() for ParameterVectors: saturates the elements to their type, does not clip them.
/// Clipping afterwards gives the same element as clipping before the truncation, because the bounds are
/// integers.
void scale_integers(const Operation& operation, const ParameterVectors& vectors, const std::byte* in,
                    std::byte* out, std::size_t count, SimdLevel level) noexcept;

/// How many elements clip() raises and lowers, by x * scale + bias before it is saturated and truncated.
[[nodiscard]] ElementCounts count_scaled(const Operation& operation, const ParameterVectors& vectors,
                                         const std::byte* in, std::size_t count, SimdLevel level) noexcept;

}  // namespace clipper
