#pragma once

#include <string>

#include "element/dtype.hpp"
#include "element/number.hpp"

/// Single elements of any dtype as numbers and as text.
namespace clipper {

/// The exact value of an element.
[[nodiscard]] Number number_of(DType dtype, ElementBits element);

/// The element in the fewest decimal digits that convert back to it: "0.1", "-0", "inf", "nan", "255".
[[nodiscard]] std::string element_text(DType dtype, ElementBits element);

/// The lowest and highest element: -inf and inf for floats, numeric_limits for integers.
[[nodiscard]] ElementBits lowest_element(DType dtype);
[[nodiscard]] ElementBits highest_element(DType dtype);

/// The lowest and highest finite element: numeric_limits<T>::lowest() and ::max().
[[nodiscard]] ElementBits lowest_finite(DType dtype);
[[nodiscard]] ElementBits highest_finite(DType dtype);

/// The positive quiet NaN without payload of a float dtype.
[[nodiscard]] ElementBits canonical_nan(DType dtype);

}  // namespace clipper
