#include "flows/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "contract/bounds.hpp"
#include "contract/fields.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"
#include "files/parameter_file.hpp"
#include "flows/figure_parts.hpp"

namespace clipper {
namespace {

bool is_list(const std::optional<Given>& given) {
  return given && !given->list.empty();
}

bool is_bound(const Field& field) {
  return field.grammar == Field::Grammar::bound;
}

/// The length of the only axis; `axis` becomes its place in the shape.
std::int64_t length_of_axis(const Request& request, const Field& field, const TensorLayout& layout,
                            std::size_t& axis) {
  const Given& given = *(request.*field.number());
  if (layout.meaning.kind != Meaning::Kind::number)
    throw Error(ErrorKind::usage, label(field.name, given) +
                                      (": a list is of numbers, but the tensor is " + type_name(layout)));
  if (request.per_axis.size() != 1) refuse_percentile(field.name, given);
  axis = axes_of(request, layout).front();
  return layout.shape[axis];
}

void check_numbers(const Field& field, const Given& given) {
  for (const Number& number : given.list)
    if (!is_bound(field))
      static_cast<void>(
          finite_factor(field.name, Given(number, given.text), DType::float64, field.name == "divide"));
    else if (number.kind == Number::Kind::nan)
      throw Error(ErrorKind::usage, label(field.name, given) + ": NaN cannot be a bound");
}

/// Whether the dtype has all the numbers.
bool has_all(DType dtype, const std::vector<Number>& list) {
  return std::ranges::all_of(list, [&](const Number& number) {
    if (is_floating(dtype)) return number_of(dtype, nearest_element(dtype, number)) == number;
    return is_integer(number) && number >= number_of(dtype, lowest_element(dtype)) &&
           number <= number_of(dtype, highest_element(dtype));
  });
}

DType dtype_of(const Field& field, const Given& given, DType tensor) {
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
Given array_of(const Field& field, const Given& given, const TensorLayout& layout, std::size_t axis,
               bool has_signs) {
  TensorLayout own;
  own.shape.assign(layout.shape.size() - axis, 1);
  own.shape.front() = std::ssize(given.list);
  own.count = given.list.size();
  own.dtype = dtype_of(field, given, layout.dtype);
  std::vector<std::byte> elements;
  for (const Number& number : given.list)
    append(own.dtype,
           !is_floating(own.dtype) ? static_cast<ElementBits>(to_integer(number, Rounding::toward_zero))
           : has_signs || number != Number() ? nearest_element(own.dtype, number)
                                             : 0,
           elements);
  return parameter_found(given.text, own, std::move(elements));
}

}  // namespace

bool has_lists(const Request& request) {
  return std::ranges::any_of(fields::kBroadcasting,
                             [&](const Field* field) { return is_list(request.*field->number()); });
}

Request with_lists(const Request& request, const TensorLayout& layout) {
  Request found = request;
  for (const Field* const field : fields::kBroadcasting) {
    std::optional<Given>& given = found.*field->number();
    if (!is_list(given)) continue;
    std::size_t axis = 0;
    const std::int64_t length = length_of_axis(request, *field, layout, axis);
    if (std::ssize(given->list) != length)
      throw Error(ErrorKind::input,
                  label(field->name, *given) +
                      fmt::format(" has {} numbers, but axis {} has {} of the shape {}", given->list.size(),
                                  request.per_axis.front(), length, shape_text(layout.shape)));
    check_numbers(*field, *given);
    const bool has_signs = !is_bound(*field) || is_floating(layout.dtype) || request.scale || request.bias;
    given = array_of(*field, *given, layout, axis, has_signs);
  }
  return found;
}

}  // namespace clipper
