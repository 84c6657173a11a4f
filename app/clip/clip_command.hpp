#pragma once

#include "clip/clip_options.hpp"

namespace clipper {

/// Does what was typed. Returns the exit status: with --keep-going the highest of all files; otherwise throws
/// the first failure, which ends the work.
[[nodiscard]] int clip_files(const Command& command);

}  // namespace clipper
