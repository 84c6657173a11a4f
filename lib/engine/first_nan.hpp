#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "element/dtype.hpp"

namespace clipper {

/// The first NaN of a tensor whose parts are looked at from many threads and in any order.
class FirstNan {
 public:
  /// `position` is that of the first element.
  void look_at(DType dtype, ByteOrder order, const std::byte* elements, std::size_t count,
               std::uint64_t position) noexcept;

  /// Of the parts so far.
  [[nodiscard]] std::optional<std::uint64_t> position() const noexcept;
  [[nodiscard]] bool is_before(std::uint64_t position) const noexcept { return position_ < position; }

 private:
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::atomic<std::uint64_t> position_ = kNone;
};

}  // namespace clipper
