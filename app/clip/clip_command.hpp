#pragma once

#include "clip/clip_job.hpp"
#include "clip/clip_options.hpp"

namespace clipper {

class RawOptions;

/// `clipper` without a command name. Returns the exit status, or throws the first failure.
[[nodiscard]] int run_clip(const RawOptions& raw);
[[nodiscard]] int run_clip(const Command& command);

/// Clips all files. Returns the exit status: 0, or with --keep-going the highest status of all files. Without
/// --keep-going, throws the first failure, which ends the work.
[[nodiscard]] int clip_files(const Command& command, const ClipWay& way);

/// Reads all inputs of --pooled. Sets the request of `found`, and prints the numbers with -v and --dry-run.
void find_figures(const Command& command, const Jobs& jobs, TensorPool& pool, Command& found);

/// Compares the result of each input with its golden file and prints differences as `clipper compare` does.
/// Returns the exit status: the highest of all pairs. With --update-golden, writes each golden file that is
/// missing or fails, which counts as 0.
[[nodiscard]] int verify(const Command& command, const Verify& to);

}  // namespace clipper
