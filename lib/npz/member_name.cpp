#include "npz/member_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>

#include "npy/dict.hpp"
#include "npz/refuse.hpp"
#include "npz/zip_records.hpp"

namespace clipper::npz {
namespace {

/// The code point at the start of `text`, and removes it. 0 if the bytes are not UTF-8.
char32_t take_code_point(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const auto length = static_cast<std::size_t>(std::max(1, std::countl_one(first)));
  if (length > 4 || length > text.size() || (first & 0xc0) == 0x80) return 0;
  char32_t code = length == 1 ? first : first & (0x7fU >> length);
  for (const char c : text.substr(1, length - 1)) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) return 0;
    code = code << 6U | (static_cast<unsigned char>(c) & 0x3fU);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800,
                                 0x10000};  // longer forms of lower code points are invalid
  if (code < kLeast[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return 0;
  text.remove_prefix(length);
  return code;
}

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

}  // namespace

std::string member_text(std::string_view name) {
  return fmt::format("member '{}'", npy::excerpt(name));
}

bool is_utf8_text(std::string_view text) {
  while (!text.empty()) {
    const char32_t code = take_code_point(text);
    if (code < ' ' && code != '\t' && code != '\n' && code != '\r') return false;
  }
  return true;
}

void check_name(std::string_view name, bool is_utf8) {
  if (name.empty()) refuse("a member has no name");
  const auto is_ascii_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
  if (std::ranges::any_of(name, is_ascii_control)) refuse("its name has control characters");
  for (std::string_view rest = is_utf8 ? name : ""; !rest.empty();) {
    const char32_t code = take_code_point(rest);
    if (code == 0) refuse("its name is not UTF-8, although the archive says so");
    if (is_control(code)) refuse("its name has control characters");
  }
}

void check_names_differ(const std::vector<Member>& members) {
  std::vector<std::string_view> names;
  names.reserve(members.size());
  for (const Member& member : members) names.emplace_back(member.name);
  std::ranges::sort(names);
  const auto same = std::ranges::adjacent_find(names);
  if (same != names.end()) refuse(fmt::format("two members are named '{}'", npy::excerpt(*same)));
}

}  // namespace clipper::npz
