#pragma once

#include "clip/clip_options.hpp"

namespace clipper {

/// Compares what the only input becomes with the golden file, element by element and bit by bit, and says
/// what is different as `clipper compare` does. Returns the exit status: 0 or ErrorKind::different. With
/// --update-golden a file that is different or missing is written, and the status is 0.
[[nodiscard]] int verify(const Command& command, const Verify& to);

}  // namespace clipper
