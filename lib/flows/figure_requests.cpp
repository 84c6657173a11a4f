#include "flows/figure_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "contract/bounds.hpp"
#include "contract/fields.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"
#include "flows/figure_parts.hpp"
#include "flows/figures.hpp"
#include "formats/parameter_file.hpp"
#include "statistics/percentiles.hpp"

namespace clipper {
namespace {

/// Those of the fields that are figures.
std::vector<Field> figures_of(const Request& request, std::span<const Field* const> fields) {
  std::vector<Field> figures;
  for (const Field* const field : fields)
    if (is_figure(request.*field->number())) figures.push_back(*field);
  return figures;
}

}  // namespace

std::vector<Field> percentiles_in(const Request& request) {
  return figures_of(request, fields::kBounds);
}

std::vector<Field> statistics_in(const Request& request) {
  return figures_of(request, fields::kFactors);
}

std::vector<Expression> expressions_of(const Request& request, const std::vector<Field>& figures) {
  std::vector<Expression> expressions;
  for (const Field& figure : figures) expressions.push_back((request.*figure.number())->expression);
  return expressions;
}

Request without_groups(Request request) {
  std::optional<Parameter> mask = request.mask_to ? std::move(request.mask) : std::nullopt;
  for (const Field* const field : fields::kGroupings) field->copy({}, request);
  request.mask = std::move(mask);
  return request;
}

void choose_norm(Request& request) {
  const Norm norm = request.norm.value_or(Norm::two);
  bool has_norm = false;
  const auto choose = [&](Parameter& given) {
    for (Expression::Term& term : given.expression.terms) {
      if (!term.figure || term.figure->percentage || term.figure->statistic != Statistic::norm) continue;
      has_norm = true;
      if (norm == Norm::one) term.figure->statistic = Statistic::norm_one;
      if (norm == Norm::infinity) term.figure->statistic = Statistic::absmax;
    }
  };
  for (const Field* const field : fields::kNumbers)
    if (std::optional<Parameter>& given = request.*field->number()) choose(*given);
  if (request.nan.number) choose(*request.nan.number);
  if (request.stretch_from) {
    choose(request.stretch_from->first);
    choose(request.stretch_from->second);
  }
  if (has_norm && !request.max_norm) request.norm.reset();
}

bool has_range_figure(const Request& request) {
  const auto& range = request.stretch_from;
  return range && (is_figure(range->first) || is_figure(range->second));
}

bool has_norm(const Request& request) {
  return request.max_norm && request.max_norm->found.empty();
}

bool is_rule(const Parameter& figure) {
  return is_figure(figure) && !figure.expression.is_percentile();
}

void refuse_figure(ErrorKind kind, const Request& request, const Field& figure, const Message& why) {
  throw Error(kind, label(figure.name, *(request.*figure.number())) + ": " + why);
}

void check_places(std::string_view field, const Parameter& figure) {
  for (const Expression::Term& term : figure.expression.terms)
    if (term.figure && term.figure->percentage && !is_percentile(*term.figure->percentage))
      throw Error(ErrorKind::usage, label(field, figure) + ": a percentile has max 16 decimal places");
}

void set_number(Parameter& given, const Number& number, const std::string& text) {
  given.expression = {};
  given.number = number;
  given.text += " (" + text + ")";
  given.found = text;
}

void set_statistic(std::optional<Parameter>& given, const std::optional<Number>& found) {
  if (found)
    set_number(*given, *found,
               is_integer(*found) ? decimal_text(*found) : fmt::format("{}", round_to<double>(*found)));
  else
    given.reset();
}

namespace {

bool needs_elements(const Request& request) {
  return !percentiles_in(request).empty() || !statistics_in(request).empty() || has_range_figure(request) ||
         has_norm(request) || !replacements_in(request).empty();
}

/// Error{usage} for a bound or an end of a range that the profile, or a step, does not take.
void check_rule(const Request& request, std::string_view field, const Parameter& figure) {
  const auto refuse = [&](const Message& why) { throw Error(ErrorKind::usage, label(field, figure) + why); };
  if (!is_rule(figure)) return;
  if (request.profile->family != "clipper")
    refuse(fmt::format(": is not supported by {}; only profile clipper has it", request.profile->system));
  if (field == "stretch_from") return;
  const bool is_bound = field == "min" || field == "max";
  if (is_bound && figure.expression.is_only(Statistic::min))
    refuse(" is no bound; that of the least element is 0%");
  if (is_bound && figure.expression.is_only(Statistic::max))
    refuse(" is no bound; that of the greatest element is 100%");
  for (const std::string_view step : {"scale", "bias"})
    if (field_named(step)->is_given(request)) refuse(": cannot be combined with " + parameter(step));
}

void check_figures(const Request& request) {
  const bool has_any = needs_elements(request) ||
                       (has_lists(request) && !request.pooled && (!request.mask || request.mask_to));
  if (const Field* const grouping = first_given(request, is_grouping)) {
    if (request.profile->family != "clipper")
      throw Error(ErrorKind::usage, parameter(grouping->name) +
                                        fmt::format(" is not supported by {}; only profile clipper has it",
                                                    request.profile->system));
    if (!has_any) expect_no_groups(request);
  }
  for (const Field* const field : fields::kNumbers)
    if (const auto& given = request.*field->number()) check_places(field->name, *given);
  if (request.stretch_from)
    for (const Parameter* const end : {&request.stretch_from->first, &request.stretch_from->second}) {
      check_rule(request, "stretch_from", *end);
      check_places("stretch_from", *end);
    }
  for (const auto& [name, given] : replacements_in(request)) {
    check_rule(request, name, **given);
    check_places(name, **given);
  }
  for (const Field& bound : percentiles_in(request)) {
    check_rule(request, bound.name, *(request.*bound.number()));
    const auto is_scaling = [&](const Field& field) {
      return field.stage == Field::Stage::before && field.is_given(request) &&
             ((request.*field.number())->array || !(request.*field.number())->list.empty());
    };
    if (const Field* const field = first_given(request, is_scaling))
      refuse_figure(
          ErrorKind::usage, request, bound,
          "a percentile cannot be combined with an array as " + Message(Term{field->name, field->name}));
  }
}

}  // namespace

bool has_figures(const Request& request) {
  return any_stage(request, [](const Request& stage) {
    return needs_elements(stage) || first_given(stage, is_grouping) != nullptr;
  });
}

bool are_pooled(const Request& request) {
  return is_pooled(request) &&
         !any_stage(request, [](const Request& stage) { return needs_elements(stage) && !stage.pooled; });
}

void expect_no_figures_of_stream(const Request& request) {
  for (std::size_t i = 0; i < request.then.size(); ++i)
    with_path(stage_name(i + 1), [&] { expect_no_figures_of_stream(request.then[i]); });
  std::vector<Field> figures = percentiles_in(request);
  std::ranges::copy(statistics_in(request), std::back_inserter(figures));
  for (const Field& figure : figures)
    refuse_figure(
        ErrorKind::usage, request, figure,
        Term{"input", "the input"} + Message(" must be a file, not a stream: it needs to be read twice"));
  const auto replacements = replacements_in(request);
  if (has_range_figure(request) || has_norm(request) || !replacements.empty())
    throw Error(ErrorKind::usage, parameter(has_norm(request)           ? "max_norm"
                                            : has_range_figure(request) ? "stretch_from"
                                                                        : replacements.front().first) +
                                      ": " + Term{"input", "the input"} +
                                      " must be a file, not a stream: it needs to be read twice");
}

namespace {

/// The plan of a stage; see plan_stages().
template <Plan (*kMake)(const Request&, const TensorLayout&)>
Plan plan_of_stage(const Request& stage, const TensorLayout& layout, const Plan& /*before*/,
                   const std::string& name) {
  return with_path(name, [&] { return kMake(stage, layout); });
}

}  // namespace

Plan plan_before_reading(const Request& given, const TensorLayout& layout) {
  if (!given.then.empty()) return plan_stages(given, layout, plan_of_stage<plan_before_reading>);
  check_figures(given);
  if (!has_figures(given)) return make_plan(given, layout);
  Request request = with_lists(given, layout);
  set_units(request, layout);
  choose_norm(request);
  request = without_groups(std::move(request));
  for (const Field& factor : statistics_in(request))
    set_number(*(request.*factor.number()), factor.number() == &Request::divide ? 1 : 0, "unknown");
  if (has_norm(request)) request.max_norm->found = "unknown";
  for (const auto& [name, replacement] : replacements_in(request)) set_number(**replacement, 1, "unknown");
  const std::vector<Field> bounds = percentiles_in(request);
  std::vector<Number> values;
  for (const Field& bound : bounds)
    values.push_back(widest(request, layout, bound.number() == &Request::min));
  for (std::size_t i = 0; i < bounds.size(); ++i)
    set_number(*(request.*bounds[i].number()), values[i], percentile_text(layout, {}, values[i]));
  if (has_range_figure(request)) {
    auto& [from, to] = *request.stretch_from;
    const Parameter& typed = is_figure(from) ? to : from;
    const bool is_zero = !is_figure(typed) && typed.number == Number(0);
    (is_figure(from) ? from : to) = is_zero ? 1 : 0;
    if (is_figure(to)) to = 1;
  }
  // Whether these numbers lie between the percentiles is not known.
  if (!bounds.empty() && user_of_bounds(request) != nullptr)
    for (std::optional<Parameter>* const number :
         {&request.nan.number, &request.replace_below, &request.replace_above})
      if (*number && (*number)->number.kind != Number::Kind::nan)
        (*number)->number = number_of(DType::float64, to_bits(round_to<double>(values.front())));
  Plan plan = make_plan_in_units(request, layout);
  static_cast<void>(axes_of(given, layout));
  if (given.mask) check_shape("mask", *given.mask, layout.shape);
  return plan;
}

Plan plan_of_part(const Request& request, const TensorLayout& layout) {
  if (!request.then.empty()) return plan_stages(request, layout, plan_of_stage<plan_of_part>);
  return (has_lists(request) && !needs_elements(request) ? plan_before_reading : make_plan)(request, layout);
}

namespace {

bool is_list(const std::optional<Parameter>& given) {
  return given && !given->list.empty();
}

/// Whether a file, or an array in memory, may have a number for each index along the only axis.
bool is_of_axis(const Request& request, const std::optional<Parameter>& given) {
  return given && given->array && !given->array->is_found() && given->shape.size() == 1 &&
         request.per_axis.size() == 1;
}

bool is_bound(const Field& field) {
  return field.grammar == Field::Grammar::bound;
}

/// The length of the only axis; `axis` becomes its place in the shape.
std::int64_t length_of_axis(const Request& request, const Field& field, const TensorLayout& layout,
                            std::size_t& axis) {
  const Parameter& given = *(request.*field.number());
  if (layout.meaning.kind != LogicalType::Kind::number)
    throw Error(ErrorKind::usage, label(field.name, given) +
                                      (": a list is of numbers, but the tensor is " + type_name(layout)));
  if (request.per_axis.size() != 1) refuse_percentile(field.name, given);
  axis = axes_of(request, layout).front();
  return layout.shape[axis];
}

void check_numbers(const Field& field, const Parameter& given) {
  for (const Number& number : given.list)
    if (!is_bound(field))
      static_cast<void>(finite_factor(field.name, Parameter(number, given.text), DType::float64,
                                      field.name == "divide" || given.divides));
    else if (number.kind == Number::Kind::nan)
      throw Error(ErrorKind::usage, label(field.name, given) + ": NaN cannot be a bound");
}

/// Whether the dtype has all the numbers.
bool has_all(DType dtype, const std::vector<Number>& list) {
  return std::ranges::all_of(list, [&](const Number& number) {
    if (!is_floating(dtype)) return has_integer(dtype, number);
    const Number nearest = number_of(dtype, nearest_element(dtype, number));
    return nearest == number && nearest.negative == number.negative;
  });
}

/// Whether elements are scaled in float64 or float32. Integers of 64 bits are scaled exactly by integers.
bool are_rounded(const Request& request, DType tensor) {
  if (!request.scale && !request.bias) return false;
  const auto is_whole = [](const std::optional<Parameter>& factor) {
    if (!factor) return true;
    if (factor->divides) return false;
    if (factor->dtype && is_floating(*factor->dtype)) return false;
    if (factor->array) return !is_floating(factor->array->layout().dtype);
    if (is_list(factor)) return has_all(DType::int64, factor->list) || has_all(DType::uint64, factor->list);
    return is_integer(factor->number);
  };
  return !is_long_integer(tensor) || !is_whole(request.scale) || !is_whole(request.bias);
}

DType dtype_of(const Field& field, const Parameter& given, DType tensor, bool has_signs) {
  const auto is_minus_zero = [](const Number& number) { return number.negative && number == Number(); };
  if (has_signs && !is_floating(tensor) && is_bound(field) && has_all(DType::float64, given.list) &&
      std::ranges::any_of(given.list, is_minus_zero))
    return DType::float64;
  const bool takes_long = !is_floating(tensor) && (is_bound(field) || is_long_integer(tensor));
  if ((is_bound(field) || !is_floating(tensor)) && has_all(tensor, given.list)) return tensor;
  for (const DType dtype : {DType::int64, DType::uint64})
    if (takes_long && has_all(dtype, given.list)) return dtype;
  const bool is_exact = !is_floating(tensor) && (is_bound(field) || field.name == "subtract");
  for (const Number& number : given.list)
    if (is_exact && is_integer(number) && Number(round_to<double>(number)) != number)
      throw Error(ErrorKind::usage, label(field.name, given) + ": no dtype has all of these numbers");
  return DType::float64;
}

/// `has_signs`: whether -0.0 differs from 0.
Parameter array_of(const Field& field, const Parameter& given, const TensorLayout& layout, std::size_t axis,
                   bool has_signs) {
  TensorLayout own;
  own.shape.assign(layout.shape.size() - axis, 1);
  own.shape.front() = std::ssize(given.list);
  own.count = given.list.size();
  own.dtype = dtype_of(field, given, layout.dtype, has_signs);
  std::vector<std::byte> elements;
  for (const Number& number : given.list)
    append(own.dtype,
           !is_floating(own.dtype)           ? integer_element(own.dtype, number)
           : has_signs || number != Number() ? nearest_element(own.dtype, number)
                                             : 0,
           elements);
  return parameter_found(given.text, own, std::move(elements));
}

}  // namespace

namespace {

/// Error{usage} if numpy would give the numbers to the last axis, which is another one.
void give_axis(const Request& request, const Field& field, const TensorLayout& layout, Parameter& given) {
  const std::size_t axis = axes_of(request, layout).front();
  const std::int64_t length = given.shape.front();
  if (axis + 1 == layout.shape.size() || layout.shape[axis] != length) return;
  std::vector<std::int64_t> shape(layout.shape.size() - axis, 1);
  shape.front() = length;
  if (layout.shape.back() == length)
    throw Error(
        ErrorKind::usage,
        label(field.name, given) +
            fmt::format(" has shape {}, which fits axis {} and the last axis of {}; it must have shape {} "
                        "or (1, {})",
                        shape_text(given.shape), request.per_axis.front(), shape_text(layout.shape),
                        shape_text(shape), length));
  given.shape = shape;
  given.array = with_shape(std::move(given.array), std::move(shape));
}

}  // namespace

bool has_lists(const Request& request) {
  return std::ranges::any_of(fields::kLists, [&](const Field* field) {
    return is_list(request.*field->number()) || is_of_axis(request, request.*field->number());
  });
}

Request with_lists(const Request& request, const TensorLayout& layout) {
  Request found = request;
  for (const Field* const field : fields::kLists) {
    std::optional<Parameter>& given = found.*field->number();
    if (is_of_axis(request, given)) give_axis(request, *field, layout, *given);
    if (!is_list(given)) continue;
    std::size_t axis = 0;
    const std::int64_t length = length_of_axis(request, *field, layout, axis);
    if (std::ssize(given->list) != length)
      throw Error(ErrorKind::input,
                  label(field->name, *given) +
                      fmt::format(" has {} numbers, but axis {} has {} of the shape {}", given->list.size(),
                                  request.per_axis.front(), length, shape_text(layout.shape)));
    check_numbers(*field, *given);
    const bool has_signs =
        !is_bound(*field) || is_floating(layout.dtype) || are_rounded(request, layout.dtype);
    const bool divides = given->divides;
    given = array_of(*field, *given, layout, axis, has_signs);
    given->divides = divides;
  }
  return found;
}

}  // namespace clipper
