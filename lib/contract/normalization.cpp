#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "contract/bounds.hpp"
#include "contract/exact_bounds.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"

namespace clipper {
namespace {

/// What the norm of all elements together multiplies by; nothing before it is found, and for several norms.
std::optional<double> factor_of_all(const Request& request) {
  if (!request.max_norm || !request.max_norm->array || request.max_norm->array->layout().count != 1)
    return std::nullopt;
  return from_bits<double>(found_element(*norm_factors(*request.max_norm), 0));
}

/// A number or an array that is subtracted, or by which is divided; the number is `otherwise` for an array.
double factor_of(std::string_view field, const std::optional<Parameter>& given, const Plan& plan,
                 double otherwise) {
  check_factor_dtype(field, given, plan.input.dtype);
  if (!given || given->array) return otherwise;
  return finite_factor(field, *given, DType::float64, field == "divide" && !given->dtype);
}

/// The divisor; that of divide_zero in place of a 0 in a file.
std::optional<Parameter> divisor_of(const Request& request) {
  std::optional<Parameter> divide = request.divide;
  if (divide && divide->dtype && !divide->array && divide->number == Number(0) && request.divide_zero)
    divide->number = request.divide_zero->number;
  return divide;
}

/// Error{input} for a 0 in a file, which is told after mistakes of the command line.
void expect_divisor(const Request& request, const Plan& plan) {
  const bool is_in_file = request.divide && request.divide->dtype && !request.divide->array;
  if (is_in_file && plan.operation.normalization->b.head == 0)
    throw Error(ErrorKind::input, label("divide", *request.divide) + ": the divisor must not be 0" +
                                      Term{"divide_zero", "", Says::advice});
}

/// An end of the stretch, which the output's dtype must have: an integer dtype with the zero point.
double end_of(const Parameter& given, const Normalization& normalization) {
  const DType to = normalization.to;
  if (!is_floating(to))
    static_cast<void>(integer_element("stretch", given, to, normalization.cast.zero_point));
  else if (number_of(to, nearest_element(to, given.number)).kind != Number::Kind::finite)
    refuse_request(label("stretch", given) + fmt::format(" is beyond the range of {}", traits(to).name));
  return finite_factor("stretch", given, DType::float64, false);
}

void expect_number_of_output(std::string_view field, const std::optional<Parameter>& replacement, DType to) {
  if (replacement && replacement->number.kind == Number::Kind::nan && !is_floating(to))
    refuse_request(label(field, *replacement) + fmt::format(" cannot become {}", traits(to).name));
}

void choose_normalization(const Request& request, Plan& plan) {
  if (request.max_norm) plan.norms = request.max_norm->array;
  if (!normalizes(request, plan)) return;
  const DType from = plan.input.dtype;
  expect_rounding(request, from);
  Normalization& normalization = plan.operation.normalization.emplace();
  normalization.to = plan.output.dtype;
  choose_rounding(request, normalization.to, true, normalization.cast);
  set_limits(normalization);
  expect_number_of_output("replace_below", request.replace_below, normalization.to);
  expect_number_of_output("replace_above", request.replace_above, normalization.to);
  normalization.stretches = user_of_bounds(request) != nullptr;
  normalization.factor = factor_of_all(request).value_or(1);
  if (!normalization.stretches) {
    normalization.a = factor_of("subtract", request.subtract, plan, 0);
    normalization.b = factor_of("divide", divisor_of(request), plan, 1);
    if (!is_floating(from) && is_number(request.subtract))
      normalization.a.rest = double_double(request.subtract->number).rest;
  }
  if (!request.stretch) return;
  normalization.low = end_of(request.stretch->first, normalization);
  normalization.high = end_of(request.stretch->second, normalization);
  if (!std::isfinite(normalization.high - normalization.low))
    refuse_request(parameter("stretch") + fmt::format(" {}:{}: the range is not a finite float64 number",
                                                      request.stretch->first.text,
                                                      request.stretch->second.text));
}

/// The bound with which elements are compared.
Number stretched_bound(const Plan& plan, ParameterId bound) {
  const bool is_min = bound == ParameterId::min;
  if (const std::optional<Number>& exact = is_min ? plan.exact_min : plan.exact_max) return *exact;
  return number_of(plan.operation.dtype, is_min ? plan.operation.lo : plan.operation.hi);
}

/// Error{usage} for a number that would not be stretched to a number within the ends.
void expect_within(std::string_view field, const std::optional<Parameter>& given,
                   const Normalization& stretch) {
  if (!given || given->number.kind == Number::Kind::nan) return;
  const auto number = round_to<double>(given->number);
  if (number < stretch.a.head || number > stretch.b.head)
    refuse_request(label(field, *given) + " must lie within " + parameter("min") + " and " +
                   parameter("max") + " to be stretched");
}

void convert_normalization(const Request& request, Plan& plan) {
  expect_divisor(request, plan);
  if (makes_nan(plan)) plan.refuse_nan |= !is_floating(plan.output.dtype);
  if (user_of_bounds(request) == nullptr) return;
  Normalization& stretch = *plan.operation.normalization;
  const std::array ends{&stretch.a, &stretch.b};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const Parameter& given = *(request.*fields::kBounds[i]->number());
    if (given.array) continue;
    const Number number = stretched_bound(plan, static_cast<ParameterId>(i));
    *ends[i] = is_floating(plan.input.dtype) ? round_to<double>(number) : double_double(number);
    if (!std::isfinite(ends[i]->head) || given.number.kind == Number::Kind::infinite)
      refuse_request(label(fields::kBounds[i]->name, given) + " is infinite; " + parameter("stretch") +
                     " requires finite bounds");
  }
  if (request.min->array || request.max->array) return;
  if (!std::isfinite(stretch.b.head - stretch.a.head))
    refuse_request(no_range(label("min", *request.min), label("max", *request.max)));
  expect_within("replace_below", request.replace_below, stretch);
  expect_within("replace_above", request.replace_above, stretch);
  if (request.nan.action == OnNan::replace && is_floating(plan.input.dtype))
    expect_within("nan", request.nan.number, stretch);
}

void identify_normalization(const Plan& plan, std::string& text) {
  if (!plan.operation.normalization) return;
  const Normalization& step = *plan.operation.normalization;
  text += fmt::format(" {} {:016x} {:016x}", step.stretches ? "stretch" : "normalize", to_bits(step.a.head),
                      to_bits(step.b.head));
  if ((is_long_integer(plan.input.dtype) && (step.stretches || step.a.head != 0)) || step.a.rest != 0 ||
      step.b.rest != 0)
    text += fmt::format(" exact {} {}", step.a.rest, step.b.rest);
  if (step.factor != 1) text += fmt::format(" factor={:016x}", to_bits(step.factor));
  if (step.stretches || step.maps())
    text += fmt::format(" {:016x}..{:016x}", to_bits(step.low), to_bits(step.high));
  if (plan.arrays && plan.arrays->zero_divisor)
    text += fmt::format(" zero_divisor={:016x}", to_bits(*plan.arrays->zero_divisor));
  identify_rounding(step.cast, step.to, text);
}

void describe_normalization(const Plan& plan, std::string& text) {
  if (plan.norms) text += ", norm " + found_text(*plan.norms);
  if (!plan.operation.normalization) return;
  const Normalization& step = *plan.operation.normalization;
  if (plan.norms) text += fmt::format(", y * {} in float64", text_of(plan, ParameterId::max_norm));
  if (step.stretches)
    text += fmt::format(", stretched to {}:{} in float64", step.low, step.high);
  else if (!only_scales(plan))
    text += fmt::format(", (y - {}) / {} in float64", text_of(plan, ParameterId::subtract),
                        text_of(plan, ParameterId::divide));
  if (step.maps()) text += fmt::format(", stretched to {}:{}", step.low, step.high);
  describe_rounding(step.cast, true, plan.operation.from, step.to, text);
}

}  // namespace

