#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "simd/levels.hpp"

/// Looks up bytes in a table, and counts them. Nothing here depends on what the table says.
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

/// Replaces `count` bytes by entries of `size` bytes: 2, 4 or 8. `out` need not be aligned. It does not
/// overlap `in`, or ends at the same byte.
void look_up(std::span<const std::byte> entries, std::size_t size, const std::byte* in, std::byte* out,
             std::size_t count) noexcept;

/// In how many of the entries that the bytes have in the table each bit is set, of those that are set in any.
[[nodiscard]] std::array<std::uint64_t, 8> count_bits(const ByteTable& table, const std::byte* in,
                                                      std::size_t count, SimdLevel level) noexcept;

/// How often each byte occurs.
[[nodiscard]] std::array<std::uint64_t, 256> count_bytes(std::span<const std::byte> bytes) noexcept;

}  // namespace clipper
