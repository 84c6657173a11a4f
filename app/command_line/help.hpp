#pragma once

#include <cstddef>
#include <string>

#include "command_line/command_spec.hpp"

namespace clipper {

/// What `clipper COMMAND --help` prints, wrapped between words to `columns` columns. The footer is not
/// wrapped. Lists `commands` unless there are none.
[[nodiscard]] std::string help_of(const CommandSpec& spec, const CommandSpecs& commands, std::size_t columns);

/// What --version prints: "clipper 0.1.0", and lines about this build and this CPU.
[[nodiscard]] std::string version_text();

}  // namespace clipper
