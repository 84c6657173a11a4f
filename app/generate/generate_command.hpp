#pragma once

#include "command_line/command_line.hpp"

namespace clipper {

/// `clipper --generate man|bash|zsh|fish`: prints the manual or a shell's completions, for packages. Returns
/// the exit status.
int generate_file(const Parse& parse);

}  // namespace clipper
