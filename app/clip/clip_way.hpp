#pragma once

#include <functional>
#include <memory>
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
  Directory directories = Directory::expected;             ///< of outputs
  std::shared_ptr<OutputRoot> root;                        ///< that outputs do not leave; null: none
  bool keeps_inputs = false;                               ///< refuses an input that is its own output
  bool is_direct = false;                                  ///< changes files without a second file
  std::function<void()>
      placing;  ///< if given, this run is a part of another one: called by ClipObserver::placing()

  // For a process that clips one shard of a tensor:
  std::function<std::unique_ptr<Prepared>(const Clipping&, const Job&, Existing)> prepare;
  std::optional<Shard> shard;
  bool waits = false;  ///< the output is not complete before --finalize
};

[[nodiscard]] ClipWay way_to(const ToFile& to);
[[nodiscard]] ClipWay way_to(const IntoDirectory& to);
[[nodiscard]] ClipWay way_to(const ByTemplate& to);
[[nodiscard]] ClipWay way_to(const InPlace& to);
[[nodiscard]] ClipWay way_to(const Direct& to);
[[nodiscard]] ClipWay way_to(const PartOf& to);
[[nodiscard]] ClipWay way_to(const SlabOf& to);

}  // namespace clipper
