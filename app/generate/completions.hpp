#pragma once

#include <string>

#include "command_line/command_spec.hpp"

/// Completions: options with their help, known values, names of files and of directories. Each is a file that
/// the shell loads; bash needs nothing else installed. The first command has no name.
namespace clipper {

[[nodiscard]] std::string bash_completions(const CommandSpecs& commands);
[[nodiscard]] std::string zsh_completions(const CommandSpecs& commands);
[[nodiscard]] std::string fish_completions(const CommandSpecs& commands);

}  // namespace clipper
