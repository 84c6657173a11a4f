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
#include "flows/figures.hpp"
#include "formats/parameter_file.hpp"
#include "statistics/percentiles.hpp"

namespace clipper {
namespace {

/// Those of the fields that are figures.
FieldList figures_of(const Request& request, std::span<const Field* const> fields) {
  FieldList figures;
  for (const Field* const field : fields)
    if (is_figure(field->number_in(request))) figures.push_back(field);
  return figures;
}

}  // namespace

FieldList percentiles_in(const Request& request) {
  return figures_of(request, fields::kBounds);
}

FieldList statistics_in(const Request& request) {
  return figures_of(request, fields::kFactors);
}

FieldList replacements_in(const Request& request) {
  return figures_of(request, fields::kReplacements);
}

std::vector<Expression> expressions_of(const Request& request, const FieldList& figures) {
  std::vector<Expression> expressions;
  for (const Field* const figure : figures) expressions.push_back(figure->number_in(request)->expression);
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
  for_each_number(request, [&](const Field& /*field*/, Parameter& given) {
    for (Expression::Term& term : given.expression.terms) {
      if (!term.figure || term.figure->percentage || term.figure->statistic != Statistic::norm) continue;
      has_norm = true;
      if (norm == Norm::one) term.figure->statistic = Statistic::norm_one;
      if (norm == Norm::infinity) term.figure->statistic = Statistic::absmax;
    }
  });
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

void check_places(std::string_view field, const Parameter& figure) {
  for (const Expression::Term& term : figure.expression.terms)
    if (term.figure && term.figure->percentage && !is_percentile(*term.figure->percentage))
      refuse_request(label(field, figure) + ": a percentile has max 16 decimal places");
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

const Field* first_figure(const Request& request) {
  const Field* found = nullptr;
  for_each_number(request, [&](const Field& field, const Parameter& given) {
    const bool is_norm = field.parameter == ParameterId::max_norm && has_norm(request);
    if (found == nullptr && (is_norm || is_figure(given))) found = &field;
  });
  return found;
}

Message label_of_figure(const Field& figure, const Request& request) {
  return figure.is_range ? parameter(figure.name) : label(figure.name, *figure.number_in(request));
}

bool needs_elements(const Request& request) {
  return first_figure(request) != nullptr;
}

bool has_figures(const Request& request) {
  return any_stage(request, [](const Request& stage) {
    return needs_elements(stage) || first_given(stage, is_grouping) != nullptr;
  });
}

bool are_pooled(const Request& request) {
  return is_pooled(request) &&
         !any_stage(request, [](const Request& stage) { return needs_elements(stage) && !stage.pooled; });
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
    refuse_request(label(field.name, given) +
                   (": a list is of numbers, but the tensor is " + type_name(layout)));
  if (request.per_axis.size() != 1) check_number(field, given);
  axis = axes_of(request, layout).front();
  return layout.shape[axis];
}

void check_numbers(const Field& field, const Parameter& given) {
  for (const Number& number : given.list)
    if (!is_bound(field))
      static_cast<void>(finite_factor(field.name, Parameter(number, given.text), DType::float64,
                                      field.name == "divide" || given.divides));
    else if (number.kind == Number::Kind::nan)
      refuse_request(label(field.name, given) + ": NaN cannot be a bound");
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
      refuse_request(label(field.name, given) + ": no dtype has all of these numbers");
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

/// Error{usage} if numpy would give the numbers to the last axis, which is another one.
void give_axis(const Request& request, const Field& field, const TensorLayout& layout, Parameter& given) {
  const std::size_t axis = axes_of(request, layout).front();
  const std::int64_t length = given.shape.front();
  if (axis + 1 == layout.shape.size() || layout.shape[axis] != length) return;
  std::vector<std::int64_t> shape(layout.shape.size() - axis, 1);
  shape.front() = length;
  if (layout.shape.back() == length)
    refuse_request(
        label(field.name, given) +
        fmt::format(" has shape {}, which fits axis {} and the last axis of {}; it must have shape {} "
                    "or (1, {})",
                    shape_text(given.shape), request.per_axis.front(), shape_text(layout.shape),
                    shape_text(shape), length));
  given.shape = shape;
  given.array = with_shape(std::move(given.array), std::move(shape));
}

bool has_lists(const Request& request) {
  return std::ranges::any_of(fields::kLists, [&](const Field* field) {
    return is_list(request.*field->number()) || is_of_axis(request, request.*field->number());
  });
}

}  // namespace

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

namespace {

/// Error{usage} for a bound or an end of a range that the profile, or a step, does not take.
void check_rule(const Request& request, std::string_view field, const Parameter& figure) {
  const auto refuse = [&](const Message& why) { refuse_request(label(field, figure) + why); };
  if (!is_rule(figure)) return;
  if (request.profile->family != "clipper")
    refuse(fmt::format(": is not supported by {}; only profile clipper has it", request.profile->system));
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
      refuse_request(
          parameter(grouping->name) +
          fmt::format(" is not supported by {}; only profile clipper has it", request.profile->system));
    if (!has_any) expect_no_groups(request);
  }
  for_each_number(request,
                  [&](const Field& field, const Parameter& given) { check_places(field.name, given); });
  const Field* const scaling = first_given(request, [&](const Field& field) {
    return field.step == Field::Step::scale && field.is_given(request) &&
           (field.number_in(request)->array || !field.number_in(request)->list.empty());
  });
  const auto check = [&](const Field& field, const Parameter& given) {
    check_rule(request, field.name, given);
    if (scaling != nullptr && is_figure(given))
      refuse_request(label(field.name, given) + ": a percentile cannot be combined with an array as " +
                     parameter(scaling->name));
  };
  for (const FieldList& figures : {replacements_in(request), percentiles_in(request)})
    for (const Field* const field : figures) check(*field, *field->number_in(request));
  for_each_number(request, [&](const Field& field, const Parameter& given) {
    if (field.is_range) check(field, given);
  });
}

/// The plan of a stage; see plan_stages().
template <Plan (*kMake)(const Request&, const TensorLayout&)>
Plan plan_of_stage(const Request& stage, const TensorLayout& layout, const Plan& /*before*/,
                   const std::string& name) {
  return with_path(name, [&] { return kMake(stage, layout); });
}

}  // namespace

void expect_no_figures_of_stream(const Request& request) {
  for (std::size_t i = 0; i < request.then.size(); ++i)
    with_path(stage_name(i + 1), [&] { expect_no_figures_of_stream(request.then[i]); });
  if (const Field* const figure = first_figure(request))
    refuse_request(label_of_figure(*figure, request) + ": " + Term{"input", "the input"} +
                   " must be a file, not a stream: it needs to be read twice");
}

Plan plan_before_reading(const Request& given, const TensorLayout& layout) {
  if (!given.then.empty()) return plan_stages(given, layout, plan_of_stage<plan_before_reading>);
  check_figures(given);
  if (!has_figures(given)) return make_plan(given, layout);
  Request request = with_lists(given, layout);
  set_units(request, layout);
  choose_norm(request);
  request = without_groups(std::move(request));
  for (const Field* const factor : statistics_in(request))
    set_number(*factor->number_in(request), factor->number() == &Request::divide ? 1 : 0, "unknown");
  if (has_norm(request)) request.max_norm->found = "unknown";
  for (const Field* const field : replacements_in(request))
    set_number(*field->number_in(request), 1, "unknown");
  const FieldList bounds = percentiles_in(request);
  std::vector<Number> values;
  for (const Field* const bound : bounds)
    values.push_back(widest(request, layout, bound->number() == &Request::min));
  for (std::size_t i = 0; i < bounds.size(); ++i)
    set_number(*bounds[i]->number_in(request), values[i], percentile_text(layout, {}, values[i]));
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

Plan plan_with_figures(const Request& request, const TensorSource& source, const KernelOptions& options) {
  if (!request.then.empty()) {
    with_path(source.path, [&] { static_cast<void>(plan_before_reading(request, source.layout)); });
    return plan_stages(
        request, source.layout,
        [&](const Request& stage, const TensorLayout& layout, const Plan& before, const std::string& name) {
          const TensorSource own =
              name.empty() ? source : source_after(before, source, layout, name, options);
          if (has_figures(stage)) return plan_with_figures(stage, own, options);
          return with_path(own.path, [&] { return make_plan(stage, layout); });
        });
  }
  with_path(source.path, [&] {
    static_cast<void>(plan_before_reading(request, source.layout));
    if (request.pooled)
      refuse_request(parameter("pooled") + ": only for functions that read all files first");
  });
  std::vector<LostBound> lost;
  const Request found = with_figures(request, {&source, 1}, options, lost);
  Plan plan = with_path(source.path, [&] { return make_plan_in_units(found, source.layout); });
  plan.lost = std::move(lost);
  return plan;
}

Plan plan_with_figures(const Request& request, const TensorLayout& layout, Engine& engine, InputFile& input) {
  if (!input.is_regular()) with_path(input.path(), [&] { expect_no_figures_of_stream(request); });
  return plan_with_figures(request, source_of(layout, engine, input), engine.kernel_options());
}

}  // namespace clipper
