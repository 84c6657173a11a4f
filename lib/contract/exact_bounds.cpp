#include "contract/exact_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "clip/convert.hpp"
#include "contract/bounds.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"
#include "memory/elements.hpp"
#include "simd/levels.hpp"

namespace clipper {
namespace {

/// The integer, saturated to 2^128 - 1, beyond all results of integer arithmetic.
Wide wide_of(const Number& integer) {
  constexpr UInt128 kMax = ~UInt128{0};
  if (integer.kind == Number::Kind::infinite) return Wide::of(integer.negative, kMax);
  UInt128 magnitude = 0;
  for (std::int64_t i = 0; i < integer.exponent; ++i) {
    const auto place = static_cast<std::size_t>(i);
    const unsigned digit =
        place < integer.digits.size() ? static_cast<unsigned>(integer.digits[place] - '0') : 0;
    if (magnitude > (kMax - digit) / 10) return Wide::of(integer.negative, kMax);
    magnitude = magnitude * 10 + digit;
  }
  return Wide::of(integer.negative, magnitude);
}

bool is_whole_of_64_bits(const Number& number) {
  return is_integer(number) && number >= Number(std::numeric_limits<std::int64_t>::lowest()) &&
         number <= Number(std::numeric_limits<std::uint64_t>::max());
}

/// Which bound elements become where min exceeds max. Error{usage} unless the request allows that.
MinAboveMax winner(const Request& request, const Plan& plan) {
  const MinAboveMax above = request.min_above_max.value_or(request.profile->min_above_max);
  if (above != MinAboveMax::error) return above;
  refuse_request(label("min", *request.min) + " exceeds " + label("max", *request.max) +
                 order_advice(plan.operation));
}

/// The exact bounds as they take effect. Where min exceeds max, both are the one that elements become.
struct ExactBounds {
  std::optional<Number> min;
  std::optional<Number> max;
};

ExactBounds exact_bounds(const Request& request, Plan& plan) {
  for (const Field* const field : fields::kBounds)
    if (const auto& given = request.*field->number();
        is_number(given) && given->number.kind == Number::Kind::nan)
      refuse_request(label(field->name, *given) + ": NaN cannot be a bound");
  ExactBounds bounds;
  if (is_number(request.min)) bounds.min = exact_number(plan, request.min->number);
  if (is_number(request.max)) bounds.max = exact_number(plan, request.max->number);
  plan.exact_min = bounds.min;
  plan.exact_max = bounds.max;
  if (!bounds.min || !bounds.max || *bounds.min <= *bounds.max) return bounds;
  (winner(request, plan) == MinAboveMax::min ? bounds.max = bounds.min : bounds.min = bounds.max);
  return bounds;
}

/// Clips results of integer arithmetic to numbers of any size. The operation has the integers nearest to them
/// that the input's dtype has, for comparisons with arrays.
void plan_wide_bounds(const Request& request, Plan& plan) {
  const DType from = plan.input.dtype;
  WideBounds& wide = plan.operation.cast->wide;
  wide.lo_varies = request.min && request.min->array;
  wide.hi_varies = request.max && request.max->array;
  wide.min_wins = request.min_above_max.value_or(request.profile->min_above_max) == MinAboveMax::min;
  const auto bound = [&](const Number& number) -> WideBound {
    return {wide_of(rounded(number, Round::ceil)), wide_of(rounded(number, Round::floor)),
            result_of(plan.operation, number == Number() ? Number() : number).element};  // no -0
  };
  const ExactBounds bounds = exact_bounds(request, plan);
  if (bounds.min) wide.lo = bound(*bounds.min);
  if (bounds.max) wide.hi = bound(*bounds.max);
  if (plan.exact_min) plan.operation.lo = least_from(from, *plan.exact_min).value_or(highest_element(from));
  if (plan.exact_max) plan.operation.hi = greatest_to(from, *plan.exact_max).value_or(lowest_element(from));
}

/// Whether elements are beyond the exact bound as beyond the cut one, and become the same.
bool is_cut_exactly(const Plan& plan, const std::optional<Number>& bound, bool is_min) {
  if (!bound) return true;
  const Operation& operation = plan.operation;
  if (operation.arithmetic != Arithmetic::none)
    return bound->kind == Number::Kind::infinite ||
           number_of(operation.dtype, nearest_element(operation.dtype, *bound)) == *bound;
  const DType from = plan.input.dtype;
  if (*bound < number_of(from, lowest_element(from))) return is_min;
  if (*bound > number_of(from, highest_element(from))) return !is_min;
  return is_integer(*bound);
}

/// Error{usage} for a bound within which the input's dtype has no element, though a working dtype has: -0.5
/// as max of uint8.
void expect_elements_within(const Request& request, const Plan& plan) {
  const DType dtype = plan.input.dtype;
  if (plan.exact_min && !least_from(dtype, *plan.exact_min))
    refuse_request(label("min", *request.min) + beyond_text(dtype, true));
  if (plan.exact_max && !greatest_to(dtype, *plan.exact_max))
    refuse_request(label("max", *request.max) + beyond_text(dtype, false));
}

void set_exact_min(const Number& bound, Plan& plan) {
  Operation& operation = plan.operation;
  operation.lo = least_from(operation.dtype, bound).value_or(highest_element(operation.dtype));
  operation.cast->min = bound_result(operation, bound, operation.lo);
}

void set_exact_max(const Number& bound, Plan& plan) {
  Operation& operation = plan.operation;
  operation.hi = greatest_to(operation.dtype, bound).value_or(lowest_element(operation.dtype));
  operation.cast->max = bound_result(operation, bound, operation.hi);
}

/// Whether any element of an array, as the nearest double, is such a number.
template <class IsSuch>
bool has_any(const ParameterArray& array, const IsSuch& is_such) {
  const TensorLayout& layout = array.layout();
  constexpr std::uint64_t kBlock = 4096;  // elements
  const std::size_t size = traits(layout.dtype).size;
  std::vector<std::byte> elements(kBlock * size);
  std::vector<double> numbers(kBlock);
  const Operation to_double = conversion(layout.dtype, DType::float64);
  for (std::uint64_t done = 0; done < layout.count; done += kBlock) {
    const auto count = static_cast<std::size_t>(std::min(kBlock, layout.count - done));
    const std::span part = std::span(elements).first(count * size);
    array.read(done, part);
    decode(layout, part);
    static_cast<void>(convert(to_double, kNumbers, part.data(),
                              std::as_writable_bytes(std::span(numbers)).data(), count, Counting::off,
                              simd_levels().back()));
    if (std::any_of(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count), is_such))
      return true;
  }
  return false;
}

}  // namespace

