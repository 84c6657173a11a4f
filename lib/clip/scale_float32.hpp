#pragma once

#include <cstddef>

#include "clip/clip.hpp"

namespace clipper {

/// What scale_integers() does to integers of 16 bits, in float32, which takes half as long or less: only if
/// scale and bias have so few bits that no operation rounds. Otherwise it returns false and writes nothing.
/// Needs x86-64-v3.
[[nodiscard]] bool scale_16_bits(const Operation& operation, const std::byte* in, std::byte* out,
                                 std::size_t count) noexcept;

}  // namespace clipper
