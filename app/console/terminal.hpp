#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace clipper {

/// Whether the descriptor leads to a terminal that understands escape sequences: TERM is set and not "dumb".
[[nodiscard]] bool is_capable_terminal(int fd);

/// The width of the terminal that the descriptor leads to; 80 if it leads to something else.
[[nodiscard]] std::size_t terminal_columns(int fd);

/// The text on one line, harmless to a terminal: control characters and bytes that are not UTF-8, which file
/// names may hold, become \xNN.
[[nodiscard]] std::string escape_for_terminal(std::string_view text);

}  // namespace clipper
