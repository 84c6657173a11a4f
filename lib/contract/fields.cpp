#include "contract/fields.hpp"

#include <algorithm>

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
          return value != profile_named("native");
        else
          return static_cast<bool>(value);
      },
      member);
}

void Field::copy(const Request& from, Request& to) const {
  std::visit([&](const auto of) { to.*of = from.*of; }, member);
}

const Field* user_of_bounds(const Request& request) {
  if (request.stretch_from) return nullptr;
  return first_given(request, [](const Field& field) { return field.uses_bounds; });
}

const Field* field_named(std::string_view name) noexcept {
  const auto* const row = std::ranges::find(fields::kAll, name, &Field::name);
  return row == fields::kAll.end() ? nullptr : row;
}

}  // namespace clipper