Result result_of(const Operation& operation, const Number& number) {
  const DType to = operation.to;
  const Cast& cast = *operation.cast;
  const Number y = cast.round ? rounded(number, *cast.round) : number;
  if (!is_floating(to)) {
    const Int128 lowest = to_integer(number_of(to, lowest_element(to)), Rounding::toward_zero);
    const Int128 highest = to_integer(number_of(to, highest_element(to)), Rounding::toward_zero);
    const Int128 sum = to_integer(y, Rounding::toward_zero) + cast.zero_point.value();
    const auto bits = static_cast<ElementBits>(std::clamp(sum, lowest, highest));
    return {with_type(to, [&]<class T>() { return to_bits(from_bits<T>(bits)); }), sum > highest  ? 1
                                                                                   : sum < lowest ? -1
                                                                                                  : 0};
  }
  const ElementBits element = nearest_element(to, y);
  if (number_of(to, element).kind == Number::Kind::finite) return {element, 0};
  const int beyond = y > Number() ? 1 : -1;
  if (!cast.saturates) return {element, beyond};
  return {beyond > 0 ? highest_finite(to) : lowest_finite(to), beyond};
}

std::optional<ElementBits> bound_result(const Operation& operation, const Number& bound,
                                        ElementBits compared) {
  if (number_of(operation.dtype, compared) == bound) return std::nullopt;
  const Result result = result_of(operation, bound);
  const bool is_refused =
      result.beyond != 0 && !operation.cast->saturates && !traits(operation.to).has_infinity;
  return is_refused ? std::nullopt : std::optional(result.element);
}

