#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "clip/clip.hpp"
#include "element/dtype.hpp"
#include "simd/levels.hpp"

/// Looks up bytes in a table, and counts them: nothing of that depends on what the table says. ByteResults
/// are the tables of a clip.
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

/// What becomes of each of the 256 elements of one byte, and of any number of them by looking it up.
class ByteResults {
 public:
  /// Writes the results of bytes as they are stored, and says what it did.
  using Clip =
      std::function<Converted(const std::byte* bytes, std::byte* results, std::size_t count, Counting)>;

  ByteResults(std::size_t result_size, Clip clip);

  /// What the clip of these bytes does. The first call clips each byte alone.
  [[nodiscard]] Converted count(const std::byte* in, std::size_t count, SimdLevel level);

  /// Writes their results.
  void write(const std::byte* in, std::byte* out, std::size_t count, SimdLevel level) const;

 private:
  void find_kinds();

  alignas(64) std::array<std::byte, 256 * sizeof(ElementBits)> results_{};
  std::size_t result_size_;
  Clip clip_;
  std::once_flag finds_kinds_;
  std::array<Converted, 256> done_;
  std::vector<Converted> kinds_;  ///< those of `done_` that differ, other than that nothing is done
  ByteTable bits_{};              ///< the bit of each byte's kind, if there are at most 8
};

}  // namespace clipper
