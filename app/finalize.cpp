#include "finalize.hpp"

#include <cstdint>
#include <optional>

#include "clip_file.hpp"
#include "engine.hpp"
#include "error.hpp"
#include "input_file.hpp"
#include "join.hpp"
#include "progress.hpp"
#include "shard_files.hpp"

namespace clipper {
namespace {

/// The number of shards, which only those know that have been started by an engine: from OUT.shards then.
std::uint64_t shards_of(const Command& command) {
  if (command.shard) return command.shard->count;
  const std::optional<ShardRun> run = ShardFiles(*command.output).read_run();
  if (!run) refuse(*command.output, "no shards of it wait to be finalized");
  return run->shards;
}

std::optional<ShardRun> wanted_run(const Command& command) {
  if (command.inputs.empty()) return std::nullopt;
  InputFile input = InputFile::open_regular(command.inputs.front());
  const Plan plan = plan_for(command, input);
  return make_run(shards_of(command), command.existing == OutputFile::Existing::refuse, plan, input);
}

}  // namespace

void finalize(const Command& command) {
  Join join(*command.output, command.existing, wanted_run(command));
  Engine engine(command.engine);
  const Progress progress(command.progress, [&] { return Extent{engine.done(), join.size(), 0, 1}; });
  join.run(engine);
}

}  // namespace clipper
