#pragma once

#include <string>

#include "command_line/command_spec.hpp"

/// Files that a shell loads to complete options (with their help), known values, files and directories. The
/// file for bash does not need the package bash-completion. The first of the commands has no name.
namespace clipper {

[[nodiscard]] std::string bash_completions(const CommandSpecs& commands);
[[nodiscard]] std::string zsh_completions(const CommandSpecs& commands);
[[nodiscard]] std::string fish_completions(const CommandSpecs& commands);

}  // namespace clipper
