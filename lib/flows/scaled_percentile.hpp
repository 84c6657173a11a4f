#pragma once

#include <functional>
#include <optional>
#include <string>

#include "contract/profile.hpp"
#include "element/number.hpp"
#include "element/tensor_layout.hpp"

namespace clipper {

/// x * scale + bias of single elements, as the clip sees them, for percentiles.
struct Scaled {
  DType dtype = DType::float64;  ///< of the arithmetic, unless that is exact
  bool is_exact = false;         ///< of integers
  bool descends = false;         ///< a greater x has a lesser result, or the same
  std::function<Number(ElementBits)> value;
};

/// Nothing without scale and bias, which must be numbers.
[[nodiscard]] std::optional<Scaled> scaled(const Request& request, const TensorLayout& layout);

/// A percentile of the tensor's elements, or of x * scale + bias, in a message: "6.5". Typed as a bound, it
/// gives the same bytes.
[[nodiscard]] std::string percentile_text(const TensorLayout& layout, const std::optional<Scaled>& by,
                                          const Number& percentile);

}  // namespace clipper
