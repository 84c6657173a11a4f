#include "generate/troff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace clipper {
namespace {

/// Characters that troff would replace by typographic characters or interpret as commands.
constexpr std::array kEscapes{std::pair{'\\', "\\e"},  std::pair{'-', "\\-"},   std::pair{'\'', "\\(aq"},
                              std::pair{'`', "\\(ga"}, std::pair{'^', "\\(ha"}, std::pair{'~', "\\(ti"},
                              std::pair{'"', "\\(dq"}};

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

std::string escaped_for_troff(std::string_view text) {
  std::string result;
  if (text.starts_with('.') || text.starts_with('\'')) result = "\\&";
  for (const char c : text) {
    const auto* const row = std::ranges::find(kEscapes, c, &std::pair<char, const char*>::first);
    if (row != kEscapes.end())
      result += row->second;
    else
      result += c;
  }
  return result;
}

std::string inline_to_troff(std::string_view text) {
  std::string result;
  bool bold = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('`'), text.size());
    const std::string part = escaped_for_troff(text.substr(0, end));
    if (!part.empty()) result += bold ? fmt::format("\\fB{}\\fR", part) : part;
    bold = !bold;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string preformatted(std::string_view lines) {
  std::string text = ".nf\n";
  for (const std::string_view line : lines_of(lines)) text += escaped_for_troff(line) + "\n";
  return text + ".fi\n";
}

std::string item_to_troff(std::string_view term, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", term, inline_to_troff(text));
}

}  // namespace clipper
