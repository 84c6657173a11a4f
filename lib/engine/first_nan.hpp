#pragma once

#include <cstddef>
#include <cstdint>

#include "clip/clip.hpp"
#include "parallel/chunks.hpp"

namespace clipper {

/// Finds the first NaN of a tensor whose parts are searched by many threads in any order. position() is its
/// index.
class FirstNan : public FirstPosition {
 public:
  /// Searches `count` results of an operation; the first of them has the index `position` in the tensor.
  void look_at(const Operation& operation, const std::byte* elements, std::size_t count,
               std::uint64_t position) noexcept {
    if (const auto nan = find_nan(operation, elements, count)) note(position + *nan);
  }
};

}  // namespace clipper
