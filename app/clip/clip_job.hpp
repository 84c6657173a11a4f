#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "clip/clip_options.hpp"
#include "clip/jobs.hpp"
#include "clip/run_log.hpp"
#include "files/output_file.hpp"
#include "flows/clip_file.hpp"
#include "flows/tensor_sources.hpp"
#include "shards/shard_files.hpp"

namespace clipper {

/// How to clip for one kind of destination. The same for all files of a command.
struct ClipWay {
  using Existing = OutputFile::Existing;

  std::function<void(Jobs&)> name_outputs = [](Jobs&) {};  ///< does nothing for files in place
  Directory directories = Directory::expected;             ///< of outputs
  std::shared_ptr<OutputRoot> root;                        ///< that outputs do not leave; null: none
  bool keeps_inputs = false;                               ///< refuses an input that is its own output
  bool is_direct = false;                                  ///< changes files without a second file
  bool is_trial = false;                                   ///< results have no place
  std::function<void()>
      placing;  ///< if given, this run is a part of another one: called by ClipObserver::placing()

  // For a process that clips one shard of a tensor:
  std::function<std::unique_ptr<Prepared>(const Clipping&, const Job&, Existing)> prepare;
  std::optional<Shard> shard;
  bool waits = false;  ///< the output is not complete before --finalize
};

[[nodiscard]] ClipWay way_to(const Destination& to);  ///< of results

/// What all jobs of a command share.
struct ClipRun {
  const Command& command;  ///< with the figures of the pool
  const ClipWay& way;
  const Jobs& jobs;
  Engine& engine;
  ReplacementBatch& replacements;
  RunLog& log;
  const TensorPool* pool = nullptr;  ///< of all inputs; null without --pooled

  /// Takes a file in place that found no room, to be tried again alone. Null: such a file has failed.
  std::function<void(const Job&)> put_off{};
};

/// Clips one file and reports the result in the log. The result of a file in place may be reported only when
/// run.replacements are committed. Throws only what RunLog::stop_after_failure() throws.
void clip_job(const ClipRun& run, const Job& job);

/// Throws the failures that clip_job() would report before it creates a file. Returns the size of the data in
/// bytes; 0 for a stream, which is not read.
[[nodiscard]] std::uint64_t check_job(const ClipRun& run, const Job& job);

/// Why the job's output, a file that exists, has to be written again: see clipper::why_unfinished().
[[nodiscard]] std::string why_unfinished(const ClipRun& run, const Job& job);

/// Returns the exit status, or throws the first failure.
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
