#pragma once

#include "clip/clip_options.hpp"

namespace clipper {

/// Puts the output of a run of shards in place: the run that the command's operation and input belong to, or
/// without an input the one that OUT.shards names. Returns the exit status, 0. Throws as Join does, and as a
/// shard for the input.
[[nodiscard]] int finalize(const Command& command, const Finalize& to);

}  // namespace clipper
