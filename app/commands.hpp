#pragma once

#include "command_line/command_spec.hpp"

namespace clipper {

/// Of every command. The first has no name: it is what clipper does if its first word names no other.
[[nodiscard]] CommandSpecs command_specs();

/// Runs the command that main's words name. Returns the exit status.
[[nodiscard]] int run_command(int argc, const char* const* argv);

}  // namespace clipper