bool has_later_step(const Request& request) {
  using enum Field::Step;
  const auto is_other = [](const Field& field) {
    return field.step == scale || field.step == replace || field.step == cast;
  };
  return first_given(request, is_other) != nullptr || normalizes(request);
}

bool has_exact_bounds(const Plan& plan) {
  return plan.operation.cast && !is_floating(plan.input.dtype);
}

bool has_arithmetic_bounds(const Request& request, const Plan& plan) {
  // A norm that is small enough was measured with the same bounds as one that is not.
  return request.to || request.round || request.max_norm || normalizes(request) || has_exact_bounds(plan);
}

bool is_number(const std::optional<Parameter>& bound) {
  return bound && !bound->array;
}

bool is_far_bound(const Plan& plan, const std::optional<Parameter>& bound) {
  if (!plan.operation.cast || has_exact_bounds(plan) || !is_number(bound)) return false;
  const auto highest = [](DType dtype) { return number_of(dtype, highest_finite(dtype)); };
  const Number::Kind nearest =
      number_of(plan.bound_dtype, nearest_element(plan.bound_dtype, bound->number)).kind;
  if (bound->number.kind == Number::Kind::finite && nearest != Number::Kind::finite &&
      highest(plan.operation.to) > highest(plan.bound_dtype))
    return true;
  return plan.operation.arithmetic != Arithmetic::none && nearest == Number::Kind::nan &&
         bound->number.kind != Number::Kind::nan;
}

bool has_far_bounds(const Request& request, DType dtype) {
  if (!is_floating(dtype)) return false;
  const auto lowest = round_to<double>(number_of(dtype, lowest_finite(dtype)));
  const auto highest = round_to<double>(number_of(dtype, highest_finite(dtype)));
  const auto is_far = [=](const Number& number) {
    return number.kind == Number::Kind::finite &&
           number_of(dtype, nearest_element(dtype, number)).kind != Number::Kind::finite;
  };
  const auto has_far = [&](const std::optional<Parameter>& bound) {
    if (!bound || !bound->array) return bound && is_far(bound->number);
    return bound->array->layout().dtype != dtype && has_any(*bound->array, [&](double number) {
             return (number < lowest || number > highest) && is_far(number);
           });
  };
  return has_far(request.min) || has_far(request.max);
}

std::string bound_text(DType tensor, DType dtype, ElementBits bound) {
  const Number number = number_of(dtype, bound);
  const bool is_long = is_whole_of_64_bits(number) && std::fabs(round_to<double>(number)) >= kIntegersEnd;
  return is_long && !is_floating(tensor) ? decimal_text(number) : element_text(dtype, bound);
}

bool is_beyond(const Number& number, DType dtype) {
  return number < number_of(dtype, lowest_element(dtype)) ||
         number > number_of(dtype, highest_element(dtype));
}

bool has_fraction(const std::optional<Parameter>& bound) {
  if (bound && bound->array) return is_floating(bound->array->layout().dtype);
  return bound && bound->number.kind == Number::Kind::finite && !is_integer(bound->number);
}

bool has_any_fraction(const ParameterArray& array) {
  return is_floating(array.layout().dtype) &&
         has_any(array, [](double number) { return std::isfinite(number) && number != std::trunc(number); });
}

bool has_any_beyond(const ParameterArray& array, DType dtype) {
  const auto lowest = round_to<double>(number_of(dtype, lowest_element(dtype)));
  const auto end = round_to<double>(number_of(dtype, highest_element(dtype)));  // the next power of two
  return has_any(array, [=](double number) { return number < lowest || number >= end; });
}

Number exact_number(const Plan& plan, const Number& bound) {
  if (plan.operation.arithmetic != Arithmetic::float64 || is_whole_of_64_bits(bound)) return bound;
  return round_to<double>(bound);
}

