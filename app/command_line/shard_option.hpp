#pragma once

#include <string_view>
#include <vector>

#include "shards/shard.hpp"

namespace clipper {

/// The shard that --shard names: "K/N", or "auto", which takes this process's rank and their number from Open
/// MPI, PMI or Slurm, in that order. An array job's task is not one of them: when only the failed tasks are
/// run again, their number is another. Error{usage} for anything else, and if none of them has started the
/// process.
[[nodiscard]] Shard parse_shard(std::string_view text);

[[nodiscard]] std::vector<std::string_view> shard_words();  ///< for completions

}  // namespace clipper
