#pragma once

#include "element/dtype.hpp"

/// Exact arithmetic with Numbers. What is not finite is calculated as float64: inf - inf is NaN.
namespace clipper {

[[nodiscard]] Number sum(const Number& a, const Number& b);
[[nodiscard]] Number difference(const Number& a, Number b);

/// The product with a number of at most kFactorDigits digits.
[[nodiscard]] Number product(const Number& a, const Number& factor);
inline constexpr int kFactorDigits = 18;

}  // namespace clipper
