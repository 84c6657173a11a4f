#pragma once

#include "clip/clip_options.hpp"
#include "clip/jobs.hpp"
#include "clip/run_log.hpp"
#include "contract/plan.hpp"
#include "engine/engine.hpp"
#include "files/replacement_batch.hpp"

namespace clipper {

/// What the files of a command have in common while they are clipped.
struct Clipping {
  const Command& command;
  Engine& engine;
  ReplacementBatch& replacements;
  RunLog& log;
};

/// Clips one file, and reports how that ended: a file in place perhaps only when it is committed with others.
/// Throws only what stop_after_failure() throws.
void clip_file(const Clipping& clipping, const Job& job);

/// The header of an input, and what the command does to it.
[[nodiscard]] Plan plan_for(const Command& command, InputFile& input);

/// Throws what clip_file() would report before it creates anything. Returns the bytes of the elements; 0 for
/// a stream, which is not touched.
[[nodiscard]] std::uint64_t check_file(const Command& command, const Job& job);

}  // namespace clipper
