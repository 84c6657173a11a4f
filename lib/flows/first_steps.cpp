#include "flows/first_steps.hpp"

#include <limits>

#include "contract/exact_bounds.hpp"
#include "element/element.hpp"

namespace clipper {

Request first_steps(const Request& request, DType dtype) {
  Request first = request;
  first.subtract.reset();
  first.divide.reset();
  first.round.reset();
  first.zero_point.reset();
  first.to.reset();
  first.saturate = false;
  first.per_axis.clear();
  const bool is_wide = request.scale || request.bias || request.replace_below || request.replace_above ||
                       request.nan.number ||
                       (!is_floating(dtype) && (has_fraction(request.min) || has_fraction(request.max)));
  if (is_wide || !request.nodata.empty()) first.to = DType::float64;
  if (!request.nodata.empty()) first.nodata_to = std::numeric_limits<double>::quiet_NaN();
  return first;
}

Request exact_steps(const Request& request, DType dtype, ElementBits otherwise) {
  Request first = first_steps(request, dtype);
  const Number none = number_of(dtype, otherwise);
  first.to.reset();
  first.round = Round::half_even;
  if (first.nodata_to) first.nodata_to = none;
  for (std::optional<Given>* const replacement : {&first.replace_below, &first.replace_above}) {
    if (!*replacement) continue;
    const Number& number = (*replacement)->number;
    if (!is_integer(number) || number < number_of(dtype, lowest_element(dtype)) ||
        number > number_of(dtype, highest_element(dtype)))
      *replacement = none;
  }
  return first;
}

std::optional<Number> value_of(Statistic statistic, const ElementStatistics& of) {
  const auto number = [](std::optional<double> value) {
    return value ? std::optional(Number(*value)) : std::nullopt;
  };
  const auto element = [&](std::optional<ElementBits> bits) {
    return bits ? std::optional(number_of(of.dtype, *bits)) : std::nullopt;
  };
  switch (statistic) {
    case Statistic::mean: return number(of.mean());
    case Statistic::std: return number(of.standard_deviation());
    case Statistic::min: return element(of.min());
    case Statistic::max: return element(of.max());
  }
  return std::nullopt;
}

}  // namespace clipper