void expect_rounding(const Request& request, DType from, const Message& advice) {
  if (!normalizes(request) || is_floating(from) || request.to || request.round) return;
  refuse_request(parameter(name_of_normalization(request)) +
                 fmt::format(" makes fractions of {} elements; ", traits(from).name) + advice +
                 parameter("to") + " or " + parameter("round"));
}

bool only_scales(const Plan& plan) {
  const auto& step = plan.operation.normalization;
  return plan.norms && step && !step->stretches && step->a.head == 0 && step->b.head == 1 && !step->maps() &&
         plan.array(ParameterId::subtract) == nullptr && plan.array(ParameterId::divide) == nullptr;
}

Number subtracted(const Number& number, DType dtype) {
  const Number nearest = round_to<double>(number);
  return !is_floating(dtype) && (double_double(number).rest != 0 || nearest == number) ? number : nearest;
}

bool makes_nan(const Plan& plan) {
  const auto& step = plan.operation.normalization;
  return step && step->maps() && step->low == step->high;
}

bool has_typed_range(const Request& request) {
  return request.stretch_from && request.stretch_from->first.found.empty();
}

void set_range(Request& request, DType dtype) {
  if (!request.stretch) refuse_request(parameter("stretch_from") + " requires " + parameter("stretch"));
  const auto& [from, to] = *request.stretch_from;
  for (const std::string_view field : {"subtract", "divide"})
    if (field_named(field)->is_given(request))
      refuse_request(parameter("stretch_from") + " cannot be combined with " + parameter(field));
  for (const Parameter* const end : {&from, &to}) {
    if (is_figure(*end))
      refuse_request(label("stretch_from", *end) + ": a percentile needs all elements of the tensor");
    if (end->array) refuse_request(label("stretch_from", *end) + " must be one number, not an array");
    static_cast<void>(finite_factor("stretch_from", *end, DType::float64, false));
  }
  const Number a = subtracted(from.number, dtype);
  const Number b = subtracted(to.number, dtype);
  const Number range = difference(b, a);
  if (range == Number(0) || round_to<double>(range) == 0 || !std::isfinite(round_to<double>(range)))
    refuse_request(parameter("stretch_from") + fmt::format(" {}:{}: ", from.text, to.text) +
                   (range == Number(0) ? "both ends are equal" : "the range is not a finite float64 number"));
  request.subtract = Parameter(a, from.text);
  request.divide = Parameter(Number(round_to<double>(range)));
}

