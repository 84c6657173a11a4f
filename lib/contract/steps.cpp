#include "contract/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "contract/exact_bounds.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"

namespace clipper {
namespace {

[[noreturn]] void refuse_infinite(std::string_view field, const Parameter& given, DType dtype) {
  refuse_request(label(field, given) + fmt::format(" is not a finite {} number", traits(dtype).name));
}

// x * scale + bias.

/// A scale or a bias.
struct Factor {
  std::string_view field;
  Parameter given;

  [[nodiscard]] double rounded(DType dtype) const {
    return finite_factor(field, given, dtype, given.divides);
  }
};

/// The number as an integer, if int64 or uint64 holds it.
std::optional<DoubleDouble> as_integer(const Number& number) {
  if (!is_integer(number)) return std::nullopt;
  const Int128 value = to_integer(number, Rounding::toward_zero);
  if (value < std::numeric_limits<std::int64_t>::lowest() ||
      value > std::numeric_limits<std::uint64_t>::max())
    return std::nullopt;
  return DoubleDouble::of(value);
}

/// The given number; `otherwise` if none is given, or an array.
Parameter number_or(const std::optional<Parameter>& given, int otherwise) {
  return given && !given->array ? *given : Parameter(otherwise);
}

/// The factor as an integer. Elements of a float file are not integers, whatever their values.
std::optional<DoubleDouble> exact(const std::optional<Parameter>& given, const Factor& factor) {
  if (given && given->dtype && is_floating(*given->dtype)) return std::nullopt;
  return as_integer(factor.given.number);
}

bool is_fraction(const std::optional<Parameter>& factor) {
  return factor && !factor->array && (factor->divides || !is_integer(factor->number));
}

/// Whether stretch calculates with a bound that is beyond all integers of 64 bits: all elements are compared
/// with it, and no element equals it.
bool is_stretched_from_far(const Request& request, DType dtype) {
  const auto is_far = [=](const std::optional<Parameter>& bound) {
    if (bound && bound->array)
      return bound->array->layout().dtype != dtype && has_any_beyond(*bound->array, dtype);
    return bound && bound->number.kind == Number::Kind::finite && is_beyond(bound->number, dtype);
  };
  return is_long_integer(dtype) && user_of_bounds(request) != nullptr &&
         (is_far(request.min) || is_far(request.max));
}

void choose_arithmetic(const Request& request, Operation& operation) {
  check_factor_dtype("scale", request.scale, operation.dtype);
  check_factor_dtype("bias", request.bias, operation.dtype);
  if (!request.scale && !request.bias) {
    if (is_stretched_from_far(request, operation.dtype)) operation.arithmetic = Arithmetic::integer;
    return;
  }
  Factor scale{"scale", number_or(request.scale, 1)};
  Factor bias{"bias", number_or(request.bias, 0)};
  if (request.profile->scale_bias == Profile::ScaleBias::float32) {
    scale.given.number = scale.rounded(DType::float32);
    bias.given.number = bias.rounded(DType::float32);
  }

  const bool in_float32 = traits(operation.dtype).carrier == DType::float32;
  const DType rounded = in_float32 ? DType::float32 : DType::float64;
  operation.arithmetic = in_float32 ? Arithmetic::float32 : Arithmetic::float64;
  operation.scale = scale.rounded(rounded);
  operation.bias = bias.rounded(rounded);

  if (!is_long_integer(operation.dtype)) return;
  if (divides(request)) return;
  const auto exact_scale = exact(request.scale, scale);
  const auto exact_bias = exact(request.bias, bias);
  if (!exact_scale || !exact_bias) return;
  operation.arithmetic = Arithmetic::integer;
  operation.scale = *exact_scale;
  operation.bias = *exact_bias;
}

void choose_scaling(const Request& request, Plan& plan) {
  Operation& operation = plan.operation;
  choose_arithmetic(request, operation);
  const bool has_fractions = operation.arithmetic == Arithmetic::float64 && !is_floating(plan.input.dtype);
  plan.truncates_fractions = has_fractions && !request.to && !request.round &&
                             (is_fraction(request.scale) || is_fraction(request.bias));
}

/// The numbers have decided about the arithmetic.
void convert_scaling(const Request& /*request*/, Plan& /*plan*/) {}

void identify_scaling(const Plan& plan, std::string& text) {
  const Operation& operation = plan.operation;
  switch (operation.arithmetic) {
    case Arithmetic::none: text += " none"; return;
    case Arithmetic::float32:
    case Arithmetic::float64:
      text += fmt::format(" {}*{:016x}+{:016x}", operation.arithmetic == Arithmetic::float32 ? "f4" : "f8",
                          to_bits(operation.scale.head), to_bits(operation.bias.head));
      return;
    case Arithmetic::integer:
      text += fmt::format(" int*{}+{}", text_of(SignedInteger::of(operation.scale)),
                          text_of(SignedInteger::of(operation.bias)));
  }
}

void describe_scaling(const Plan& plan, std::string& text) {
  const Operation& operation = plan.operation;
  if (operation.arithmetic == Arithmetic::none) return;
  constexpr std::array kHow{"", "in float32", "in float64", "exactly"};
  text +=
      fmt::format(", x {} {} + {} {}", operation.divides ? '/' : '*', text_of(plan, ParameterId::scale),
                  text_of(plan, ParameterId::bias), kHow.at(static_cast<std::size_t>(operation.arithmetic)));
}

// Clip to min and max.

void choose_clip(const Request& request, Plan& plan) {
  plan.bound_dtype = plan.input.dtype;
  plan.arrays = plan_arrays(request, plan.input);
}

/// The greatest element is 1, True.
void plan_flags(Plan& plan) {
  plan.operation.hi = std::min<ElementBits>(plan.operation.hi, 1);
  plan.max = std::min<ElementBits>(plan.max, 1);
}

void convert_clip(const Request& request, Plan& plan) {
  const Profile& profile = *request.profile;
  Operation& operation = plan.operation;
  for (const Field* const field : fields::kBounds)
    if (const auto& bound = request.*field->number(); profile.family != "clipper" || (bound && bound->opaque))
      check_dtype(field->name, bound, plan.input.dtype, plan.bound_dtype);
  // plan_exact_bounds() converts bounds of integer arithmetic, which may exceed the tensor's dtype, and those
  // with which a later step calculates; plan_far_bounds() those of floats that are beyond their dtype.
  const bool is_wide =
      has_exact_bounds(plan) && (operation.arithmetic == Arithmetic::integer ||
                                 (operation.arithmetic == Arithmetic::none && operation.uses_bounds()));
  const auto number_in = [&](const std::optional<Parameter>& given) {
    return is_wide || (given && given->array) || is_far_bound(plan, given) ? std::nullopt : given;
  };
  const std::optional<Parameter> min = number_in(request.min);
  const std::optional<Parameter> max = number_in(request.max);
  const Bounds bounds =
      convert_bounds(profile, plan.bound_dtype, min, max,
                     request.min_above_max.value_or(profile.min_above_max), order_advice(operation));
  operation.lo = bounds.lo;
  operation.hi = bounds.hi;
  plan.min = bounds.min;
  plan.max = bounds.max;
  if (!has_exact_bounds(plan)) {
    plan.cut = cut_bounds(profile, plan.bound_dtype, min, max);
    for (const ParameterId bound : {ParameterId::min, ParameterId::max})
      if (const ArrayParameter* const row = plan.array(bound);
          row != nullptr && !is_floating(plan.input.dtype) && has_any_fraction(*row->array))
        plan.cut.push_back({name_of(bound), row->text, 0});
  }
  if (plan.arrays && !operation.cast && !is_floating(plan.input.dtype)) {  // for comparisons with the arrays
    if (is_number(min)) plan.exact_min = min->number;
    if (is_number(max)) plan.exact_max = max->number;
  }
  plan.takes_other_bounds =
      profile.arrays == Profile::Arrays::broadcast && !request.min_above_max && !operation.cast;
  if (plan.input.meaning.kind == LogicalType::Kind::boolean) plan_flags(plan);
}

void identify_clip(const Plan& plan, std::string& text) {
  text += fmt::format(" lo={:x} hi={:x}", plan.operation.lo, plan.operation.hi);
}

void describe_clip(const Plan& plan, std::string& text) {
  for (const ParameterId bound : {ParameterId::min, ParameterId::max})
    text += fmt::format(", {} {}", name_of(bound), text_of(plan, bound));
}

// NaN and zeros.

void choose_specials(const Request& request, Plan& plan) {
  plan.refuse_nan = request.nan.action == OnNan::error;
}

/// The element that replaces NaN. Error{usage} for a finite number that rounds to an infinity, and for a
/// number beyond the elements of a dtype without infinity.
ElementBits replacement(const Parameter& given, DType dtype) {
  const ElementBits element = nearest_element(dtype, given.number);
  const Number::Kind kind = number_of(dtype, element).kind;
  if (kind == Number::Kind::nan || (kind != given.number.kind)) refuse_infinite("nan", given, dtype);
  return element;
}

bool has_nan(const TensorLayout& layout) {
  return is_floating(layout.dtype) || layout.meaning.is_time();
}

/// The bound that replaces NaN; nothing if the tensor has none.
std::optional<ElementBits> bound_for_nan(const Request& request, const Plan& plan) {
  const bool is_min = request.action_on_nan() == OnNan::min;
  const std::optional<Parameter>& bound = is_min ? request.min : request.max;
  const std::string_view field = is_min ? "min" : "max";
  // A NaN that the profile ignores is no bound, either.
  const bool is_ignored = bound && !bound->array && bound->number.kind == Number::Kind::nan &&
                          request.profile->nan_bound == Profile::NanBound::ignored;
  if (!bound || is_ignored)
    refuse_request(parameter("nan") + fmt::format(" {} requires ", field) + parameter(field));
  if (!has_nan(plan.input)) return std::nullopt;
  if (bound->array) return 0;  // each element has its own: see Broadcast::nan
  return is_min ? plan.min : plan.max;
}

/// The element of the operation that replaces NaN; nothing if the tensor has no NaN, or Cast::nan
/// replaces it.
std::optional<ElementBits> nan_replacement(const Request& request, const Plan& plan) {
  const DType dtype = plan.bound_dtype;
  switch (request.action_on_nan()) {
    case OnNan::by_profile:
    case OnNan::keep:
    case OnNan::error: return std::nullopt;
    case OnNan::min:
    case OnNan::max: return bound_for_nan(request, plan);
    case OnNan::canonical: return is_floating(dtype) ? std::optional(canonical_nan(dtype)) : std::nullopt;
    case OnNan::replace: break;
  }
  if (!request.nan.number) refuse_request(parameter("nan") + ": the number that replaces NaN is missing");
  const Parameter& given = *request.nan.number;
  if (given.number.kind == Number::Kind::nan)
    refuse_request(label("nan", given) + ": NaN cannot replace NaN");
  if (!is_floating(plan.input.dtype) || plan.operation.cast) return std::nullopt;
  return replacement(given, dtype);
}

/// What zeros and NaN do as bounds.
void plan_edges(const Profile& profile, Plan& plan) {
  Operation& operation = plan.operation;
  if (!is_floating(operation.dtype)) return;
  operation.zero_tie = profile.zero_tie;
  const auto is_nan = [&](ElementBits bound) {
    return number_of(operation.dtype, bound).kind == Number::Kind::nan;
  };
  // Of two NaN, the bound that the system applies first decides.
  if (profile.min_above_max == MinAboveMax::min && is_nan(operation.hi) && is_nan(operation.lo))
    operation.lo = operation.hi;
  operation.poisons = profile.nan_bound == Profile::NanBound::poisons &&
                      (plan.arrays || is_nan(operation.lo) || is_nan(operation.hi));
}

/// NaT, the lowest element, is none of the elements that are clipped, and no bound.
void plan_ticks(const Request& request, Plan& plan) {
  if (plan.min == to_bits(kNaT)) ++plan.min;
  plan.operation.has_nat = true;
  if (request.action_on_nan() == OnNan::replace)
    plan.operation.nan =
        convert_numbers(plan.arrays, ParameterId::nan, *request.nan.number, [](const Parameter& given) {
          return to_bits(static_cast<std::int64_t>(to_integer(given.number, Rounding::toward_zero)));
        });
}

void convert_specials(const Request& request, Plan& plan) {
  plan_edges(*request.profile, plan);
  plan.operation.nan = nan_replacement(request, plan);
  if (plan.input.meaning.is_time()) plan_ticks(request, plan);
}

void identify_specials(const Plan& plan, std::string& text) {
  const Operation& operation = plan.operation;
  constexpr std::array kTies{"", " upper", " ordered"};
  text += fmt::format(" nan={}{}{}",
                      operation.nan     ? fmt::format("{:x}", *operation.nan)
                      : plan.refuse_nan ? "error"
                                        : "keep",
                      kTies.at(static_cast<std::size_t>(operation.zero_tie)),
                      operation.poisons ? " poisons" : "");
}

void describe_specials(const Plan& plan, std::string& text) {
  if (plan.replaces_nan()) text += ", NaN becomes " + replacement_text(plan);
}

constexpr Step kScaling{choose_scaling, convert_scaling, identify_scaling, describe_scaling};
constexpr Step kClip{choose_clip, convert_clip, identify_clip, describe_clip};
constexpr Step kSpecials{choose_specials, convert_specials, identify_specials, describe_specials};

}  // namespace

std::span<const Step* const> steps() noexcept {
  static constexpr std::array kSteps{&kNodata, &kScaling, &kClip, &kSpecials, &kCast, &kNormalization};
  return kSteps;
}

double finite_factor(std::string_view field, const Parameter& given, DType dtype, bool divides) {
  const double value = dtype == DType::float32 ? static_cast<double>(round_to<float>(given.number))
                                               : round_to<double>(given.number);
  if (divides && value == 0) refuse_request(label(field, given) + ": the divisor must not be 0");
  if (!std::isfinite(value)) refuse_infinite(field, given, dtype);
  return value;
}

void check_factor_dtype(std::string_view field, const std::optional<Parameter>& given, DType dtype) {
  if (!given || !given->dtype || takes_factor(dtype, *given->dtype)) return;
  refuse_request(
      label(field, *given) +
      fmt::format(" is {}; it must be float32 or float64{}", traits(*given->dtype).name,
                  given->opaque ? "" : ", or have at most 2 MiB of numbers that float64 has exactly"));
}

std::string found_text(const ParameterArray& array, std::size_t shown) {
  if (!array.is_found()) return "";
  const std::uint64_t count = array.layout().count;
  if (count == 1) return element_text(array.layout().dtype, found_element(array, 0));
  std::string text = "[";
  for (std::size_t i = 0; i < std::min<std::uint64_t>(count, shown); ++i)
    text += (i == 0 ? "" : ", ") +
            (array.is_lost(i) ? "none" : element_text(array.layout().dtype, found_element(array, i)));
  return text + (count > shown ? ", ...]" : "]");
}

std::optional<PlannedNumber> planned_number(const Plan& plan, ParameterId parameter) {
  const Operation& operation = plan.operation;
  const auto& step = operation.normalization;
  const auto element = [](DType dtype, const std::optional<ElementBits>& bits) {
    return bits ? std::optional(PlannedNumber{number_of(dtype, *bits), dtype}) : std::nullopt;
  };
  switch (parameter) {
    case ParameterId::min:
    case ParameterId::max: {
      const bool is_min = parameter == ParameterId::min;
      if (const std::optional<Number>& exact = is_min ? plan.exact_min : plan.exact_max) return {{*exact}};
      return element(plan.bound_dtype, is_min ? plan.min : plan.max);
    }
    case ParameterId::scale:
    case ParameterId::bias: {
      const bool is_scale = parameter == ParameterId::scale;
      const DoubleDouble& number = is_scale ? operation.scale : operation.bias;
      switch (operation.arithmetic) {
        case Arithmetic::none: return std::nullopt;
        case Arithmetic::float32: return {{number.head, DType::float32}};
        case Arithmetic::float64: return {{number.head, DType::float64}};
        case Arithmetic::integer: return {{number_of(SignedInteger::of(number))}};
      }
      __builtin_unreachable();
    }
    case ParameterId::subtract:
    case ParameterId::divide:
      if (!step || step->stretches) return std::nullopt;
      if (parameter == ParameterId::divide) return {{step->b.head, DType::float64}};
      if (step->a.rest == 0) return {{step->a.head, DType::float64}};
      return {{sum(step->a.head, step->a.rest),
               is_long_integer(plan.input.dtype) ? std::nullopt : std::optional(DType::float64)}};
    case ParameterId::max_norm:
      return step && plan.norms ? std::optional(PlannedNumber{step->factor, DType::float64}) : std::nullopt;
    case ParameterId::replace_below:  // without a cast, a figure that the tensor lacks
      return operation.cast ? element(operation.to, operation.cast->below) : std::nullopt;
    case ParameterId::replace_above:
      return operation.cast ? element(operation.to, operation.cast->above) : std::nullopt;
    case ParameterId::nan:
      return operation.cast ? element(operation.to, operation.cast->nan)
                            : element(operation.dtype, operation.nan);
    case ParameterId::nodata_to: return element(plan.output.dtype, plan.nodata->to);
  }
  __builtin_unreachable();
}

std::optional<std::string> number_text(const Plan& plan, ParameterId parameter) {
  const bool is_factor = parameter == ParameterId::subtract || parameter == ParameterId::divide;
  if (is_factor && only_scales(plan)) return std::nullopt;
  const bool is_bound = parameter == ParameterId::min || parameter == ParameterId::max;
  if (is_bound) return bound_text(plan, parameter);
  if (parameter == ParameterId::nan) return replacement_text(plan);
  const std::optional<PlannedNumber> planned = planned_number(plan, parameter);
  if (!planned) return std::nullopt;
  const auto& [number, dtype] = *planned;
  const double magnitude = std::fabs(round_to<double>(number));
  const bool is_long = parameter == ParameterId::subtract && magnitude >= kIntegersEnd && magnitude <= 0x1p64;
  return dtype && is_floating(*dtype) && !is_long ? element_text(*dtype, nearest_element(*dtype, number))
                                                  : decimal_text(number);
}

std::string text_of(const Plan& plan, ParameterId parameter) {
  const ArrayParameter* const row = plan.array(parameter);
  return row == nullptr ? number_text(plan, parameter).value_or("") : text_of(*row);
}

std::string text_of(const ArrayParameter& row) {
  const std::string found = found_text(row.given ? *row.given : *row.array);
  return fmt::format("{} {}{}{}", row.text, shape_text(row.array->layout().shape), found.empty() ? "" : " ",
                     found);
}

Number number_of(const SignedInteger& integer) {
  Number number = integer.magnitude;
  number.negative = integer.negative;
  return number;
}

std::string text_of(const SignedInteger& integer) {
  return decimal_text(number_of(integer));
}

std::string bound_text(const Plan& plan, ParameterId bound) {
  const bool is_min = bound == ParameterId::min;
  if (const std::optional<Number>& exact = is_min ? plan.exact_min : plan.exact_max;
      exact && plan.operation.cast)
    return decimal_text(*exact);
  if (plan.operation.cast && plan.operation.arithmetic == Arithmetic::integer) return is_min ? "-inf" : "inf";
  const ElementBits element = is_min ? plan.min : plan.max;
  if (is_floating(plan.bound_dtype)) return bound_text(plan.input.dtype, plan.bound_dtype, element);
  return element_text(plan.bound_dtype, plan.input.meaning, element);
}

std::string replacement_text(const Plan& plan) {
  if (plan.arrays && plan.arrays->nan && plan.arrays->find(*plan.arrays->nan) != nullptr)
    return std::string(name_of(*plan.arrays->nan));
  if (plan.array(ParameterId::nan) != nullptr) return text_of(plan, ParameterId::nan);
  if (const auto& cast = plan.operation.cast; cast && cast->nan)
    return element_text(plan.operation.to, *cast->nan);
  if (is_floating(plan.operation.dtype) && *plan.operation.nan == canonical_nan(plan.operation.dtype))
    return "the canonical NaN";
  return element_text(plan.operation.dtype, plan.input.meaning, *plan.operation.nan);
}

}  // namespace clipper
