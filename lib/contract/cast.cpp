#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "contract/arrays.hpp"
#include "contract/bounds.hpp"
#include "contract/exact_bounds.hpp"
#include "contract/fields.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"

/// The first step, of elements that are no data and those outside of a mask, and the cast.
namespace clipper {
namespace {

void choose_nodata(const Request& /*request*/, Plan& /*plan*/) {}

/// A number as it is looked for: rounded to a float, unless that is infinite.
Number looked_for(const Parameter& given, DType dtype) {
  if (!is_floating(dtype) || given.number.kind != Number::Kind::finite) return given.number;
  const Number nearest = number_of(dtype, nearest_element(dtype, given.number));
  return nearest.kind == Number::Kind::finite ? nearest : given.number;
}

/// What nodata elements become. Error{usage} for a number that the dtype does not have.
ElementBits nodata_result(std::string_view field, const Parameter& given, DType dtype) {
  if (!is_floating(dtype)) return integer_element(field, given, dtype);
  const ElementBits element = nearest_element(dtype, given.number);
  if (number_of(dtype, element).kind != given.number.kind)
    refuse_request(label(field, given) + fmt::format(" cannot become {}", traits(dtype).name));
  return element;
}

void plan_mask(const Request& request, Plan& plan) {
  const auto result = [&](const Parameter& given) {
    return nodata_result("mask_to", given, plan.output.dtype);
  };
  const Parameter& to = *request.mask_to;
  plan.mask = {*request.mask};
  if (!to.array) {
    plan.mask->to = result(to);
    return;
  }
  check_shape("mask_to", to, plan.input.shape);
  Broadcast& each = plan.mask->each.emplace();
  each.arrays.push_back({ParameterId::min, to.text, with_elements(to, DType::uint64, result), {}, to.array});
  const auto is_found = [](const Parameter&) { return ElementBits{1}; };
  each.arrays.push_back({ParameterId::max, to.text, with_elements(to, DType::uint8, is_found), {}});
  lay_out(each, plan.input.shape, plan.input.fortran_order);
}

void convert_nodata(const Request& request, Plan& plan) {
  if (request.mask_to) {
    check_shape("mask", *request.mask, plan.input.shape);
    plan_mask(request, plan);
  }
  if (request.nodata.empty()) return;
  const DType from = plan.input.dtype;
  const DType to = plan.output.dtype;
  NodataPlan& nodata = plan.nodata.emplace();
  nodata.read = nodata_of(request, from);
  nodata.written.dtype = to;
  for (const Parameter& given : request.nodata) {
    nodata.text += (nodata.text.empty() ? "" : ", ") + given.text;
    Nodata found{from};
    if (request.nodata_to || !found.add(looked_for(given, from)) ||
        nodata.written.add(looked_for(given, from)))
      continue;
    refuse_request(label("nodata", given) +
                   fmt::format(" cannot become {}; what nodata elements become, says ", traits(to).name) +
                   parameter("nodata_to"));
  }
  if (request.nodata_to) {
    nodata.to =
        convert_numbers(plan.arrays, ParameterId::nodata_to, *request.nodata_to,
                        [&](const Parameter& given) { return nodata_result("nodata_to", given, to); });
    nodata.written.add(number_of(to, *nodata.to));
  } else if (from != to) {
    nodata.keeping = conversion(from, to);
  }
}

void identify_nodata(const Plan& plan, std::string& text) {
  if (const auto& mask = plan.mask)
    text += fmt::format(" mask={:x}:{:x}",
                        mask->mask.array ? mask->mask.array->fingerprint() : mask->mask.number != Number(0),
                        mask->each ? mask->each->arrays.front().array->fingerprint() : mask->to);
  if (!plan.has_nodata()) return;
  text += plan.nodata->read.nan ? " nodata=nan" : " nodata=";
  for (const ElementBits element : plan.nodata->read.elements) text += fmt::format(",{:x}", element);
  if (plan.nodata->to) text += fmt::format(":{:x}", *plan.nodata->to);
}

void describe_nodata(const Plan& plan, std::string& text) {
  if (plan.mask)
    text += fmt::format(", what is outside of {} becomes {}", plan.mask->mask.text,
                        plan.mask->each ? text_of(plan.mask->each->arrays.front())
                                        : element_text(plan.output.dtype, plan.mask->to));
  if (!plan.nodata) return;
  text += ", nodata " + plan.nodata->text;
  if (plan.nodata->to) text += " becomes " + text_of(plan, ParameterId::nodata_to);
}

}  // namespace

constexpr Step kNodata{choose_nodata, convert_nodata, identify_nodata, describe_nodata};

Nodata nodata_of(const Request& request, DType dtype) {
  Nodata nodata{dtype};
  for (const Parameter& given : request.nodata) {
    check_number(*field_named("nodata"), given);
    nodata.add(looked_for(given, dtype));
  }
  std::ranges::sort(nodata.elements);  // whatever the order in which they are given
  nodata.elements.erase(std::unique(nodata.elements.begin(), nodata.elements.end()), nodata.elements.end());
  return nodata;
}

namespace {

/// The number as an element of a float dtype. Error{usage} if the dtype does not have it.
ElementBits exact_float(std::string_view field, const Parameter& given, DType dtype) {
  const ElementBits element = nearest_element(dtype, given.number);
  const Number nearest = number_of(dtype, element);
  if (given.number.kind == Number::Kind::nan || nearest == given.number) return element;
  if (nearest.kind == Number::Kind::nan)
    refuse_request(label(field, given) + fmt::format(" is beyond the range of {}", traits(dtype).name));
  refuse_request(label(field, given) + fmt::format(" is not a {} number; the nearest one is {}",
                                                   traits(dtype).name, decimal_text(nearest)));
}

/// The dtype in which elements are compared with bounds without arithmetic: float64 for those of int32 if a
/// stretch takes a bound beyond them.
DType compared_dtype(const Request& request, DType from) {
  const auto is_far = [=](const std::optional<Parameter>& bound) {
    if (bound && bound->array) return has_any_beyond(*bound->array, from);
    return bound && bound->number.kind == Number::Kind::finite && is_beyond(bound->number, from);
  };
  const bool stretches = user_of_bounds(request) != nullptr && from == DType::int32;
  return stretches && (is_far(request.min) || is_far(request.max)) ? DType::float64 : working_dtype(from);
}

/// Chooses the dtype in which the operation of a plan that converts works, and that of its bounds.
void choose_working_dtype(const Request& request, Plan& plan) {
  switch (plan.operation.arithmetic) {
    case Arithmetic::none: plan.operation.dtype = compared_dtype(request, plan.input.dtype); return;
    case Arithmetic::float32: plan.operation.dtype = DType::float32; break;
    case Arithmetic::float64: plan.operation.dtype = DType::float64; break;
    case Arithmetic::integer: return;
  }
  if (has_arithmetic_bounds(request, plan)) plan.bound_dtype = plan.operation.dtype;
}

ElementBits replacement(std::string_view field, const Parameter& given, const Operation& operation) {
  const Cast& cast = *operation.cast;
  if (!is_floating(operation.to)) return integer_element(field, given, operation.to, cast.zero_point);
  const ElementBits element = exact_float(field, given, operation.to);
  if (given.number.kind == Number::Kind::infinite) return result_of(operation, given.number).element;
  return cast.round ? rounded_element(operation.to, element, *cast.round) : element;
}

std::optional<ElementBits> replacement(ParameterId parameter, const Request& request, Plan& plan) {
  const std::optional<Parameter>& given = given_for(request, parameter);
  if (!given) return std::nullopt;
  return convert_numbers(plan.arrays, parameter, *given, [&](const Parameter& number) {
    return replacement(name_of(parameter), number, plan.operation);
  });
}

/// Error{usage} for a min above, or a max below, all elements of the output's dtype.
[[noreturn]] void refuse_out_of_range(std::string_view field, const Parameter& bound,
                                      const Operation& operation) {
  const SignedInteger zero = operation.cast->zero_point;
  const std::string plus = zero.magnitude == 0 ? "" : " plus zero point " + text_of(zero);
  refuse_request(label(field, bound) + (plus + beyond_text(operation.to, field == "min")));
}

/// 1: above all elements of the output; -1: below; 0 also without a number. An infinite bound is within a
/// dtype that has infinities.
int beyond_output(const Plan& plan, const std::optional<Parameter>& bound, ElementBits element) {
  const Operation& operation = plan.operation;
  if (!is_number(bound)) return 0;
  if (traits(operation.to).has_infinity && bound->number.kind == Number::Kind::infinite) return 0;
  if (!is_floating(operation.from) || is_far_bound(plan, bound))
    return result_of(operation, bound->number).beyond;
  return beyond_range(operation, element);
}

bool converts_flags(const Request& request, const Plan& plan) {
  return request.to && plan.input.meaning.kind == LogicalType::Kind::boolean;
}

/// Whether the tensor needs more than a clip.
bool needs_cast(const Request& request, const Plan& plan) {
  const DType from = plan.input.dtype;
  const DType to = request.to.value_or(from);
  const bool scales = plan.operation.arithmetic != Arithmetic::none;
  if (normalizes(request, plan)) return true;
  // A fraction that the profile refuses is left to the conversion of bounds, which says so.
  const bool has_fractions = !is_floating(from) && request.profile->inexact != Profile::Inexact::error &&
                             (has_fraction(request.min) || has_fraction(request.max));
  const bool rounds = is_floating(from) || plan.operation.arithmetic == Arithmetic::float64;
  const auto is_other = [=](const std::optional<Parameter>& bound) {
    return bound && bound->array && bound->array->layout().dtype != from;
  };
  if (scales && !is_floating(from) && (is_other(request.min) || is_other(request.max))) return true;
  return to != from || !has_kernels(from) || converts_flags(request, plan) || (request.to && scales) ||
         (request.round && rounds) || (has_fractions && (request.to || request.round || scales)) ||
         (request.max_norm && scales && is_floating(from)) || request.replace_below ||
         request.replace_above || (is_floating(from) && request.nan.number && request.nan.number->array) ||
         divides(request) || request.zero_point || (request.saturate && is_floating(to));
}

/// Decides whether the plan converts. Sets the working dtype, that of bounds, and the output's layout.
/// Error{usage} for a zero point or a replacement that the output's dtype does not have.
void choose_cast(const Request& request, Plan& plan) {
  Operation& operation = plan.operation;
  const DType from = plan.input.dtype;
  const DType to = request.to.value_or(from);
  const bool scales = operation.arithmetic != Arithmetic::none;
  if (!needs_cast(request, plan)) return;

  const bool is_normalized = normalizes(request, plan);
  operation.to = is_normalized ? DType::float64 : to;
  Cast& cast = operation.cast.emplace();
  plan.output.meaning = {};
  // Elements of one byte have no byte order, and numpy drops that of dtypes that it lacks: little-endian.
  if ((traits(from).size == 1 || is_foreign(to)) && to != from) plan.output.order = ByteOrder::little;
  plan.output.dtype = to;
  plan.output.stored_as = to == from ? plan.input.stored_as : "";
  operation.divides = divides(request);
  choose_working_dtype(request, plan);
  if (!is_normalized) choose_rounding(request, to, scales, cast);
  cast.below = replacement(ParameterId::replace_below, request, plan);
  cast.above = replacement(ParameterId::replace_above, request, plan);
  plan.refuse_beyond = !request.saturate && is_floating(to) && !traits(to).has_infinity &&
                       (to != from || scales || request.round || is_normalized);
  set_limits(operation);
}

/// Error{usage} for a number that replaces NaN and that the output's dtype does not have.
void plan_nan(const OnNan& nan, Plan& plan) {
  if (nan.action != OnNan::replace || !is_floating(plan.input.dtype)) return;
  const DType to = plan.operation.to;
  const auto convert = [&](const Parameter& given) {
    const auto [element, beyond] = result_of(plan.operation, given.number);
    const bool may_be_infinite = traits(to).has_infinity && given.number.kind == Number::Kind::infinite;
    if (beyond != 0 && !may_be_infinite)
      refuse_request(label("nan", given) + fmt::format(" is beyond the range of {}", traits(to).name));
    return element;
  };
  plan.operation.cast->nan = convert_numbers(plan.arrays, ParameterId::nan, *nan.number, convert);
}

/// Sets what a bound that is not in the working dtype becomes in place of NaN.
void plan_far_nan(const Request& request, Plan& plan) {
  Operation& operation = plan.operation;
  const OnNan::Action action = request.action_on_nan();
  const std::optional<Number>& of_nan = action == OnNan::min ? plan.exact_min : plan.exact_max;
  if ((action == OnNan::min || action == OnNan::max) && of_nan && operation.nan) {
    operation.nan = action == OnNan::min ? operation.lo : operation.hi;
    operation.cast->nan = bound_result(operation, *of_nan, *operation.nan);
  }
}

/// Makes the bounds and what replaces NaN working elements. Error{usage} for a min above, or a max below, all
/// elements of the output's dtype, and for a number that replaces NaN beyond its range.
void convert_cast(const Request& request, Plan& plan) {
  Operation& operation = plan.operation;
  if (!operation.cast) return;
  const auto working = [&](ElementBits element) {
    return working_element(plan.bound_dtype, element, operation.dtype);
  };
  if (operation.arithmetic != Arithmetic::integer && plan.bound_dtype != operation.dtype) {
    operation.lo = working(operation.lo);
    operation.hi = working(operation.hi);
    if (operation.nan) operation.nan = working(*operation.nan);
    // Without a bound, results beyond a dtype that has no infinity are refused, not clipped to its limit.
    if (operation.arithmetic != Arithmetic::none && !request.min)
      operation.lo = lowest_element(operation.dtype);
    if (operation.arithmetic != Arithmetic::none && !request.max)
      operation.hi = highest_element(operation.dtype);
  }
  if (has_exact_bounds(plan)) {
    plan_exact_bounds(request, plan);
  } else {
    plan_far_bounds(request, plan);
    plan_far_nan(request, plan);
  }
  if (beyond_output(plan, request.min, working(plan.min)) > 0)
    refuse_out_of_range("min", *request.min, operation);
  if (beyond_output(plan, request.max, working(plan.max)) < 0)
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
  identify_rounding(cast, operation.to, text);
  text += fmt::format(" wide={}..{} below={} above={}{}{}{}{}", wide(cast.wide.lo), wide(cast.wide.hi),
                      element(cast.below), element(cast.above), cast.nan ? " nan=" + element(cast.nan) : "",
                      operation.divides ? " divides" : "", cast.min ? " min=" + element(cast.min) : "",
                      cast.max ? " max=" + element(cast.max) : "");
}

void describe_cast(const Plan& plan, std::string& text) {
  const Operation& operation = plan.operation;
  if (!operation.cast) return;
  const Cast& cast = *operation.cast;
  if (cast.below) text += ", below min becomes " + text_of(plan, ParameterId::replace_below);
  if (cast.above) text += ", above max becomes " + text_of(plan, ParameterId::replace_above);
  if (!operation.normalization)
    describe_rounding(cast, is_floating(operation.dtype), operation.from, operation.to, text);
}

}  // namespace

ElementBits integer_element(std::string_view field, const Parameter& given, DType dtype,
                            SignedInteger zero_point) {
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
  refuse_request(label(field, given) + plus +
                 fmt::format(" is not an integer from {} to {}, as {} needs it",
                             element_text(dtype, lowest_finite(dtype)),
                             element_text(dtype, highest_finite(dtype)), traits(dtype).name));
}

void choose_rounding(const Request& request, DType to, bool scales, Cast& cast) {
  if (request.zero_point) {
    static_cast<void>(integer_element("zero_point", *request.zero_point, to));
    cast.zero_point = SignedInteger::of(to_integer(request.zero_point->number, Rounding::toward_zero));
  }
  cast.round = request.round;
  if (!is_floating(to) && !cast.round) cast.round = request.to || !scales ? Round::half_even : Round::trunc;
  cast.saturates = request.saturate || !is_floating(to);
}

void identify_rounding(const Cast& cast, DType to, std::string& text) {
  text += fmt::format(" to={} {} zero={} range={:x}..{:x}{}", traits(to).name,
                      cast.round ? kRoundWords.at(static_cast<std::size_t>(*cast.round)) : "",
                      text_of(cast.zero_point), cast.lowest, cast.highest,
                      is_floating(to) && cast.saturates ? " saturates" : "");
}

void describe_rounding(const Cast& cast, bool of_floats, DType from, DType to, std::string& text) {
  if (cast.round && of_floats)
    text += fmt::format(", rounded {}", kRoundWords.at(static_cast<std::size_t>(*cast.round)));
  if (cast.zero_point.magnitude != 0) text += ", zero point " + text_of(cast.zero_point);
  if (to != from)
    text += fmt::format(", to {}{}", traits(to).name, is_floating(to) && cast.saturates ? ", saturated" : "");
}

constexpr Step kCast{choose_cast, convert_cast, identify_cast, describe_cast};

}  // namespace clipper
