#include "command_line/help.hpp"

#include <fmt/format.h>

namespace clipper {
namespace {

constexpr std::size_t kHelpColumn = 28;

/// The option, and from kHelpColumn on its help, which may be of several lines.
std::string item(const Option& option) {
  std::string text = fmt::format("  {}{}{}", option.names, option.type.empty() ? "" : " ", option.type);
  if (text.size() >= kHelpColumn) text += '\n' + std::string(kHelpColumn, ' ');
  text.resize(std::max(text.size(), kHelpColumn), ' ');
  for (const char c : option.help) {
    text += c;
    if (c == '\n') text.append(kHelpColumn, ' ');
  }
  return text + '\n';
}

}  // namespace

std::string help_of(const CommandSpec& spec) {
  std::string text = fmt::format("{}\nUsage: {}\n\n", spec.description, usage_of(spec));
  if (!spec.positionals.empty()) text += "Positionals:\n";
  for (const Positional& positional : spec.positionals) text += item(*positional.option);
  for (const OptionGroup& group : spec.groups) {
    if (group.title == kHiddenTitle) continue;
    text += fmt::format("{}:\n", group.title);
    for (const Option* const option : group.options) text += item(*option);
    if (&group != &spec.groups.back()) text += '\n';
  }
  if (!spec.footer.empty()) text += fmt::format("{}\n", spec.footer);
  return text;
}

}  // namespace clipper
