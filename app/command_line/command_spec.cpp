#include "command_line/command_spec.hpp"

#include <fmt/format.h>

namespace clipper {

std::string title_of(const CommandSpec& spec) {
  return fmt::format("clipper{}{}", spec.name.empty() ? "" : " ", spec.name);
}

std::string usage_of(const CommandSpec& spec) {
  std::string usage = title_of(spec) + " [OPTIONS]";
  for (const auto& [option, arity] : spec.positionals) switch (arity) {
      case Arity::optional: usage += fmt::format(" [{}]", option->names); break;
      case Arity::required: usage += fmt::format(" {}", option->names); break;
      case Arity::many: usage += fmt::format(" [{}...]", option->names); break;
    }
  return usage;
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

}  // namespace clipper
