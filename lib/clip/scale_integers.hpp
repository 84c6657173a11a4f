#pragma once

#include <cstddef>

#include "clip/clip.hpp"
#include "simd/levels.hpp"

namespace clipper {

/// x * scale + bias of integer elements, truncated toward zero and saturated to their type; in memory as for
/// clip(), of which this is the first half: clipping that gives the same element as clipping the wide value
/// and truncating it afterwards, because the bounds are integers of the type. Not for Arithmetic::none.
void scale_integers(const Operation& operation, const std::byte* in, std::byte* out, std::size_t count,
                    SimdLevel level) noexcept;

}  // namespace clipper
