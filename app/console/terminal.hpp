#pragma once

#include <cstddef>

namespace clipper {

/// The columns of the terminal that the descriptor leads to; of anything else 80.
[[nodiscard]] std::size_t terminal_columns(int fd);

}  // namespace clipper
