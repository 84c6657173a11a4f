#pragma once

#include <optional>
#include <string_view>

#include "npy/utf8.hpp"

namespace clipper {

/// What commands in messages call a path: the path itself, but `otherwise` if it would need quotes, begins
/// with a dash, or has what messages print as \xNN.
inline std::string_view name_for_commands(std::string_view path, std::string_view otherwise = "FILE") {
  const auto is_plain = [](char32_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c < 0x80 ? std::string_view("._/-+,@").find(static_cast<char>(c)) != std::string_view::npos
                     : npy::is_printed(c));
  };
  for (std::string_view rest = path; !rest.empty();)
    if (const std::optional<char32_t> c = npy::take_code_point(rest); !c || !is_plain(*c)) return otherwise;
  return path.starts_with('-') ? otherwise : path;
}

}  // namespace clipper
