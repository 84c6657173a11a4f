#pragma once

#include "clip/clip_options.hpp"

namespace clipper {

/// Compares the result of each input with its golden file and prints differences as `clipper compare` does.
/// Returns the exit status: the highest of all pairs. With --update-golden, writes each golden file that is
/// missing or fails, which counts as 0.
[[nodiscard]] int verify(const Command& command, const Verify& to);

}  // namespace clipper
