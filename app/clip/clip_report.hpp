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

/// What is said of one file.
struct ClipReport : ClipResult {
  Job job;
  std::string_view profile;    ///< its name
  bool trial = false;          ///< --dry-run
  std::optional<Shard> shard;  ///< of one tensor: plan and counts are its part's
  bool is_part = false;        ///< of an output that waits for --finalize
  double seconds = 0;
  std::optional<Failure> failed;
};

/// Of all elements, how many became others by clipping, in percent; rounded, for people.
[[nodiscard]] double clipped_percent(const Plan& plan, const ElementCounts& counts);

/// What the user should know of the plan: "--min 1.5 becomes 1 for int32".
[[nodiscard]] std::vector<std::string> notes_on(const Plan& plan);

/// "x.npy: clipped 12.4 % (8.1 % raised, 4.3 % lowered), 3 NaN kept", for people. Not of a failure.
[[nodiscard]] std::string as_text(const ClipReport& report);

/// One JSON object in a line, as described in the README: schema version 1. Bytes of a path that are not
/// UTF-8 become U+FFFD.
[[nodiscard]] std::string as_json(const ClipReport& report);

}  // namespace clipper
