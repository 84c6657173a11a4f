#pragma once

#include "command_line/command_spec.hpp"

namespace clipper {

class RawOptions;

extern const CommandSpec kHelpSpec;

/// `clipper help [COMMAND]`: prints what `clipper [COMMAND] --help` prints. Returns the exit status.
[[nodiscard]] int show_help(const RawOptions& raw);

}  // namespace clipper
