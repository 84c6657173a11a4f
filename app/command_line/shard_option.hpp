#pragma once

#include <string_view>
#include <vector>

#include "shards/shard.hpp"

namespace clipper {

/// The shard that --shard names: "K/N", or "auto", which takes K and N from the variables of Open MPI, PMI or
/// Slurm, in this order. The variables of Slurm's array jobs do not count: the number of tasks changes if
/// only the failed tasks run again. Throws Error{usage} for any other text, and if no launcher set its
/// variables.
[[nodiscard]] Shard parse_shard(std::string_view text);

}  // namespace clipper