Message no_range(const Message& from, const Message& to) {
  return parameter("stretch") + ": from " + from + " to " + to + " is not a finite float64 number";
}

std::optional<Message> collapse_note(const Plan& plan) {
  if (!plan.operation.uses_bounds() || plan.array(ParameterId::min) != nullptr ||
      plan.array(ParameterId::max) != nullptr)
    return std::nullopt;
  if (planned_number(plan, ParameterId::min)->number != planned_number(plan, ParameterId::max)->number)
    return std::nullopt;
  return parameter("min") + " and " + parameter("max") +
         fmt::format(" are both {}: ", bound_text(plan, ParameterId::min)) + parameter("stretch") +
         fmt::format(" makes {} of every element", plan.operation.normalization->low);
}

std::string_view name_of_normalization(const Request& request) {
  return request.stretch ? "stretch" : request.subtract ? "subtract" : request.divide ? "divide" : "max_norm";
}

bool normalizes(const Request& request) {
  return (request.max_norm && factor_of_all(request) != 1.0) || request.subtract || request.divide ||
         request.stretch;
}

bool normalizes(const Request& request, const Plan& plan) {
  return normalizes(request) || (request.max_norm && has_far_bounds(request, plan.input.dtype));
}

constexpr Step kNormalization{choose_normalization, convert_normalization, identify_normalization,
                              describe_normalization};

}  // namespace clipper
