#include "flows/figure_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "contract/bounds.hpp"
#include "contract/fields.hpp"
#include "contract/steps.hpp"
#include "element/element.hpp"
#include "element/number.hpp"
#include "error.hpp"
#include "flows/figure_parts.hpp"
#include "flows/figure_requests.hpp"
#include "flows/figures.hpp"

namespace clipper {
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
