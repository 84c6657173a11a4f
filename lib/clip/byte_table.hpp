#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "simd/levels.hpp"

/// Looks up bytes in a table. Nothing here depends on what the table says.
namespace clipper {

/// What becomes of each byte.
using ByteTable = std::array<std::byte, 256>;

/// Instructions that look up bytes, the slowest first.
enum class ByteLookup : std::uint8_t {
  memory,      ///< one byte at a time
  avx2,        ///< shuffles of 16 entries
  avx512bw,    ///< the same, in wider vectors
  avx512vbmi,  ///< a permutation of 128 entries. x86-64-v4 does not include VBMI
};

/// Those that this CPU has and the level allows, in the order of the enumerators; never empty.
[[nodiscard]] std::span<const ByteLookup> byte_lookups(SimdLevel level) noexcept;

/// Replaces `count` bytes by their entries. `in` and `out` are equal or do not overlap.
void look_up(const ByteTable& table, const std::byte* in, std::byte* out, std::size_t count,
             ByteLookup lookup) noexcept;

}  // namespace clipper
