#pragma once

#include "clip/clip_options.hpp"

namespace clipper {

/// Compares the result of the only input with the golden file bit by bit and prints differences as
/// `clipper compare` does. Returns the exit status: 0 or ErrorKind::different. With --update-golden, writes a
/// golden file that is missing or different and returns 0.
[[nodiscard]] int verify(const Command& command, const Verify& to);

}  // namespace clipper
