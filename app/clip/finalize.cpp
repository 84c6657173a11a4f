#include "clip/finalize.hpp"

#include "command_line/command_line.hpp"
#include "console/progress.hpp"
#include "engine/engine.hpp"
#include "shards/all_runs.hpp"
#include "shards/clip_shard.hpp"

namespace clipper {
namespace {

/// The run that the command's operation and input belong to; null without an input.
Join::Wanted wanted_run(const Command& command, std::uint64_t shards) {
  if (command.inputs.empty()) return nullptr;
  return run_of(command.settings, command.inputs.front(), command.existing, shards);
}

}  // namespace

int finalize(const Command& command, const Finalize& to) {
  Join join(to.path, command.existing, wanted_run(command, to.shards));
  Engine engine(command.engine);
  const Progress progress(command.progress, [&] { return Extent{engine.done(), join.size(), 0, 1}; });
  join.run(engine);
  return 0;
}

int discard(const Command& command, const DiscardShards& to) {
  std::string text;
  for (const std::string& path : discard_shards(to.path, command.dry_run)) text += path + "\n";
  if (command.dry_run) print(text);
  return 0;
}

}  // namespace clipper
