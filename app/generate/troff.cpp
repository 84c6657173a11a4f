#include "generate/troff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

namespace clipper {
namespace {

constexpr std::string_view kExample = "    ";
constexpr std::string_view kHeading = "## ";
constexpr std::string_view kTerm = "= ";
constexpr std::string_view kItem = "* ";

/// Characters that troff would replace by typographic characters or interpret as commands.
constexpr std::array kEscapes{std::pair{'\\', "\\e"},  std::pair{'-', "\\-"},   std::pair{'\'', "\\(aq"},
                              std::pair{'`', "\\(ga"}, std::pair{'^', "\\(ha"}, std::pair{'~', "\\(ti"},
                              std::pair{'"', "\\(dq"}};

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The lines of each block.
std::vector<Lines> blocks_of(std::string_view markup) {
  std::vector<Lines> blocks(1);
  for (const std::string_view line : lines_of(markup))
    if (line.empty())
      blocks.emplace_back();
    else
      blocks.back().push_back(line);
  std::erase_if(blocks, [](const Lines& block) { return block.empty(); });
  return blocks;
}

std::string example(const Lines& lines) {
  std::string text;
  for (const std::string_view line : lines)
    text.append(line.substr(line.starts_with(kExample) ? kExample.size() : 0)).append("\n");
  return ".RS 2\n" + preformatted(text) + ".RE\n";
}

std::string items(const Lines& lines) {
  std::string text;
  for (const std::string_view line : lines)
    if (line.starts_with(kItem))
      text += ".IP \\(bu 2\n" + inline_to_troff(line.substr(kItem.size())) + "\n";
    else
      text += inline_to_troff(line) + "\n";
  return text;
}

std::string lines_to_troff(std::span<const std::string_view> lines) {
  std::string text;
  for (const std::string_view line : lines) text += inline_to_troff(line) + "\n";
  return text;
}

}  // namespace

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
  return fmt::format(".TP\n{}\n{}", term, lines_to_troff(lines_of(text)));
}

std::string to_troff(std::string_view markup) {
  std::string text;
  bool after_heading = true;
  for (const Lines& block : blocks_of(markup)) {
    const std::string_view first = block.front();
    if (first.starts_with(kHeading))
      text += fmt::format(".SS {}\n", escaped_for_troff(first.substr(kHeading.size())));
    else if (first.starts_with(kTerm))
      text += fmt::format(".TP\n{}\n{}", inline_to_troff(first.substr(kTerm.size())),
                          lines_to_troff(std::span(block).subspan(1)));
    else if (first.starts_with(kItem))
      text += items(block);
    else if (first.starts_with(kExample))
      text += (after_heading ? "" : ".PP\n") + example(block);
    else
      text += (after_heading ? "" : ".PP\n") + lines_to_troff(block);
    after_heading = first.starts_with(kHeading);
  }
  return text;
}

}  // namespace clipper
