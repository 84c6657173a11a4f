#include "generate/manual.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

namespace clipper {
namespace {

constexpr std::string_view kHiddenGroup = "For tests and measurements";
constexpr std::string_view kGeneralGroup = "Options";  ///< CLI11's, of what is in no other
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

std::string title_of(const OptionText& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(fmt::format("\\fB{}\\fR", escaped(name)));
  if (names.empty()) return fmt::format("\\fI{}\\fR", escaped(option.value));
  const std::string value = option.value.empty() ? "" : fmt::format(" \\fI{}\\fR", escaped(option.value));
  return fmt::format("{}{}", fmt::join(names, ", "), value);
}

std::string item_of(const OptionText& option) {
  const bool said = std::all_of(option.words.begin(), option.words.end(), [&](const std::string& word) {
    return option.help.find(word) != std::string::npos;
  });
  const std::string words = said ? "" : fmt::format(". Known: {}", fmt::join(option.words, ", "));
  return item(title_of(option), option.help + words);
}

/// A command's positionals, then its options by group: those of no group first, hidden ones last.
std::string options_of(const CommandText& command, std::string_view heading_macro) {
  std::string general;
  std::string grouped;
  std::string hidden;
  std::string_view group;
  for (const OptionText& option : command.positionals) general += item_of(option);
  for (const OptionText& option : command.options) {
    if (option.group == kGeneralGroup) {
      general += item_of(option);
    } else if (option.group.empty()) {
      hidden += item_of(option);
    } else {
      if (group != option.group) grouped += fmt::format("{} {}\n", heading_macro, escaped(option.group));
      group = option.group;
      grouped += item_of(option);
    }
  }
  if (!hidden.empty()) hidden = fmt::format("{} {}\n{}", heading_macro, kHiddenGroup, hidden);
  return general + grouped + hidden;
}

/// The footer of --help is made of sections: a heading and a colon; indented lines of one or two columns,
/// with at least two spaces between them.
std::string footer_of(const CommandText& command, std::string_view heading_macro) {
  std::string text;
  bool first = true;
  std::istringstream lines(command.footer);
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

std::string manual(const std::vector<CommandText>& commands) {
  const CommandText& main = commands.front();
  std::string text = fmt::format(
      ".\\\" Written by clipper --generate man.\n"
      ".TH CLIPPER 1 {} \"clipper {}\" \"User Commands\"\n"
      ".SH NAME\nclipper \\- {}\n.SH SYNOPSIS\n",
      CLIPPER_RELEASED, escaped(CLIPPER_VERSION), escaped(main.summary));
  for (const CommandText& command : commands)
    text += fmt::format("{}{}\n", &command == &main ? "" : ".br\n", escaped(command.usage));
  text +=
      fmt::format(".SH DESCRIPTION\n{}\n.SH OPTIONS\n{}", escaped(main.description), options_of(main, ".SS"));
  text += ".SH COMMANDS\n";
  for (auto command = commands.begin() + 1; command != commands.end(); ++command)
    text += fmt::format(".SS clipper {}\n{}\n{}{}", escaped(command->name), escaped(command->description),
                        options_of(*command, ".PP\n.B"), footer_of(*command, ".PP\n.B"));
  return text.append(footer_of(main, ".SH")).append(kSeeAlso);
}

}  // namespace clipper
