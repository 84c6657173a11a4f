#pragma once

#include <functional>
#include <optional>

#include "clip/destination.hpp"
#include "clip/jobs.hpp"
#include "files/output_file.hpp"
#include "flows/clip_file.hpp"
#include "shards/shard.hpp"

namespace clipper {

/// How to clip for one kind of destination. The same for all files of a command.
struct ClipWay {
  using Existing = OutputFile::Existing;

  std::function<void(Jobs&)> name_outputs = [](Jobs&) {};  ///< does nothing for files in place
  bool makes_directories = false;                          ///< creates missing directories of outputs
  bool keeps_inputs = false;                               ///< refuses an input that is its own output
  Rewriting rewriting = Rewriting::with_second_file;       ///< how files are changed in place

  /// Clips a job that has an output.
  std::function<void(const Clipping&, const Job&, Existing, ClipResult&)> write =
      [](const Clipping& clipping, const Job& job, Existing existing, ClipResult& result) {
        clip_to_file(clipping, job.input, *job.output, existing, result);
      };

  // For a process that clips one shard of a tensor:
  std::optional<Shard> shard;
  bool waits = false;  ///< the output is not complete before --finalize
  /// Makes the function that narrows a plan from the whole tensor to the shard.
  std::function<std::function<void(Plan&, const InputFile&)>(const Job&, Existing)> narrow;
};

[[nodiscard]] ClipWay way_to(const ToFile& to);
[[nodiscard]] ClipWay way_to(const IntoDirectory& to);
[[nodiscard]] ClipWay way_to(const ByTemplate& to);
[[nodiscard]] ClipWay way_to(const InPlace& to);
[[nodiscard]] ClipWay way_to(const Direct& to);
[[nodiscard]] ClipWay way_to(const PartOf& to);
[[nodiscard]] ClipWay way_to(const SlabOf& to);

}  // namespace clipper
