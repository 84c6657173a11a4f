#include "flows/figure_requests.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "contract/bounds.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "error.hpp"
#include "flows/figure_parts.hpp"
#include "flows/figures.hpp"
#include "flows/lists.hpp"
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

std::vector<Given> givens_of(const Request& request, const std::vector<Field>& figures) {
  std::vector<Given> givens;
  for (const Field& figure : figures) givens.push_back(*(request.*figure.number()));
  return givens;
}

bool has_range_figure(const Request& request) {
  const auto& range = request.stretch_from;
  return range && (is_figure(range->first) || is_figure(range->second));
}

bool is_rule(const Given& figure) {
  return figure.statistic || figure.spread;
}

void refuse_figure(ErrorKind kind, const Request& request, const Field& figure, const Message& why) {
  throw Error(kind, label(figure.name, *(request.*figure.number())) + ": " + why);
}

void set_number(Given& given, const Number& number, const std::string& text) {
  given.percentage.reset();
  given.statistic.reset();
  given.spread.reset();
  given.number = number;
  given.text += " (" + text + ")";
  given.found = text;
}

namespace {

bool needs_elements(const Request& request) {
  return !percentiles_in(request).empty() || !statistics_in(request).empty() || has_range_figure(request);
}

/// Error{usage} for a figure that no bound can be, and for one without the profile or beside a step.
void check_rule(const Request& request, std::string_view field, const Given& figure) {
  const auto refuse = [&](const Message& why) { throw Error(ErrorKind::usage, label(field, figure) + why); };
  const bool has_center =
      figure.percentage || figure.statistic == Statistic::mean || figure.statistic == Statistic::median;
  if (!has_center) refuse(": is no bound without a mean, median or percentile");
  if (!is_rule(figure)) return;
  if (request.profile->family != "native")
    refuse(fmt::format(": is not supported by {}; only profile native has it", request.profile->system));
  if (field == "stretch_from") return;
  for (const std::string_view step : {"scale", "bias"})
    if (field_named(step)->is_given(request)) refuse(": cannot be combined with " + parameter(step));
}

void check_figures(const Request& request) {
  const bool has_any = needs_elements(request) || (has_lists(request) && !request.pooled);
  if (const Field* const grouping = first_given(request, is_grouping)) {
    if (request.profile->family != "native")
      throw Error(ErrorKind::usage, parameter(grouping->name) +
                                        fmt::format(" is not supported by {}; only profile native has it",
                                                    request.profile->system));
    if (!has_any) refuse_no_figure(request);
  }
  for (const Field& field : fields::kAll)
    if (const auto* const given = field.number() == nullptr ? nullptr : &(request.*field.number());
        given != nullptr && *given && (*given)->percentage && !is_percentile(*(*given)->percentage))
      refuse_figure(ErrorKind::usage, request, field, "a percentile has max 16 decimal places");
  for (const Field& factor : statistics_in(request))
    if ((request.*factor.number())->spread)
      refuse_figure(ErrorKind::usage, request, factor, "only min and max can be rules");
  if (request.stretch_from)
    for (const Given* const end : {&request.stretch_from->first, &request.stretch_from->second}) {
      if (!is_figure(*end)) continue;
      check_rule(request, "stretch_from", *end);
      if (end->percentage && !is_percentile(*end->percentage))
        throw Error(ErrorKind::usage,
                    label("stretch_from", *end) + ": a percentile has max 16 decimal places");
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
  return needs_elements(request) || first_given(request, is_grouping) != nullptr;
}

void expect_no_figures_of_stream(const Request& request) {
  std::vector<Field> figures = percentiles_in(request);
  std::ranges::copy(statistics_in(request), std::back_inserter(figures));
  for (const Field& figure : figures)
    refuse_figure(
        ErrorKind::usage, request, figure,
        Term{"input", "the input"} + Message(" must be a file, not a stream: it needs to be read twice"));
  if (has_range_figure(request))
    throw Error(ErrorKind::usage, parameter("stretch_from") + ": " + Term{"input", "the input"} +
                                      " must be a file, not a stream: it needs to be read twice");
}

Plan plan_before_reading(const Request& given, const TensorLayout& layout) {
  check_figures(given);
  if (!has_figures(given)) return make_plan(given, layout);
  Request request = with_lists(given, layout);
  set_units(request, layout);
  for (const Field* const field : fields::kGroupings) field->copy({}, request);
  for (const Field& factor : statistics_in(request))
    set_number(*(request.*factor.number()), factor.number() == &Request::divide ? 1 : 0, "unknown");
  const std::vector<Field> bounds = percentiles_in(request);
  std::vector<Number> values;
  for (const Field& bound : bounds)
    values.push_back(widest(request, layout, bound.number() == &Request::min));
  for (std::size_t i = 0; i < bounds.size(); ++i)
    set_number(*(request.*bounds[i].number()), values[i], percentile_text(layout, {}, values[i]));
  if (has_range_figure(request)) {
    auto& [from, to] = *request.stretch_from;
    const Given& typed = is_figure(from) ? to : from;
    const bool is_zero = !is_figure(typed) && typed.number == Number(0);
    (is_figure(from) ? from : to) = is_zero ? 1 : 0;
    if (is_figure(to)) to = 1;
  }
  // Whether these numbers lie between the percentiles is not known.
  if (!bounds.empty() && user_of_bounds(request) != nullptr)
    for (std::optional<Given>* const number :
         {&request.nan.number, &request.replace_below, &request.replace_above})
      if (*number && (*number)->number.kind != Number::Kind::nan)
        (*number)->number = number_of(DType::float64, to_bits(round_to<double>(values.front())));
  Plan plan = make_plan_in_units(request, layout);
  static_cast<void>(axes_of(given, layout));
  return plan;
}

Plan plan_of_part(const Request& request, const TensorLayout& layout) {
  return (has_lists(request) && !needs_elements(request) ? plan_before_reading : make_plan)(request, layout);
}

}  // namespace clipper
