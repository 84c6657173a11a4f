#include "command_line/command_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace clipper {

std::string title_of(const CommandSpec& spec) {
  return fmt::format("clipper{}{}", spec.name.empty() ? "" : " ", spec.name);
}

std::vector<std::string> usages_of(const CommandSpec& spec) {
  std::vector<std::string> usages;
  for (const std::string_view form : spec.forms) usages.push_back(fmt::format("{} {}", title_of(spec), form));
  return usages;
}

std::vector<std::string_view> names_of(const Option& option) {
  const std::size_t comma = option.names.find(',');
  if (comma == std::string_view::npos) return {option.names};
  return {option.names.substr(0, comma), option.names.substr(comma + 1)};
}

std::vector<const Option*> options_of(const CommandSpec& spec) {
  std::vector<const Option*> options;
  for (const OptionGroup& group : spec.groups)
    options.insert(options.end(), group.options.begin(), group.options.end());
  return options;
}

const Option* option_named(const CommandSpec& spec, std::string_view name) {
  const std::vector<const Option*> options = options_of(spec);
  const auto named = std::ranges::find_if(options, [&](const Option* option) {
    const std::vector<std::string_view> names = names_of(*option);
    return std::ranges::find(names, name) != names.end();
  });
  return named == options.end() ? nullptr : *named;
}

}  // namespace clipper
