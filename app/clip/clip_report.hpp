#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clip/jobs.hpp"
#include "console/error_line.hpp"
#include "engine/clip_file.hpp"
#include "shards/shard.hpp"

namespace clipper {

/// What -v, --json and warnings report about one file.
struct ClipReport : ClipResult {
  Job job;
  bool is_directory = false;  ///< the input, which has no output of its own
  std::string_view profile;
  bool trial = false;          ///< --dry-run
  std::optional<Shard> shard;  ///< of one tensor; plan and counts cover only this shard
  bool is_part = false;        ///< the output needs --finalize
  double seconds = 0;
  std::optional<Failure> failed;
};

/// The share of elements that clipping raised or lowered, in percent; rounded, only for display.
[[nodiscard]] double clipped_percent(const Plan& plan, const ElementCounts& counts);

/// Warnings about bounds that the dtype cannot hold: "--min 1.5 becomes 1 for int32".
[[nodiscard]] std::vector<std::string> notes_on(const Plan& plan);

/// Text for people: "x.npy: clipped 12.4 % (8.1 % raised, 4.3 % lowered), 3 NaN kept". Not for failures.
[[nodiscard]] std::string as_text(const ClipReport& report);

/// The object `clip` of data/clipper.schema.json, without a newline.
[[nodiscard]] std::string as_json(const ClipReport& report);

}  // namespace clipper
