#pragma once

#include <cstdint>

#include "clip/clip_options.hpp"
#include "clip/clip_way.hpp"
#include "clip/jobs.hpp"
#include "clip/run_log.hpp"
#include "engine/clip_file.hpp"
#include "files/replacement_batch.hpp"

namespace clipper {

/// What the files of a command have in common while they are clipped.
struct ClipRun {
  const Command& command;
  const ClipWay& way;
  const ClipSettings& settings;
  Engine& engine;
  ReplacementBatch& replacements;
  RunLog& log;
};

[[nodiscard]] ClipSettings settings_of(const Command& command);

/// Clips one file, and reports how that ended: a file in place perhaps only when it is committed with others.
/// Throws only what stop_after_failure() throws.
void clip_job(const ClipRun& run, const Job& job);

/// Throws what clip_job() would report before it creates anything. Returns the bytes of the elements; 0 for
/// a stream, which is not touched.
[[nodiscard]] std::uint64_t check_job(const ClipRun& run, const Job& job);

}  // namespace clipper
