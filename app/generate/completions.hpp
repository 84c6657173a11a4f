#pragma once

#include <string>
#include <vector>

#include "generate/option_reference.hpp"

/// Completions: options with their help, known values, names of .npy files and of directories. Each is a file
/// that the shell loads; bash needs nothing else installed.
namespace clipper {

[[nodiscard]] std::string bash_completions(const std::vector<CommandText>& commands);
[[nodiscard]] std::string zsh_completions(const std::vector<CommandText>& commands);
[[nodiscard]] std::string fish_completions(const std::vector<CommandText>& commands);

}  // namespace clipper
