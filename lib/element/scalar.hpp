#pragma once

#include "element/dtype.hpp"

#pragma GCC visibility push(default)
namespace clipper {

/// A number as an element of a dtype: from_bits<double>(scalar.bits) is its value if the dtype is float64.
struct Scalar {
  DType dtype = DType::float32;
  ElementBits bits = 0;

  friend bool operator==(const Scalar&, const Scalar&) = default;
};

}  // namespace clipper
#pragma GCC visibility pop
