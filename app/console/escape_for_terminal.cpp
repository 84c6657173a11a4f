#include "console/escape_for_terminal.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace clipper {
namespace {

/// The length of the UTF-8 character that `text` starts with; 0 if it does not start with one that can be
/// printed.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return first < 0x20 || first == 0x7f ? 0 : 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  std::uint32_t point = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    point = (point << 6) | (byte(i) & 0x3f);
  }
  constexpr std::array<std::uint32_t, 5> kFirstOfLength{0, 0, 0xa0, 0x800, 0x10000};  // below 0xa0: controls
  const bool surrogate = point >= 0xd800 && point < 0xe000;
  const bool separator = point == 0x2028 || point == 0x2029;
  return point < kFirstOfLength[length] || point > 0x10ffff || surrogate || separator ? 0 : length;
}

}  // namespace

std::string escape_for_terminal(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0)
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    else
      line += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return line;
}

}  // namespace clipper
