#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// 64-bit checksums that detect bytes that were changed, exchanged, shifted, lost or torn. They are no
/// protection against deliberate collisions.
namespace clipper {

/// XXH64 (github.com/Cyan4973/xxHash), with the same value on every machine.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;

inline constexpr std::size_t kSummedBlock = 4096;  ///< bytes of a block of placed_sum()

/// The checksum of bytes at `offset` of a file: the sum of the checksums of their blocks, each seeded with
/// its place in the file. Many threads can sum parts of a file, and the sums of parts can be added and
/// subtracted, if all parts but the last are whole blocks.
[[nodiscard]] std::uint64_t placed_sum(std::span<const std::byte> bytes, std::uint64_t offset) noexcept;

}  // namespace clipper
