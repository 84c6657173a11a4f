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

bool needs_elements(const Request& request) {
  return !percentiles_in(request).empty() || !statistics_in(request).empty() || has_range_figure(request) ||
         has_norm(request) || !replacements_in(request).empty();
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

}  // namespace clipper