void plan_far_bounds(const Request& request, Plan& plan) {
  Operation& operation = plan.operation;
  if (is_far_bound(plan, request.min)) plan.exact_min = request.min->number;
  if (is_far_bound(plan, request.max)) plan.exact_max = request.max->number;
  // A dtype without infinity has a limit, which a far bound on the other side may exceed.
  if (!request.max && (plan.exact_min || plan.array(ParameterId::min) != nullptr))
    operation.hi = highest_element(operation.dtype);
  if (!request.min && (plan.exact_max || plan.array(ParameterId::max) != nullptr))
    operation.lo = lowest_element(operation.dtype);
  if (!plan.exact_min && !plan.exact_max) return;
  Number min = plan.exact_min ? *plan.exact_min : number_of(plan.bound_dtype, plan.min);
  Number max = plan.exact_max ? *plan.exact_max : number_of(plan.bound_dtype, plan.max);
  const bool is_exchanged = is_number(request.min) && is_number(request.max) && min > max;
  if (is_exchanged) (winner(request, plan) == MinAboveMax::min ? max = min : min = max);
  const auto result = [&](ElementBits compared, const Number& bound) -> std::optional<ElementBits> {
    if (number_of(operation.dtype, compared) == bound) return std::nullopt;
    return result_of(operation, bound).element;
  };
  if (plan.exact_min || is_exchanged) {
    operation.lo = least_from(operation.dtype, min).value();
    operation.cast->min = result(operation.lo, min);
  }
  if (plan.exact_max || is_exchanged) {
    operation.hi = greatest_to(operation.dtype, max).value();
    operation.cast->max = result(operation.hi, max);
  }
}

void plan_exact_bounds(const Request& request, Plan& plan) {
  if (plan.operation.arithmetic == Arithmetic::integer) return plan_wide_bounds(request, plan);
  const auto [min, max] = exact_bounds(request, plan);
  if (plan.operation.arithmetic == Arithmetic::none && user_of_bounds(request) == nullptr)
    expect_elements_within(request, plan);
  // Without a rounding, the dtype's limits are the bounds that are not given: 255.5 is beyond uint8.
  const bool has_limits = plan.operation.arithmetic == Arithmetic::float64 && !request.to && !request.round &&
                          !normalizes(request);
  const DType from = plan.input.dtype;
  if (has_limits && !request.min)
    plan.operation.lo = to_bits(round_to<double>(number_of(from, lowest_element(from))));
  if (has_limits && !request.max)
    plan.operation.hi = to_bits(round_to<double>(number_of(from, highest_element(from))));
  const bool has_exact_min = is_cut_exactly(plan, plan.exact_min, true);
  const bool has_exact_max = is_cut_exactly(plan, plan.exact_max, false);
  const bool is_exchanged = plan.exact_min && plan.exact_max && *plan.exact_min > *plan.exact_max;
  // A step that calculates with bounds needs those beyond the dtype, too.
  const bool needs_all = plan.operation.uses_bounds() && plan.operation.arithmetic == Arithmetic::none;
  const bool needs_both = needs_all || (is_exchanged && !(has_exact_min && has_exact_max));
  if (min && (needs_both || !has_exact_min)) set_exact_min(*min, plan);
  if (max && (needs_both || !has_exact_max)) set_exact_max(*max, plan);
  if (needs_all || plan.arrays) return;
  if (has_exact_min) plan.exact_min.reset();
  if (has_exact_max) plan.exact_max.reset();
}

DoubleDouble double_double(const Number& number) {
  const auto head = round_to<double>(number);  // which may be -0
  if (!is_whole_of_64_bits(number)) return head;
  return {head, rest_of(to_integer(number, Rounding::toward_zero), head)};
}

Number found_bound(const Number& percentile) {
  if (percentile.kind != Number::Kind::finite || is_integer(percentile)) return percentile;
  const auto nearest = round_to<double>(percentile);
  if (std::fabs(nearest) >= kIntegersEnd) return rounded(percentile, Round::trunc);
  return parse_number(fmt::format("{}", nearest)).value();
}

}  // namespace clipper
