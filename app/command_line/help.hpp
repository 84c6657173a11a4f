#pragma once

#include <string>

#include "command_line/command_spec.hpp"

namespace clipper {

/// What `clipper COMMAND --help` prints.
[[nodiscard]] std::string help_of(const CommandSpec& spec);

}  // namespace clipper
