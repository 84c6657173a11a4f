#pragma once

#include <cstddef>

namespace clipper {

/// Whether the descriptor leads to a terminal that understands escape sequences: TERM is set and not "dumb".
[[nodiscard]] bool is_capable_terminal(int fd);

/// The width of the terminal that the descriptor leads to; 80 if it leads to something else.
[[nodiscard]] std::size_t terminal_columns(int fd);

}  // namespace clipper
