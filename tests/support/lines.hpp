#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace clipper::testing {

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// The lines of the text, without their line ends.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The text with every `from` replaced by `to`.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace clipper::testing
