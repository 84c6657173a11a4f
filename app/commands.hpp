#pragma once

namespace clipper {

/// Runs the command that main's words name. Returns the exit status.
[[nodiscard]] int run_command(int argc, const char* const* argv);

}  // namespace clipper
