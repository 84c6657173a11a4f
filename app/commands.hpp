#pragma once

#include <span>
#include <string_view>

#include "command_line/command_line.hpp"

namespace clipper {

struct CommandRow {
  std::string_view name;     ///< the first word behind "clipper"
  int (*run)(const Parse&);  ///< returns the exit status
};

/// Every command. The first has no name: it is what clipper does if the first word names no other.
[[nodiscard]] std::span<const CommandRow> commands() noexcept;

/// Runs the command that main's words name. Returns the exit status.
[[nodiscard]] int run_command(int argc, const char* const* argv);

}  // namespace clipper
