#pragma once

#include "command_line/command_spec.hpp"

namespace clipper {

class RawOptions;

extern const CommandSpec kGenerateSpec;

/// `clipper --generate man|bash|zsh|fish`: prints the manual or a shell's completions of these commands, for
/// packages. The first of them has no name. Returns the exit status.
[[nodiscard]] int generate_file(const RawOptions& raw, const CommandSpecs& commands);

}  // namespace clipper
