#pragma once

#include <cstdint>
#include <functional>

#include "clip/clip_options.hpp"
#include "clip/clip_way.hpp"
#include "clip/jobs.hpp"
#include "clip/run_log.hpp"
#include "files/replacement_batch.hpp"
#include "flows/clip_file.hpp"

namespace clipper {

/// What all jobs of a command share.
struct ClipRun {
  const Command& command;
  const ClipWay& way;
  const Jobs& jobs;
  Engine& engine;
  ReplacementBatch& replacements;
  RunLog& log;

  /// Takes a file in place that found no room, to be tried again alone. Null: such a file has failed.
  std::function<void(const Job&)> put_off{};
};

/// Clips one file and reports the result in the log. The result of a file in place may be reported only when
/// run.replacements are committed. Throws only what RunLog::stop_after_failure() throws.
void clip_job(const ClipRun& run, const Job& job);

/// Throws the failures that clip_job() would report before it creates a file. Returns the size of the data in
/// bytes; 0 for a stream, which is not read.
[[nodiscard]] std::uint64_t check_job(const ClipRun& run, const Job& job);

}  // namespace clipper
