#pragma once

#include "clip/clip_options.hpp"

namespace clipper {

/// Puts the output of a run of shards in place. The run is the one that the command's operation and input
/// belong to, or without an input the one that OUT.shards names. Returns the exit status, 0. Throws the
/// errors of Join, and those of a shard for the input.
[[nodiscard]] int finalize(const Command& command, const Finalize& to);

/// Removes what shards of OUT have left; a dry run prints the names instead. Returns the exit status, 0.
/// Throws the errors of discard_shards().
[[nodiscard]] int discard(const Command& command, const DiscardShards& to);

}  // namespace clipper
