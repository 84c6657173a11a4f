#pragma once

#include <string>

#include "command_line/command_spec.hpp"

namespace clipper {

/// The manual page clipper(1), in the language of man(7).
[[nodiscard]] std::string manual(const CommandSpecs& commands);

}  // namespace clipper
