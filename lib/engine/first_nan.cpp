#include "engine/first_nan.hpp"

#include <optional>

#include "clip/clip.hpp"

namespace clipper {

void FirstNan::look_at(DType dtype, ByteOrder order, const std::byte* elements, std::size_t count,
                       std::uint64_t position) noexcept {
  if (const std::optional<std::size_t> nan = find_nan(dtype, order, elements, count)) note(position + *nan);
}

}  // namespace clipper
