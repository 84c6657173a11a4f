#pragma once

#include <string_view>
#include <vector>

#include "command_line/command_spec.hpp"

namespace clipper {

/// `clipper help [COMMAND]`, which prints what `clipper [COMMAND] --help` prints.
extern const CommandSpec kHelpSpec;

/// All commands. The first has no name: it runs if the first word names no other command.
[[nodiscard]] CommandSpecs command_specs();

/// The commands that the help of `spec` lists: for the command without a name, all others that are public.
[[nodiscard]] CommandSpecs listed_commands(const CommandSpec& spec);

/// The names of the public commands: what `clipper help` takes.
[[nodiscard]] std::vector<std::string_view> command_names();

/// Runs the command that main's words name. Returns the exit status.
[[nodiscard]] int run_command(int argc, const char* const* argv);

}  // namespace clipper
