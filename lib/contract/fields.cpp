#include "contract/fields.hpp"

#include <fmt/format.h>

#include <algorithm>

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

namespace {

/// Throws if a number of a member has an objection.
struct ExpectUnderstood {
  const Field& field;

  void operator()(const Parameter& given) const {
    if (!given.objection.empty())
      throw Error(ErrorKind::usage, Term{field.name, field.name} + given.objection);
  }
  void operator()(const std::optional<Parameter>& given) const {
    if (given) (*this)(*given);
  }
  void operator()(const OnNan& nan) const { (*this)(nan.number); }
  void operator()(const std::optional<std::pair<Parameter, Parameter>>& ends) const {
    if (!ends) return;
    (*this)(ends->first);
    (*this)(ends->second);
  }
  void operator()(const std::vector<Parameter>& numbers) const {
    for (const Parameter& number : numbers) (*this)(number);
  }
  template <class Other>
  void operator()(const Other& /*has_no_number*/) const {}
};

}  // namespace

std::string stage_name(std::size_t stage, const std::string& tensor) {
  if (stage == 0) return tensor;
  return fmt::format("{}{}stage {}", tensor, tensor.empty() ? "" : ": ", stage + 1);
}

void expect_understood(const Request& request) {
  for (std::size_t i = 0; i < request.then.size(); ++i)
    with_path(stage_name(i + 1), [&] { expect_understood(request.then[i]); });
  for (const Field& field : fields::kAll)
    std::visit([&](const auto member) { ExpectUnderstood{field}(request.*member); }, field.member);
}

const Field* user_of_bounds(const Request& request) {
  if (first_given(request, [](const Field& field) { return field.is_range; }) != nullptr) return nullptr;
  return first_given(request, [](const Field& field) { return field.uses_bounds; });
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

const Field* field_named(std::string_view name) noexcept {
  const auto* const row = std::ranges::find(fields::kAll, name, &Field::name);
  return row == fields::kAll.end() ? nullptr : row;
}

}  // namespace clipper
