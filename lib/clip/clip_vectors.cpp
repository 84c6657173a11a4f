#include "clip/clip_vectors.hpp"

#include "clip/kernel.hpp"

namespace clipper {

void clip(const Operation& operation, const ParameterVectors& parameters, const std::byte* in, std::byte* out,
          std::size_t count, SimdLevel level) noexcept {
  clip_with<Counting::off>(operation, parameters, in, out, count, level);
}

ElementCounts clip_and_count(const Operation& operation, const ParameterVectors& parameters,
                             const std::byte* in, std::byte* out, std::size_t count,
                             SimdLevel level) noexcept {
  return clip_with<Counting::on>(operation, parameters, in, out, count, level);
}

}  // namespace clipper
