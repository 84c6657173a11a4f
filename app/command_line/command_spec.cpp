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
  if (short_name(option) == option.names) return {option.names};
  return {short_name(option), long_name(option)};
}

bool excludes(const Option& option, const Option& other) {
  return std::ranges::find(option.excludes, long_name(other)) != option.excludes.end();
}

const Option* option_named(const CommandSpec& spec, std::string_view name) {
  const auto named = std::ranges::find_if(spec.options, [&](const Option* option) {
    return name == long_name(*option) || name == short_name(*option);
  });
  return named == spec.options.end() ? nullptr : *named;
}

}  // namespace clipper
