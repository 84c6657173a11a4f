#pragma once

#include <algorithm>
#include <string_view>

namespace clipper {

/// What commands in messages call a path: the path itself, but `otherwise` if it would need quotes or begins
/// with a dash.
inline std::string_view name_for_commands(std::string_view path, std::string_view otherwise = "FILE") {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view("._/-+,@").find(c) != std::string_view::npos;
  };
  return std::ranges::all_of(path, is_plain) && !path.starts_with('-') ? path : otherwise;
}

}  // namespace clipper
