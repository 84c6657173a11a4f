#include "flows/figure_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>

#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "flows/figure_parts.hpp"
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
