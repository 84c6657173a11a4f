// Placeholder until the kernels arrive: one element at a time.
#include "clip/clip_vectors.hpp"

namespace clipper {
namespace {
Operation at(const Operation& operation, const ParameterVectors& p, std::size_t i) {
  Operation o = operation;
  with_type(o.dtype, [&]<class T>() {
    const auto get = [&](const std::byte* v) { return to_bits(reinterpret_cast<const T*>(v)[i]); };
    o.lo = get(p.lo);
    o.hi = get(p.hi);
    if (p.nan) o.nan = get(p.nan); else o.nan.reset();
  });
  if (o.arithmetic == Arithmetic::float32) {
    o.scale = reinterpret_cast<const float*>(p.scale)[i];
    o.bias = reinterpret_cast<const float*>(p.bias)[i];
  } else if (o.arithmetic == Arithmetic::float64) {
    o.scale = reinterpret_cast<const double*>(p.scale)[i];
    o.bias = reinterpret_cast<const double*>(p.bias)[i];
  } else if (o.arithmetic == Arithmetic::integer) {
    o.integer_scale = reinterpret_cast<const Operation::Integer*>(p.scale)[i];
    o.integer_bias = reinterpret_cast<const Operation::Integer*>(p.bias)[i];
  }
  return o;
}
}
void clip(const Operation& operation, const ParameterVectors& p, const std::byte* in, std::byte* out, std::size_t count, SimdLevel level) noexcept {
  const std::size_t size = traits(operation.dtype).size;
  for (std::size_t i = 0; i < count; ++i) clip(at(operation, p, i), in + i * size, out + i * size, 1, level);
}
ElementCounts clip_and_count(const Operation& operation, const ParameterVectors& p, const std::byte* in, std::byte* out, std::size_t count, SimdLevel level) noexcept {
  const std::size_t size = traits(operation.dtype).size;
  ElementCounts c;
  for (std::size_t i = 0; i < count; ++i) c += clip_and_count(at(operation, p, i), in + i * size, out + i * size, 1, level);
  return c;
}
}
