#include "generate/option_reference.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string_view>

#include "commands.hpp"

namespace clipper {
namespace {

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

/// A type's name, as CLI11 writes it: "NAME" or "NAME:{one,two}".
void take_type(const std::string& type, OptionText& text) {
  const std::size_t colon = type.find(':');
  text.value = type.substr(0, colon);
  if (colon != std::string::npos && type.substr(colon + 1).starts_with('{'))
    text.words = CLI::detail::split(type.substr(colon + 2, type.size() - colon - 3), ',');
}

OptionText text_of(const CLI::Option& option) {
  OptionText text;
  text.names = names_of(option);
  text.help = option.get_description();
  text.group = option.get_group();
  take_type(option.get_type_name(), text);
  if (option.get_positional()) text.value = option.get_name(true);
  std::replace(text.help.begin(), text.help.end(), '\n', ' ');
  for (const CLI::Option* other : option.get_excludes())
    for (std::string& name : names_of(*other)) text.excludes.push_back(std::move(name));
  std::sort(text.excludes.begin(), text.excludes.end());  // CLI11 has them by their addresses
  return text;
}

std::string summary_of(const std::string& description) {
  std::string summary = description.substr(0, description.find_first_of(":\n"));
  if (summary.ends_with('.')) summary.pop_back();
  summary.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(summary.front())));
  return summary;
}

CommandText text_of(std::string_view name, const CLI::App& app) {
  const std::string usage = CLI::Formatter().make_usage(&app, app.get_name());
  CommandText text;
  text.name = name;
  text.usage = CLI::detail::trim_copy(usage.substr(usage.find(':') + 1));
  text.summary = summary_of(app.get_description());
  text.description = app.get_description();
  text.footer = app.get_footer();
  for (const std::string& group : app.get_groups())
    for (const CLI::Option* option : app.get_options())
      if (option->get_group() == group)
        (option->get_positional() ? text.positionals : text.options).push_back(text_of(*option));
  return text;
}

}  // namespace

std::vector<CommandText> command_texts() {
  std::vector<CommandText> texts;
  for (const CommandRow& row : commands())
    row.run([&](CLI::App& app) {
      add_help(app);
      if (!app.get_group().empty()) texts.push_back(text_of(row.name, app));
      return false;
    });
  return texts;
}

}  // namespace clipper
