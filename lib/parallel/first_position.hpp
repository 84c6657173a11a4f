#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

namespace clipper {

/// The lowest of the positions that many threads find in any order.
class FirstPosition {
 public:
  void note(std::uint64_t position) noexcept {
    std::uint64_t known = position_;
    while (position < known && !position_.compare_exchange_weak(known, position)) {
    }
  }

  /// Nothing if no position was found so far.
  [[nodiscard]] std::optional<std::uint64_t> position() const noexcept {
    const std::uint64_t position = position_;
    return position == kNone ? std::nullopt : std::optional(position);
  }
  [[nodiscard]] bool is_before(std::uint64_t position) const noexcept { return position_ < position; }

 private:
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::atomic<std::uint64_t> position_ = kNone;
};

}  // namespace clipper
