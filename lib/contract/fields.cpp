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

const Field* field_named(std::string_view name) noexcept {
  const auto* const row = std::ranges::find(fields::kAll, name, &Field::name);
  return row == fields::kAll.end() ? nullptr : row;
}

}  // namespace clipper
