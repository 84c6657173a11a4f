#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "clip/clip.hpp"
#include "element/dtype.hpp"
#include "memory/byte_table.hpp"
#include "simd/levels.hpp"

namespace clipper {

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
