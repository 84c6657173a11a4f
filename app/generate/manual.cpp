#include "generate/manual.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

namespace clipper {
namespace {

constexpr std::string_view kHiddenHeading = "For tests and measurements";
constexpr std::string_view kSeeAlso =
    ".SH SEE ALSO\n.BR cp (1),\n.BR find (1),\n.BR xargs (1)\n.PP\n"
    "NumPy's manual describes the files (numpy.lib.format) and the operation (numpy.clip).\n";

/// As it will be read: nothing in it is a command to troff, and a hyphen can be copied into a shell.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '.' && (result.empty() || result.ends_with('\n')))
      result += "\\&.";
    else if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if (c == '\'')
      result += "\\(aq";
    else
      result += c;
  }
  return result;
}

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string item(const std::string& title, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", title, escaped(text));
}

std::string heading_of(const Option& option) {
  if (!option.names.starts_with('-')) return fmt::format("\\fI{}\\fR", escaped(option.names));
  std::vector<std::string> names;
  for (const std::string_view name : names_of(option))
    names.push_back(fmt::format("\\fB{}\\fR", escaped(name)));
  const std::string value = option.type.empty() ? "" : fmt::format(" \\fI{}\\fR", escaped(option.type));
  return fmt::format("{}{}", fmt::join(names, ", "), value);
}

std::string item_of(const Option& option) {
  std::string text(option.help);
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (option.words == nullptr) return item(heading_of(option), text);
  const std::vector<std::string_view> words = option.words();
  const bool said = std::all_of(words.begin(), words.end(),
                                [&](std::string_view word) { return text.find(word) != std::string::npos; });
  if (!said) text += fmt::format(". Known: {}", fmt::join(words, ", "));
  return item(heading_of(option), text);
}

/// A command's positionals, then its options by group.
std::string items_of(const CommandSpec& command, std::string_view heading_macro) {
  std::string text;
  for (const Positional& positional : command.positionals) text += item_of(*positional.option);
  for (const auto& [title, options] : command.groups) {
    if (title != kGeneralTitle)
      text += fmt::format("{} {}\n", heading_macro, title == kHiddenTitle ? kHiddenHeading : escaped(title));
    for (const Option* const option : options) text += item_of(*option);
  }
  return text;
}

/// The footer of --help is made of sections: a heading and a colon; indented lines of one or two columns,
/// with at least two spaces between them.
std::string footer_of(const CommandSpec& command, std::string_view heading_macro) {
  std::string text;
  bool first = true;
  std::istringstream lines{std::string(command.footer)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    if (!line.starts_with(' ')) {
      text += fmt::format("{} {}\n", heading_macro, escaped(upper_case(line.substr(0, line.find(':')))));
      first = true;
      continue;
    }
    line.erase(0, line.find_first_not_of(' '));
    const std::size_t gap = line.find("  ");
    const std::string title = fmt::format("\\fB{}\\fR", escaped(line.substr(0, gap)));
    if (gap != std::string::npos)
      text += item(title, line.substr(line.find_first_not_of(' ', gap)));
    else
      text += fmt::format("{}{}\n", first ? "" : ".PP\n", title);
    first = false;
  }
  return text;
}

}  // namespace

std::string manual(const CommandSpecs& commands) {
  const CommandSpec& main = *commands.front();
  std::string text = fmt::format(
      ".\\\" Written by clipper --generate man.\n"
      ".TH CLIPPER 1 {} \"clipper {}\" \"User Commands\"\n"
      ".SH NAME\nclipper \\- {}\n.SH SYNOPSIS\n",
      CLIPPER_RELEASED, escaped(CLIPPER_VERSION), escaped(main.summary));
  for (const CommandSpec* const command : commands)
    for (const std::string& usage : usages_of(*command)) text += fmt::format("{}\n.br\n", escaped(usage));
  text +=
      fmt::format(".SH DESCRIPTION\n{}\n.SH OPTIONS\n{}", escaped(main.description), items_of(main, ".SS"));
  text += ".SH COMMANDS\n";
  for (const CommandSpec* const command : std::span(commands).subspan(1))
    text += fmt::format(".SS {}\n{}\n{}{}", escaped(title_of(*command)), escaped(command->description),
                        items_of(*command, ".PP\n.B"), footer_of(*command, ".PP\n.B"));
  return text.append(footer_of(main, ".SH")).append(kSeeAlso);
}

}  // namespace clipper
