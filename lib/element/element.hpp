#pragma once

#include <string>

#include "element/dtype.hpp"
#include "element/number.hpp"

/// Single elements of any dtype as numbers and as text.
namespace clipper {

/// The number that an element is, exactly.
[[nodiscard]] Number number_of(DType dtype, ElementBits element);

/// The element rounded to the fewest decimal digits that convert back to it: "0.1", "-0", "inf", "nan",
/// "255".
[[nodiscard]] std::string element_text(DType dtype, ElementBits element);

/// The elements that no element of the dtype lies beyond: -inf and inf, or an integer's extremes.
[[nodiscard]] ElementBits lowest_element(DType dtype);
[[nodiscard]] ElementBits highest_element(DType dtype);

/// The finite extremes: numeric_limits<T>::lowest() and ::max().
[[nodiscard]] ElementBits lowest_finite(DType dtype);
[[nodiscard]] ElementBits highest_finite(DType dtype);

}  // namespace clipper
