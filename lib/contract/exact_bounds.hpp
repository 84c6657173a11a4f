#pragma once

#include <optional>

#include "contract/plan.hpp"
#include "contract/profile.hpp"

/// The rule for bounds of integers, under profile clipper, with a step after the clip, which makes a Cast:
///
/// An element is compared with the exact bound, as typed, found or read. The bound as a value enters the
/// later steps exactly, and what is written is rounded once, at the end. Where these steps, or scale and bias
/// before the clip, work in float64, the bound is a whole number of 64 bits or the nearest float64. A clip
/// without such a step cuts the bound to the dtype first: see bounds.hpp.
///
/// Bounds of floats are rounded to the dtype first, unless that makes a finite bound infinite, or the limit
/// of a dtype without infinity, and results may lie beyond the dtype, or a step in float64 follows.
namespace clipper {

/// What a number becomes after the clip, rounded once.
struct Result {
  ElementBits element;  ///< of the output's dtype; NaN if the dtype has neither the number nor infinity
  int beyond;           ///< 1 or -1: the number is above or below all finite elements
};

[[nodiscard]] Result result_of(const Operation& operation, const Number& number);

/// What the bound becomes, unless the working element does with which elements are compared, or the elements
/// that become the bound are refused.
[[nodiscard]] std::optional<ElementBits> bound_result(const Operation& operation, const Number& bound,
                                                      ElementBits compared);

/// Whether the request has a step besides the clip: scale and bias, or one after it.
[[nodiscard]] bool has_later_step(const Request& request);

/// Whether the plan's bounds are exact, because the tensor has integers and there is a later step.
[[nodiscard]] bool has_exact_bounds(const Plan& plan);

/// Whether bounds beside a scale or bias are numbers of the arithmetic, not elements of the tensor's dtype.
[[nodiscard]] bool has_arithmetic_bounds(const Request& request, const Plan& plan);

/// Whether the bound is a number, not an array.
[[nodiscard]] bool is_number(const std::optional<Parameter>& bound);

/// Whether the bound of floats is a number beyond its dtype that takes effect as it is, because results may
/// lie there: a finite one, or beside a scale any one beyond a dtype without infinity.
[[nodiscard]] bool is_far_bound(const Plan& plan, const std::optional<Parameter>& bound);

/// Whether a bound of the request is a finite number beyond a dtype of floats. Arrays are read.
[[nodiscard]] bool has_far_bounds(const Request& request, DType dtype);

/// The text of a bound of `dtype` for a tensor, which is that bound when it is typed: of integers, a whole
/// number of 64 bits is exact, and has all its digits.
[[nodiscard]] std::string bound_text(DType tensor, DType dtype, ElementBits bound);

/// Whether the number is below or above all elements of the dtype.
[[nodiscard]] bool is_beyond(const Number& number, DType dtype);

/// Whether the bound is a number that is no integer, or may have such numbers.
[[nodiscard]] bool has_fraction(const std::optional<Parameter>& bound);

/// Whether any element of an array, which is read, has a fraction.
[[nodiscard]] bool has_any_fraction(const ParameterArray& array);

/// Whether any element of an array is beyond a dtype of 64 bits; also if one is its highest element.
[[nodiscard]] bool has_any_beyond(const ParameterArray& array, DType dtype);

/// The bound that is a number, as the operation compares elements with it: it is rounded beside float64
/// arithmetic.
[[nodiscard]] Number exact_number(const Plan& plan, const Number& bound);

/// Makes operation.lo and hi those of the bounds that are is_far_bound(), and sets what these become.
/// Error{usage} for a min that exceeds max, unless the request allows it.
void plan_far_bounds(const Request& request, Plan& plan);

/// Makes operation.lo and hi, which have been made of bounds that were cut to the dtype, the nearest working
/// elements within the exact bounds, and sets what the exact bounds become. Error{usage} for a min that
/// exceeds max, unless the request allows it, and for bounds between which the dtype has no element, if they
/// leave nothing to do.
void plan_exact_bounds(const Request& request, Plan& plan);

/// The number, exact if it is a whole number of 64 bits.
[[nodiscard]] DoubleDouble double_double(const Number& number);

/// A percentile of integers as a bound: a whole number or the nearest double, in the fewest digits.
[[nodiscard]] Number found_bound(const Number& percentile);

}  // namespace clipper
