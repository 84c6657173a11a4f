#include "flows/scaled_percentile.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "contract/plan.hpp"
#include "element/element.hpp"
#include "statistics/percentiles.hpp"

namespace clipper {
namespace {

/// The exact x * scale + bias, of up to 129 bits.
Number exact_value(const Operation& operation, DType dtype, ElementBits element) {
  const Int128 x = to_integer(number_of(dtype, element), Rounding::toward_zero);
  const auto magnitude = static_cast<UInt128>(x < 0 ? -x : x) * operation.integer_scale.magnitude;
  const bool is_negative = (x < 0) != operation.integer_scale.negative;
  const auto [bias_is_negative, bias] = operation.integer_bias;
  const auto number = [](bool negative, UInt128 value) {
    return *parse_number(fmt::format("{}{}", negative ? "-" : "", value));
  };
  if (is_negative == bias_is_negative) return number(is_negative, magnitude + bias);
  return magnitude >= bias ? number(is_negative, magnitude - bias)
                           : number(bias_is_negative, bias - magnitude);
}

/// The two operations, each rounded to T.
template <class T>
Number rounded_value(const Operation& operation, const Number& element) {
  const auto scale = static_cast<T>(operation.scale);
  // An infinity times 0 is NaN, which is none of the elements of a percentile.
  const T x = scale == 0 && element.kind == Number::Kind::infinite ? T{0} : round_to<T>(element);
  const T product = operation.divides ? x / scale : x * scale;
  return product + static_cast<T>(operation.bias);
}

bool is_64_bits(const Number& number) {
  return number >= std::numeric_limits<std::int64_t>::lowest() &&
         number <= std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

std::optional<Scaled> scaled(const Request& request, const TensorLayout& layout) {
  if (!request.scale && !request.bias) return std::nullopt;
  Request alone{.scale = request.scale, .bias = request.bias, .profile = request.profile};
  if (request.profile->family == "native") alone.to = DType::float64;
  if (request.profile->bounds == Profile::Bounds::required) {
    alone.min = -std::numeric_limits<double>::infinity();
    alone.max = std::numeric_limits<double>::infinity();
  }
  const Operation operation = make_plan_in_units(alone, layout).operation;
  const DType from = layout.dtype;
  Scaled by;
  by.is_exact = operation.arithmetic == Arithmetic::integer;
  by.descends = by.is_exact ? operation.integer_scale.negative : std::signbit(operation.scale);
  if (by.is_exact) {
    by.value = [=](ElementBits element) { return exact_value(operation, from, element); };
  } else if (operation.arithmetic == Arithmetic::float32) {
    by.dtype = DType::float32;
    by.value = [=](ElementBits element) { return rounded_value<float>(operation, number_of(from, element)); };
  } else {
    by.value = [=](ElementBits element) {
      return rounded_value<double>(operation, number_of(from, element));
    };
  }
  return by;
}

std::string percentile_text(const TensorLayout& layout, const std::optional<Scaled>& by,
                            const Number& percentile) {
  if (by && by->is_exact && is_64_bits(percentile)) {
    const Scalar scalar = as_scalar(percentile.negative ? DType::int64 : DType::uint64, percentile);
    return element_text(scalar.dtype, scalar.bits);
  }
  if (by) return element_text(by->dtype, nearest_element(by->dtype, percentile));
  const Scalar scalar = as_scalar(layout.dtype, percentile);
  return element_text(scalar.dtype, layout.meaning, scalar.bits);
}

}  // namespace clipper
