#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

#include "clip/clip.hpp"
#include "element/dtype.hpp"
#include "memory/byte_table.hpp"
#include "simd/levels.hpp"

namespace clipper {

/// What becomes of each of the 256 elements of one byte, and of any number of them by looking it up.
class ByteResults {
 public:
  /// `clip` writes the result of a byte, `result_size` bytes as they are stored, and says what it did.
  ByteResults(std::size_t result_size,
              const std::function<Converted(const std::byte* byte, std::byte* result)>& clip);

  /// What the clip of these bytes does.
  [[nodiscard]] Converted count(const std::byte* in, std::size_t count, SimdLevel level) const;

  /// Writes their results.
  void write(const std::byte* in, std::byte* out, std::size_t count, SimdLevel level) const;

 private:
  alignas(64) std::array<std::byte, 256 * sizeof(ElementBits)> results_{};
  std::size_t result_size_;
  std::array<Converted, 256> done_;
  std::vector<Converted> kinds_;  ///< those of `done_` that differ, other than that nothing is done
  ByteTable bits_{};              ///< the bit of each byte's kind, if there are at most 8
};

}  // namespace clipper
