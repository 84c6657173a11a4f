#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "element/dtype.hpp"

namespace clipper {

/// Finds the first NaN of a tensor whose parts are searched by many threads in any order.
class FirstNan {
 public:
  /// Searches `count` elements; the first of them has the index `position` in the tensor.
  void look_at(DType dtype, ByteOrder order, const std::byte* elements, std::size_t count,
               std::uint64_t position) noexcept;

  /// The index of the first NaN in the parts searched so far.
  [[nodiscard]] std::optional<std::uint64_t> position() const noexcept;
  [[nodiscard]] bool is_before(std::uint64_t position) const noexcept { return position_ < position; }

 private:
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::atomic<std::uint64_t> position_ = kNone;
};

}  // namespace clipper
