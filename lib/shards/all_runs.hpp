#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shards/shard_files.hpp"

/// The files of all runs of an output, which are found by their names.
namespace clipper {

/// A record of another run of the same output.
struct OtherRecord {
  std::uint64_t shard = 0;
  std::uint64_t shards = 0;
  std::string work;         ///< ShardRun::work
  std::string description;  ///< ShardRun::description
};

/// The records of all other runs, for messages: a network file system may list names late. Without those that
/// cannot be read.
[[nodiscard]] std::vector<OtherRecord> other_records(const Place& out, const ShardRun& run);

/// Removes all that shards and --finalize have left beside `out`, of all runs, and not `out` itself. Returns
/// the paths; with `dry_run` removes nothing. Error{refused}, with nothing removed, if a shard is running on
/// this machine, or on another one if the file system's locks reach it; also for the errors of open_own().
[[nodiscard]] std::vector<std::string> discard_shards(const std::string& out, bool dry_run);

}  // namespace clipper
