#pragma once

#include <string>
#include <string_view>

namespace clipper {

/// The text on one line, harmless to a terminal: control characters and bytes that are not UTF-8, which file
/// names may hold, become \xNN.
[[nodiscard]] std::string escape_for_terminal(std::string_view text);

}  // namespace clipper
