#pragma once

#include <cstddef>

#include "clip/byte_table.hpp"
#include "clip/clip.hpp"

/// What scale_integers() does to integers of 8 and 16 bits, in float32, which takes half as long or less.
/// Each function returns false, and writes nothing, if any element could become another than in float64. They
/// need x86-64-v3.
namespace clipper {

/// Elements of 8 bits: tries all 256 and compares them with their entries of `table`.
[[nodiscard]] bool scale_bytes(const Operation& operation, const ByteTable& table, const std::byte* in,
                               std::byte* out, std::size_t count) noexcept;

/// Elements of 16 bits: only if scale and bias have so few bits that no operation rounds.
[[nodiscard]] bool scale_16_bits(const Operation& operation, const std::byte* in, std::byte* out,
                                 std::size_t count) noexcept;

}  // namespace clipper
