#pragma once

#include <string>
#include <vector>

#include "generate/option_reference.hpp"

namespace clipper {

/// The manual page clipper(1), in the language of man(7).
[[nodiscard]] std::string manual(const std::vector<CommandText>& commands);

}  // namespace clipper
