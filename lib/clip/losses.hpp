#pragma once

#include <cstddef>
#include <optional>

#include "clip/clip.hpp"
#include "simd/levels.hpp"

namespace clipper {

/// Counts the elements that arithmetic or a cast makes infinite or 0. It calculates x * scale + bias
/// once more, from the elements before the operation, so that no kernel has to count. Those of
/// Arithmetic::integer are counted by convert(), those of a normalization by normalize().
class LossCounter {
 public:
  /// For an operation, whose parameters may still vary.
  explicit LossCounter(const Operation& operation) noexcept;

  /// Adds to became_infinite and became_zero of `counts`. `operands` and `in` are those of apply().
  void count(const Operation& operation, const Operands& operands, const std::byte* in, std::size_t count,
             SimdLevel level, ElementCounts& counts) const noexcept;

 private:
  template <class Working>
  class Block;

  Operation casting_;  ///< the operation, whose results are cast also if the arithmetic alone rounds them
  DType bounds_;       ///< the dtype of lo and hi
  bool may_be_infinite_ = false;
  bool may_be_zero_ = false;
  ElementBits zero_lowest_ = 0;  ///< see zero_limits()
  ElementBits zero_highest_ = 0;
};

}  // namespace clipper
