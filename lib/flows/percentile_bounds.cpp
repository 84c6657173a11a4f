#include "flows/percentile_bounds.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "contract/bounds.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"
#include "flows/tensor_statistics.hpp"

namespace clipper {
namespace {

struct PercentileBound {
  std::string_view field;
  std::optional<Given> Request::*given;
};

constexpr std::array kBounds{PercentileBound{"min", &Request::min}, PercentileBound{"max", &Request::max}};

/// The bounds of the request that are percentiles.
std::vector<PercentileBound> percentiles_in(const Request& request) {
  std::vector<PercentileBound> bounds;
  for (const PercentileBound& bound : kBounds)
    if ((request.*bound.given) && (request.*bound.given)->percentage) bounds.push_back(bound);
  return bounds;
}

std::vector<Number> percentages_in(const Request& request) {
  std::vector<Number> percentages;
  for (const PercentileBound& bound : percentiles_in(request))
    percentages.push_back(*(request.*bound.given)->percentage);
  return percentages;
}

[[noreturn]] void refuse(ErrorKind kind, const Request& request, const PercentileBound& bound,
                         const Message& why) {
  throw Error(kind, label(bound.field, *(request.*bound.given)) + ": " + why);
}

void check_percentiles(const Request& request) {
  for (const PercentileBound& bound : percentiles_in(request)) {
    if (!is_percentile(*(request.*bound.given)->percentage))
      refuse(ErrorKind::usage, request, bound, "a percentile has max 16 decimal places");
    for (const auto& [field, given] : {std::pair("scale", &request.scale), std::pair("bias", &request.bias)})
      if (*given)
        refuse(ErrorKind::usage, request, bound,
               "a percentile cannot be combined with " + Message(Term{field, field}));
  }
}

/// A percentile in a message: "6.5".
std::string text_of(const TensorLayout& layout, const Number& value) {
  const DType dtype = layout.dtype;
  if (!is_floating(dtype) && layout.meaning.kind == Meaning::Kind::number) return decimal_text(value);
  return element_text(dtype, layout.meaning, *as_elements(dtype, std::array{std::optional(value)}).front());
}

/// The plan for the request with `values`, in the order of percentiles_in(), as bounds. Its errors quote
/// them: "min 99% (6.5)".
Plan plan_with(Request request, const TensorLayout& layout, const std::vector<Number>& values) {
  request = in_units(request, layout);
  const std::vector<PercentileBound> bounds = percentiles_in(request);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    Given& given = *(request.*bounds[i].given);
    given.percentage.reset();
    given.number = values[i];
    given.text += " (" + text_of(layout, values[i]) + ")";
  }
  Plan plan = make_plan_in_units(request, layout);
  std::erase_if(plan.cut, [&](const CutBound& cut) {  // nobody can avoid the fraction of a percentile
    return std::ranges::any_of(bounds,
                               [&](const PercentileBound& bound) { return bound.field == cut.field; });
  });
  return plan;
}

/// A percentile that is no bound. For a stretch, which needs finite ones, that of an empty range.
Number widest(const Request& request, const TensorLayout& layout, const PercentileBound& bound) {
  const bool is_min = bound.given == &Request::min;
  if (request.stretch) {
    const std::optional<Given>& other = is_min ? request.max : request.min;
    return other && !other->array && !other->percentage ? other->number : Number(1);
  }
  return number_of(layout.dtype, is_min ? lowest_element(layout.dtype) : highest_element(layout.dtype));
}

Plan plan_with_found(Request request, const TensorLayout& layout,
                     const std::vector<std::optional<Number>>& found,
                     NoPercentile none = NoPercentile::refused) {
  const std::vector<PercentileBound> bounds = percentiles_in(request);
  std::vector<Number> values;
  std::vector<LostBound> lost;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (!found[i]) {
      const char* const why = layout.count == 0          ? "the tensor has no elements"
                              : !request.nodata.empty()  ? "all elements are nodata or NaN"
                              : layout.meaning.is_time() ? "all elements are NaT"
                                                         : "all elements are NaN";
      if (none == NoPercentile::refused && request.nodata.empty())
        refuse(ErrorKind::input, request, bounds[i], why);
      lost.push_back({bounds[i].field, (request.*bounds[i].given)->text, why});
      request.stretch.reset();  // without both bounds
      values.push_back(widest(request, layout, bounds[i]));
      if (request.action_on_nan() == (bounds[i].given == &Request::min ? OnNan::min : OnNan::max))
        request.nan = OnNan::keep;
      continue;
    }
    if (request.stretch && found[i]->kind == Number::Kind::infinite)
      refuse(ErrorKind::input, request, bounds[i],
             "the percentile is infinite; " + parameter("stretch") + " requires finite bounds");
    if (found[i]->kind == Number::Kind::nan)
      refuse(ErrorKind::input, request, bounds[i], "the percentile lies between -inf and inf");
    values.push_back(*found[i]);
  }
  Plan plan = plan_with(std::move(request), layout, values);
  plan.lost = std::move(lost);
  return plan;
}

}  // namespace

bool has_percentiles(const Request& request) {
  return !percentiles_in(request).empty();
}

void expect_no_percentiles_of_stream(const Request& request) {
  for (const PercentileBound& bound : percentiles_in(request))
    refuse(ErrorKind::usage, request, bound,
           Term{"input", "the input"} + Message(" must be a file, not a stream: it needs to be read twice"));
}

Plan plan_before_reading(const Request& request, const TensorLayout& layout) {
  check_percentiles(request);
  std::vector<Number> values;
  for (const PercentileBound& bound : percentiles_in(request))
    values.push_back(widest(request, layout, bound));
  if (values.empty() || !request.stretch) return plan_with(request, layout, values);
  Request within = request;  // whether these numbers lie between the percentiles is not known
  for (std::optional<Given>* const given : {&within.nan.number, &within.replace_below, &within.replace_above})
    if (*given && (*given)->number.kind != Number::Kind::nan) (*given)->number = values.front();
  return plan_with(within, layout, values);
}

Plan plan_with_percentiles(const Request& request, const TensorLayout& layout, const ElementSource& elements,
                           SimdLevel level) {
  static_cast<void>(plan_before_reading(request, layout));
  return plan_with_found(request, layout, percentiles_of(elements, percentages_in(request), level));
}

Plan plan_with_percentiles(const Request& request, const TensorLayout& layout, Engine& engine,
                           InputFile& input, NoPercentile none) {
  with_path(input.path(), [&] {
    if (!input.is_regular()) expect_no_percentiles_of_stream(request);
    static_cast<void>(plan_before_reading(request, layout));
  });
  const auto found =
      read_percentiles(engine, input, layout, percentages_in(request), nodata_of(request, layout.dtype));
  return with_path(input.path(), [&] { return plan_with_found(request, layout, found, none); });
}

}  // namespace clipper
