#pragma once

#include "command_line/command_spec.hpp"

namespace clipper {

class RawOptions;

extern const CommandSpec kGenerateSpec;

/// `clipper --generate man|bash|zsh|fish`: prints the manual or a shell's completions of the public ones
/// among these commands, for packages. The first has no name. Returns the exit status.
[[nodiscard]] int generate_file(const RawOptions& raw, CommandSpecs commands);

}  // namespace clipper
