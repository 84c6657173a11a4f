#include "engine/first_nan.hpp"

#include "clip/clip.hpp"

namespace clipper {

void FirstNan::look_at(DType dtype, ByteOrder order, const std::byte* elements, std::size_t count,
                       std::uint64_t position) noexcept {
  const std::optional<std::size_t> nan = find_nan(dtype, order, elements, count);
  if (!nan) return;
  std::uint64_t known = position_;
  while (position + *nan < known && !position_.compare_exchange_weak(known, position + *nan)) {
  }
}

std::optional<std::uint64_t> FirstNan::position() const noexcept {
  const std::uint64_t position = position_;
  return position == kNone ? std::nullopt : std::optional(position);
}

}  // namespace clipper
