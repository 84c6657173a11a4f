#include "npz/refuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "npy/dict.hpp"
#include "npy/utf8.hpp"

namespace clipper::npz {
namespace {

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

}  // namespace

std::string member_text(std::string_view name) {
  return fmt::format("member '{}'", npy::excerpt(name));
}

bool is_utf8_text(std::string_view text) {
  while (!text.empty()) {
    const std::optional<char32_t> code = npy::take_code_point(text);
    if (!code || (*code < ' ' && *code != '\t' && *code != '\n' && *code != '\r')) return false;
  }
  return true;
}

void check_name(std::string_view name, bool is_utf8) {
  if (name.empty()) refuse("a member has no name");
  const auto is_ascii_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (std::ranges::any_of(name, is_ascii_control)) refuse("its name has control characters");
  for (std::string_view rest = is_utf8 ? name : ""; !rest.empty();) {
    const std::optional<char32_t> code = npy::take_code_point(rest);
    if (!code) refuse("its name is not UTF-8, although the archive says so");
    if (is_control(*code)) refuse("its name has control characters");
  }
}

}  // namespace clipper::npz
