#include "command_line/shard_option.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string>

#include "command_line/values.hpp"

namespace clipper {
namespace {

constexpr std::string_view kFlag = "--shard";

struct Launcher {
  const char* rank;
  const char* size;
};

constexpr std::array kLaunchers{
    Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    Launcher{"PMI_RANK", "PMI_SIZE"},
    Launcher{"SLURM_PROCID", "SLURM_NTASKS"},
};

Shard shard_of(const std::string& flag, std::string_view index, std::string_view count) {
  Shard shard;
  shard.count = parse_count(flag, count, 1, kMaxShards);
  shard.index = parse_count(flag, index, 0, kMaxShards);
  if (shard.index >= shard.count)
    refuse(fmt::format("{}: shard index {} out of range (0 to {})", flag, shard.index, shard.count - 1));
  return shard;
}

Shard automatic_shard() {
  for (const Launcher& launcher : kLaunchers) {
    const char* const rank = std::getenv(launcher.rank);
    const char* const size = std::getenv(launcher.size);
    if (rank != nullptr && size != nullptr)
      return shard_of(fmt::format("--shard auto: {}/{}", launcher.rank, launcher.size), rank, size);
  }
  refuse("--shard auto: Open MPI, PMI or Slurm (srun) did not start this process; write --shard K/N");
}

}  // namespace

Shard parse_shard(std::string_view text) {
  if (text == "auto") return automatic_shard();
  const std::size_t slash = text.find('/');
  if (slash == text.npos)
    refuse(fmt::format("{}: '{}' is neither K/N, for example 0/4, nor auto", kFlag, text));
  return shard_of(std::string(kFlag), text.substr(0, slash), text.substr(slash + 1));
}

}  // namespace clipper
