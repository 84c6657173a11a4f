#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "contract/bounds.hpp"
#include "contract/fields.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"

namespace clipper {
namespace {

[[noreturn]] void refuse(const Message& why) {
  throw Error(ErrorKind::usage, why);
}

/// A number after the clip: a replacement or the zero point.
void expect_number(std::string_view field, const std::optional<Given>& given) {
  refuse_percentile(field, given);
  if (given && given->array) refuse(label(field, *given) + " must be one number, not an array");
}

/// The number as an element of a float dtype. Error{usage} if the dtype does not have it.
ElementBits exact_float(std::string_view field, const Given& given, DType dtype) {
  const ElementBits element = nearest_element(dtype, given.number);
  const Number nearest = number_of(dtype, element);
  if (given.number.kind == Number::Kind::nan || nearest == given.number) return element;
  if (nearest.kind == Number::Kind::nan)
    refuse(label(field, given) + fmt::format(" is beyond the range of {}", traits(dtype).name));
  refuse(label(field, given) + fmt::format(" is not a {} number; the nearest one is {}", traits(dtype).name,
                                           decimal_text(nearest)));
}

/// Chooses the dtype in which the operation of a plan that converts works, and that of its bounds.
void choose_working_dtype(const Request& request, Plan& plan) {
  switch (plan.operation.arithmetic) {
    case Arithmetic::none: plan.operation.dtype = working_dtype(plan.input.dtype); return;
    case Arithmetic::float32: plan.operation.dtype = DType::float32; break;
    case Arithmetic::float64: plan.operation.dtype = DType::float64; break;
    case Arithmetic::integer: return;
  }
  if (has_arithmetic_bounds(request)) plan.bound_dtype = plan.operation.dtype;
}

/// What a number becomes after the clip, rounded once.
struct Result {
  ElementBits element;  ///< of the output's dtype; NaN if the dtype has neither the number nor infinity
  int beyond;           ///< 1 or -1: the number is above or below all finite elements
};

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

std::optional<ElementBits> replacement(std::string_view field, const std::optional<Given>& given,
                                       const Operation& operation) {
  if (!given) return std::nullopt;
  const Cast& cast = *operation.cast;
  if (!is_floating(operation.to)) return integer_element(field, *given, operation.to, cast.zero_point);
  const ElementBits element = exact_float(field, *given, operation.to);
  if (given->number.kind == Number::Kind::infinite) return result_of(operation, given->number).element;
  return cast.round ? rounded_element(operation.to, element, *cast.round) : element;
}

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

/// Error{usage} for a min above, or a max below, all elements of the output's dtype.
[[noreturn]] void refuse_out_of_range(std::string_view field, const Given& bound,
                                      const Operation& operation) {
  const Operation::Integer zero = operation.cast->zero_point;
  const std::string plus = zero.magnitude == 0 ? "" : " plus zero point " + text_of(zero);
  refuse(label(field, bound) + (plus + beyond_text(operation.to, field == "min")));
}

/// 1: above all elements of the output; -1: below. An infinite bound is within a dtype that has infinities.
int beyond_output(const Operation& operation, const Given& bound, ElementBits element) {
  if (traits(operation.to).has_infinity && bound.number.kind == Number::Kind::infinite) return 0;
  if (operation.arithmetic == Arithmetic::integer) return result_of(operation, bound.number).beyond;
  return beyond_range(operation, element);
}

bool is_given(const std::optional<Given>& bound) {
  return bound && !bound->array;
}

/// Whether the bound is a number that is no integer.
bool has_fraction(const std::optional<Given>& bound) {
  return is_given(bound) && bound->number.kind == Number::Kind::finite && !is_integer(bound->number);
}

bool divides(const Request& request) {
  return request.scale && request.scale->divides;
}

bool converts_flags(const Request& request, const Plan& plan) {
  return request.to && plan.input.meaning.kind == Meaning::Kind::boolean;
}

/// Whether the tensor needs more than a clip.
bool needs_cast(const Request& request, const Plan& plan) {
  const DType from = plan.input.dtype;
  const DType to = request.to.value_or(from);
  const bool scales = plan.operation.arithmetic != Arithmetic::none;
  if (normalizes(request)) return true;
  const bool has_fractions = plan.operation.arithmetic == Arithmetic::float64 ||
                             (scales && (has_fraction(request.min) || has_fraction(request.max)));
  return to != from || !has_kernels(from) || converts_flags(request, plan) || (request.to && scales) ||
         (request.round && (is_floating(from) || has_fractions)) || request.replace_below ||
         request.replace_above || divides(request) || request.zero_point ||
         (request.saturate && is_floating(to));
}

void check_cast(const Request& request) {
  const bool is_native = request.profile->family == "native";
  const auto is_after = [](const Field& field) { return field.stage == Field::Stage::after; };
  if (const Field* const field = is_native ? nullptr : first_given(request, is_after))
    refuse(parameter(field->name) +
           fmt::format(" is not supported by {}; only profile native has it", request.profile->system));
  if (divides(request) && !is_native)
    refuse(label("scale", *request.scale) + ": only profile native divides");
  expect_number("zero_point", request.zero_point);
  expect_number("replace_below", request.replace_below);
  expect_number("replace_above", request.replace_above);
  if (request.replace_below && !request.min)
    refuse(parameter("replace_below") + " requires " + parameter("min"));
  if (request.replace_above && !request.max)
    refuse(parameter("replace_above") + " requires " + parameter("max"));
  if ((request.replace_below || request.replace_above) && request.min_above_max)
    refuse(parameter(request.replace_below ? "replace_below" : "replace_above") +
           " cannot be combined with " + parameter("min_above_max"));
  if (request.zero_point && (!request.to || is_floating(*request.to)))
    refuse(label("zero_point", *request.zero_point) + " requires an integer dtype as " + parameter("to"));
  if (request.saturate && !request.to) refuse(parameter("saturate") + " requires " + parameter("to"));
}

/// Decides whether the plan converts. Sets the working dtype, that of bounds, and the output's layout.
/// Error{usage} for a zero point or a replacement that the output's dtype does not have.
void choose_cast(const Request& request, Plan& plan) {
  Operation& operation = plan.operation;
  const DType from = plan.input.dtype;
  const DType to = request.to.value_or(from);
  const bool scales = operation.arithmetic != Arithmetic::none;
  if (!needs_cast(request, plan)) return;

  operation.to = normalizes(request) ? DType::float64 : to;
  Cast& cast = operation.cast.emplace();
  plan.output.meaning = {};
  // Elements of one byte have no byte order, and numpy drops that of dtypes that it lacks: little-endian.
  if ((traits(from).size == 1 || is_foreign(to)) && to != from) plan.output.order = ByteOrder::little;
  plan.output.dtype = to;
  plan.output.stored_as = to == from ? plan.input.stored_as : "";
  operation.divides = divides(request);
  choose_working_dtype(request, plan);
  if (!normalizes(request)) choose_rounding(request, to, scales, cast);
  cast.below = replacement("replace_below", request.replace_below, operation);
  cast.above = replacement("replace_above", request.replace_above, operation);
  plan.refuse_beyond = !request.saturate && is_floating(to) && !traits(to).has_infinity &&
                       (to != from || scales || request.round || normalizes(request));
  set_limits(operation);
}

/// Clips results of integer arithmetic to numbers of any size. The operation has the integers nearest to them
/// that the input's dtype has, for comparisons with arrays.
void plan_wide_bounds(const Request& request, Plan& plan) {
  const DType from = plan.input.dtype;
  WideBounds& bounds = plan.operation.cast->wide;
  const MinAboveMax above = request.min_above_max.value_or(request.profile->min_above_max);
  bounds.lo_varies = request.min && request.min->array;
  bounds.hi_varies = request.max && request.max->array;
  bounds.min_wins = above == MinAboveMax::min;
  for (const auto& [field, given] : {std::pair{"min", &request.min}, std::pair{"max", &request.max}})
    if (is_given(*given) && (*given)->number.kind == Number::Kind::nan)
      refuse(label(field, **given) + ": NaN cannot be a bound");
  const auto bound = [&](const Number& number) -> WideBound {
    return {wide_of(rounded(number, Round::ceil)), wide_of(rounded(number, Round::floor)),
            result_of(plan.operation, number).element};
  };
  const auto exact = [&](const Given& given, ElementBits element) {
    return has_arithmetic_bounds(request) ? given.number : number_of(from, element);
  };
  if (is_given(request.min)) {
    plan.exact_min = exact(*request.min, plan.min);
    bounds.lo = bound(*plan.exact_min);
    plan.operation.lo = least_from(from, *plan.exact_min).value_or(highest_element(from));
  }
  if (is_given(request.max)) {
    plan.exact_max = exact(*request.max, plan.max);
    bounds.hi = bound(*plan.exact_max);
    plan.operation.hi = greatest_to(from, *plan.exact_max).value_or(lowest_element(from));
  }
  if (!plan.exact_min || !plan.exact_max || *plan.exact_min <= *plan.exact_max) return;
  if (above == MinAboveMax::error)
    refuse(label("min", *request.min) + " exceeds " + label("max", *request.max) +
           order_advice(plan.operation));
  (bounds.min_wins ? bounds.hi : bounds.lo) = bounds.min_wins ? bounds.lo : bounds.hi;
}

/// Error{usage} for a number that replaces NaN and that the output's dtype does not have.
void plan_nan(const OnNan& nan, Plan& plan) {
  if (nan.action != OnNan::replace || !is_floating(plan.input.dtype)) return;
  const Given& given = *nan.number;
  const auto [element, beyond] = result_of(plan.operation, given.number);
  const bool may_be_infinite =
      traits(plan.operation.to).has_infinity && given.number.kind == Number::Kind::infinite;
  if (beyond != 0 && !may_be_infinite)
    refuse(label("nan", given) + fmt::format(" is beyond the range of {}", traits(plan.operation.to).name));
  plan.operation.cast->nan = element;
}

/// Makes the bounds and what replaces NaN working elements. Error{usage} for a min above, or a max below, all
/// elements of the output's dtype, and for a number that replaces NaN beyond its range.
void convert_cast(const Request& request, Plan& plan) {
  Operation& operation = plan.operation;
  if (!operation.cast) return;
  const auto working = [&](ElementBits element) {
    return working_element(plan.bound_dtype, element, operation.dtype);
  };
  if (operation.arithmetic == Arithmetic::integer) {
    plan_wide_bounds(request, plan);
  } else if (plan.bound_dtype != operation.dtype) {
    operation.lo = working(operation.lo);
    operation.hi = working(operation.hi);
    if (operation.nan) operation.nan = working(*operation.nan);
    // Without a bound, results beyond a dtype that has no infinity are refused, not clipped to its limit.
    if (operation.arithmetic != Arithmetic::none && !request.min)
      operation.lo = lowest_element(operation.dtype);
    if (operation.arithmetic != Arithmetic::none && !request.max)
      operation.hi = highest_element(operation.dtype);
  }
  if (is_given(request.min) && beyond_output(operation, *request.min, working(plan.min)) > 0)
    refuse_out_of_range("min", *request.min, operation);
  if (is_given(request.max) && beyond_output(operation, *request.max, working(plan.max)) < 0)
    refuse_out_of_range("max", *request.max, operation);
  plan_nan(request.nan, plan);
  plan.refuse_nan |= is_floating(operation.from) && !is_floating(plan.output.dtype) && !plan.replaces_nan();
}

void identify_cast(const Plan& plan, std::string& text) {
  const Operation& operation = plan.operation;
  if (!operation.cast) return;
  const Cast& cast = *operation.cast;
  const auto integer = [](const Wide& wide) {
    return fmt::format("{}{:x}", wide.negative ? "-" : "", wide.magnitude);
  };
  const auto element = [](std::optional<ElementBits> bits) {
    return bits ? fmt::format("{:x}", *bits) : std::string("bound");
  };
  const auto wide = [&](const WideBound& bound) {
    const bool is_integer = bound.ceil == bound.floor && bound.ceil.magnitude != ~UInt128{0};
    return integer(bound.ceil) + (is_integer || !bound.result ? "" : ":" + element(bound.result));
  };
  text += fmt::format(
      " to={} {} zero={} range={:x}..{:x} wide={}..{} below={} above={}{}{}", traits(operation.to).name,
      cast.round ? kRoundWords.at(static_cast<std::size_t>(*cast.round)) : "", text_of(cast.zero_point),
      cast.lowest, cast.highest, wide(cast.wide.lo), wide(cast.wide.hi), element(cast.below),
      element(cast.above), cast.nan ? " nan=" + element(cast.nan) : "", operation.divides ? " divides" : "");
}

void describe_cast(const Plan& plan, std::string& text) {
  const Operation& operation = plan.operation;
  if (!operation.cast) return;
  const Cast& cast = *operation.cast;
  for (const auto& [side, by] : {std::pair("below min", cast.below), std::pair("above max", cast.above)})
    if (by) text += fmt::format(", {} becomes {}", side, element_text(operation.to, *by));
  if (!operation.normalization)
    describe_rounding(cast, is_floating(operation.dtype), operation.from, operation.to, text);
}

}  // namespace

bool has_arithmetic_bounds(const Request& request) {
  return request.to || request.round || normalizes(request);
}

ElementBits integer_element(std::string_view field, const Given& given, DType dtype,
                            Operation::Integer zero_point) {
  std::optional<ElementBits> element;
  if (is_integer(given.number))
    element = with_type(dtype, [&]<class T>() -> std::optional<ElementBits> {
      if constexpr (std::is_integral_v<T>) {
        const Int128 value = to_integer(given.number, Rounding::toward_zero) + zero_point.value();
        if (value >= std::numeric_limits<T>::lowest() && value <= std::numeric_limits<T>::max())
          return to_bits(static_cast<T>(value));
      }
      return std::nullopt;
    });
  if (element) return *element;
  const std::string plus = zero_point.magnitude == 0 ? "" : " plus zero point " + text_of(zero_point);
  refuse(label(field, given) + plus +
         fmt::format(" is not an integer from {} to {}, as {} needs it",
                     element_text(dtype, lowest_finite(dtype)), element_text(dtype, highest_finite(dtype)),
                     traits(dtype).name));
}

void choose_rounding(const Request& request, DType to, bool scales, Cast& cast) {
  if (request.zero_point) {
    static_cast<void>(integer_element("zero_point", *request.zero_point, to));
    cast.zero_point = Operation::Integer::of(to_integer(request.zero_point->number, Rounding::toward_zero));
  }
  cast.round = request.round;
  if (!is_floating(to) && !cast.round) cast.round = request.to || !scales ? Round::half_even : Round::trunc;
  cast.saturates = request.saturate || !is_floating(to);
}

void describe_rounding(const Cast& cast, bool of_floats, DType from, DType to, std::string& text) {
  if (cast.round && of_floats)
    text += fmt::format(", rounded {}", kRoundWords.at(static_cast<std::size_t>(*cast.round)));
  if (cast.zero_point.magnitude != 0) text += ", zero point " + text_of(cast.zero_point);
  if (to != from) text += fmt::format(", to {}", traits(to).name);
}

constexpr Step kCast{check_cast, choose_cast, convert_cast, identify_cast, describe_cast};

}  // namespace clipper
