#pragma once

#include <cstddef>

#include "clip/clip.hpp"
#include "simd/levels.hpp"

/// The kernels for parameters that differ from element to element.
namespace clipper {

/// One value per element of each parameter, aligned to its size. Replaces the numbers of an
/// Operation, of which dtype and arithmetic still count.
struct ParameterVectors {
  const std::byte* lo = nullptr;   ///< of the operation's dtype
  const std::byte* hi = nullptr;   ///< of the operation's dtype
  const std::byte* nan = nullptr;  ///< of the operation's dtype: what replaces NaN; null: NaN stays

  /// Unless Arithmetic::none. Finite float for Arithmetic::float32, finite double for ::float64,
  /// Operation::Integer for ::integer.
  const std::byte* scale = nullptr;
  const std::byte* bias = nullptr;
};

/// clip() with one value of each parameter per element.
void clip(const Operation& operation, const ParameterVectors& parameters, const std::byte* in, std::byte* out,
          std::size_t count, SimdLevel level) noexcept;

/// clip_and_count() with one value of each parameter per element.
[[nodiscard]] ElementCounts clip_and_count(const Operation& operation, const ParameterVectors& parameters,
                                           const std::byte* in, std::byte* out, std::size_t count,
                                           SimdLevel level) noexcept;

}  // namespace clipper
