#include "clip/clip_vectors.hpp"

#include "clip/clip_edges.hpp"
#include "clip/kernel.hpp"
#include "clip/parameters.hpp"
#include "clip/scale_integers.hpp"

namespace clipper {
namespace {

template <Counting kCounting>
ElementCounts clip_scaled(const Operation& operation, const ParameterVectors& parameters, const std::byte* in,
                          std::byte* out, std::size_t count, SimdLevel level) noexcept {
  return for_each_block<Input::read_once>(
      operation, in, out, count,
      [&](std::size_t done, const std::byte* from, std::byte* to, std::size_t length) {
        const ParameterVectors of_block =
            after(done, parameters, traits(operation.dtype).size, factor_size(operation.arithmetic));
        ElementCounts counts;
        if (kCounting == Counting::on) counts = count_scaled(operation, of_block, from, length, level);
        scale_integers(operation, of_block, from, to, length, level);
        clip_with<Counting::off>(operation, of_block, to, to, length, level);
        return counts;
      });
}

}  // namespace

void clip(const Operation& operation, const ParameterVectors& parameters, const std::byte* in, std::byte* out,
          std::size_t count, SimdLevel level) noexcept {
  if (may_have_edges(operation))
    clip_edges(operation, &parameters, in, out, count, level, Counting::off);
  else if (scales_integers(operation))
    clip_scaled<Counting::off>(operation, parameters, in, out, count, level);
  else
    clip_with<Counting::off>(operation, parameters, in, out, count, level);
}

ElementCounts clip_and_count(const Operation& operation, const ParameterVectors& parameters,
                             const std::byte* in, std::byte* out, std::size_t count,
                             SimdLevel level) noexcept {
  if (may_have_edges(operation))
    return clip_edges(operation, &parameters, in, out, count, level, Counting::on);
  if (scales_integers(operation))
    return clip_scaled<Counting::on>(operation, parameters, in, out, count, level);
  return clip_and_replace_nan(operation, parameters, in, out, count, level);
}

}  // namespace clipper
