#include "clip/finalize.hpp"

#include <optional>

#include "clip/clip_file.hpp"
#include "console/progress.hpp"
#include "engine/engine.hpp"
#include "files/input_file.hpp"
#include "shards/join.hpp"
#include "shards/shard_files.hpp"

namespace clipper {
namespace {

/// The run that the operation and the input belong to. How many shards there are only those know that have
/// been started by an engine: otherwise OUT.shards says so.
Join::Wanted wanted_run(const Command& command) {
  if (command.inputs.empty()) return nullptr;
  InputFile input = InputFile::open_regular(command.inputs.front());
  const Plan plan = plan_for(command, input);
  const bool must_be_new = command.existing == OutputFile::Existing::refuse;
  const ShardRun run = make_run(command.shard ? command.shard->count : 0, must_be_new, plan, input);
  return [run](const std::optional<ShardRun>& there) -> std::optional<ShardRun> {
    if (run.shards == 0 && !there) return std::nullopt;
    ShardRun wanted = run;
    if (run.shards == 0) wanted.shards = there->shards;
    return wanted;
  };
}

}  // namespace

void finalize(const Command& command) {
  Join join(*command.output, command.existing, wanted_run(command));
  Engine engine(command.engine);
  const Progress progress(command.progress, [&] { return Extent{engine.done(), join.size(), 0, 1}; });
  join.run(engine);
}

}  // namespace clipper
