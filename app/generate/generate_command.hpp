#pragma once

#include "command_line/command_spec.hpp"

namespace clipper {

class RawOptions;

extern const CommandSpec kGenerateSpec;

/// `clipper --generate man|bash|zsh|fish`: prints the manual or a shell's completions for packages. Covers
/// the public commands among `commands`, the first of which has no name. `clipper --generate members FILE` is
/// for the completions: it prints the members of an archive. Returns the exit status.
[[nodiscard]] int generate_file(const RawOptions& raw, CommandSpecs commands);

}  // namespace clipper
