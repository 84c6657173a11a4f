#include "contract/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "contract/bounds.hpp"
#include "contract/steps.hpp"
#include "error.hpp"

namespace clipper {

bool Field::is_given(const Request& request) const {
  return std::visit(
      [&](const auto of) {
        const auto& value = request.*of;
        if constexpr (requires { value.has_value(); })
          return value.has_value();
        else if constexpr (requires { value.empty(); })
          return !value.empty();
        else if constexpr (requires { value.action; })
          return value.action != OnNan::by_profile;
        else if constexpr (requires { value->family; })
          return value != profile_named("clipper");
        else
          return static_cast<bool>(value);
      },
      member);
}

void Field::copy(const Request& from, Request& to) const {
  std::visit([&](const auto of) { to.*of = from.*of; }, member);
}

std::string stage_name(std::size_t stage, const std::string& tensor) {
  if (stage == 0) return tensor;
  return fmt::format("{}{}stage {}", tensor, tensor.empty() ? "" : ": ", stage + 1);
}

void expect_understood(const Request& request) {
  for (std::size_t i = 0; i < request.then.size(); ++i)
    with_path(stage_name(i + 1), [&] { expect_understood(request.then[i]); });
  for_each_number(request, [](const Field& field, const Parameter& given) {
    if (!given.objection.empty()) refuse_request(Term{field.name, field.name} + given.objection);
  });
}

const Field* user_of_bounds(const Request& request) {
  if (first_given(request, [](const Field& field) { return field.is_range; }) != nullptr) return nullptr;
  return first_given(request, [](const Field& field) { return field.uses_bounds; });
}

Request prefix(Request request, Field::Step step) {
  for (const Field& field : fields::kAll)
    if (field.step >= step) field.copy({}, request);
  return request;
}

void omit(Request& request, const Field& figure) {
  const bool is_factor = figure.grammar == Field::Grammar::factor;
  const bool ends_stretch = request.stretch_from ? is_factor : figure.grammar == Field::Grammar::bound;
  for (const Field& field : fields::kAll) {
    const bool stretches =
        field.uses_bounds || field.is_range || (is_factor && field.grammar == figure.grammar);
    if (field.name == figure.name || field.of == figure.name || (ends_stretch && stretches))
      field.copy({}, request);
  }
  const OnNan::Action action = request.action_on_nan();
  if ((figure.name == "min" && action == OnNan::min) || (figure.name == "max" && action == OnNan::max))
    request.nan = OnNan::keep;
}

namespace {

/// Error{usage} for a member without the one that it needs.
void check_needs(const Request& request) {
  for (const Field& field : fields::kAll) {
    if (field.of.empty() || !field.is_given(request) || field_named(field.of)->is_given(request)) continue;
    Message also = "";
    if (field.name == "norm") also = ", or the figure norm in an expression";
    if (field.name == "divide_zero") {
      if (request.stretch_from) continue;
      also = " or " + parameter("stretch_from");
    }
    refuse_request(parameter(field.name) + " requires " + parameter(field.of) + also);
  }
}

void check_zero_point(const Request& request) {
  if (request.zero_point && (!request.to || is_floating(*request.to)))
    refuse_request(label("zero_point", *request.zero_point) + " requires an integer dtype as " +
                   parameter("to"));
}

/// Error{usage} for a limit that is not above 0, or whose norm has not been found.
void check_max_norm(const Request& request) {
  if (!request.max_norm) return;
  const Parameter& given = *request.max_norm;
  if (finite_factor("max_norm", given, DType::float64, false) <= 0)
    refuse_request(label("max_norm", given) + " is not above 0");
  if (given.found.empty())
    refuse_request(label("max_norm", given) + ": a norm needs all elements of the tensor");
}

void check_stretch(const Request& request) {
  if (!request.stretch || request.stretch_from) return;
  for (const Field* const factor : fields::kFactors)
    if (const auto& given = factor->number_in(request))
      refuse_request(parameter("stretch") + " cannot be combined with " + label(factor->name, *given));
  if (!request.min || !request.max)
    refuse_request(parameter("stretch") + " requires " + parameter("min") + " and " + parameter("max") +
                   ", or " + parameter("stretch_from"));
}

/// Error{usage} for a rule about bounds beside what calculates with them.
void check_min_above_max(const Request& request) {
  if (!request.min_above_max) return;
  const std::string_view other = request.replace_below   ? "replace_below"
                                 : request.replace_above ? "replace_above"
                                 : normalizes(request)   ? name_of_normalization(request)
                                                         : "";
  if (!other.empty())
    refuse_request(parameter(other) + " cannot be combined with " + parameter("min_above_max"));
}

/// Error{usage} for what the profile does not have, or lacks.
void check_profile(const Request& request) {
  const Profile& profile = *request.profile;
  const bool is_own = profile.family == "clipper";
  if (const Field* const field = is_own ? nullptr : first_given(request, std::mem_fn(&Field::is_of_clipper)))
    refuse_request(parameter(field->name) +
                   fmt::format(" is not supported by {}; only profile clipper has it", profile.system));
  if (divides(request) && !is_own)
    refuse_request(label("scale", *request.scale) + ": only profile clipper divides");
  if (profile.bounds == Profile::Bounds::required && (!request.min || !request.max))
    refuse_request(fmt::format("{} requires both bounds; ", profile.system) +
                   parameter(request.min ? "max" : "min") + " is missing");
  if (profile.bounds == Profile::Bounds::one && !request.min && !request.max)
    refuse_request(fmt::format("{} requires ", profile.system) + parameter("min") + " or " +
                   parameter("max"));
  if (profile.scale_bias == Profile::ScaleBias::none && (request.scale || request.bias))
    refuse_request(parameter(request.scale ? "scale" : "bias") +
                   fmt::format(" is not supported by {}", profile.system));
}

}  // namespace

void check_number(const Field& field, const Parameter& given) {
  const auto refuse_number = [&](const Message& why) { refuse_request(label(field.name, given) + why); };
  if (!given.list.empty())
    refuse_number(": a list of numbers requires " + parameter("per_axis") + " with one axis");
  if (is_figure(given)) {
    const std::string_view what = given.expression.is_percentile() ? "percentile" : "statistic";
    if (!field.takes_figures()) refuse_number(fmt::format(": cannot be a {}", what));
    refuse_number(fmt::format(": a {} needs all elements of the tensor", what) +
                  Term{what, "", Says::advice});
  }
  const bool may_be_array = field.broadcasts || field.grammar == Field::Grammar::mask;
  if (given.array && !may_be_array && given.found.empty()) refuse_number(" must be one number, not an array");
  if (given.needs_meaning && !field.takes_dates()) refuse_number(" is not a number");
}

void check_request(const Request& request) {
  check_profile(request);
  for_each_number(request, check_number);
  check_needs(request);
  check_zero_point(request);
  check_max_norm(request);
  if (request.divide_zero)
    static_cast<void>(finite_factor("divide_zero", *request.divide_zero, DType::float64, true));
  expect_no_groups(request);
  check_stretch(request);
  check_min_above_max(request);
}

void expect_no_groups(const Request& request) {
  const Field* const field = first_given(request, [&](const Field& each) {
    return is_grouping(each) && !(each.name == "mask" && request.mask_to);
  });
  if (field == nullptr) return;
  refuse_request(parameter(field->name) + " requires a figure, such as 1% as " + parameter("min") +
                 " or mean as " + parameter("subtract") + ", or " + parameter("max_norm"));
}

const Field* field_named(std::string_view name) noexcept {
  const auto* const row = std::ranges::find(fields::kAll, name, &Field::name);
  return row == fields::kAll.end() ? nullptr : row;
}

}  // namespace clipper
