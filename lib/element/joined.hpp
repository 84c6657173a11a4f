#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace clipper {

/// Texts or integers with a separator between them. To compile fmt::join() takes up to a second for each
/// file.
template <class Items>
[[nodiscard]] std::string joined(const Items& items, std::string_view separator) {
  std::string text;
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) text += separator;
    is_first = false;
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(item)>>)
      text += std::to_string(item);
    else
      text += item;
  }
  return text;
}

}  // namespace clipper
