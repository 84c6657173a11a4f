#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clip/jobs.hpp"
#include "console/error_line.hpp"
#include "flows/clipping.hpp"
#include "shards/shard.hpp"

namespace clipper {

/// How many members of an archive were clipped, copied and dropped.
using ActionCounts = std::array<std::uint64_t, 3>;

/// What -v, --json and warnings report about one file, or about one member of an archive.
struct ClipReport : ClipResult {
  Job job;
  bool has_output = true;                 ///< false for a directory, and where an output has no name
  std::optional<ActionCounts> members{};  ///< of an archive that is done
  std::string_view profile;
  bool trial = false;          ///< --dry-run
  std::optional<Shard> shard;  ///< of one tensor; plan and counts cover only this shard
  bool is_part = false;        ///< the output needs --finalize
  double seconds = 0;
  std::optional<Failure> failed;
};

/// Warnings about bounds that the dtype cannot hold, such as "--min 1.5 becomes 1 for int32".
[[nodiscard]] std::vector<std::string> notes_on(const Plan& plan);

/// Text for people: "x.npy: clipped 12.4 % (8.1 % raised, 4.3 % lowered), 3 NaN kept". Not for failures.
[[nodiscard]] std::string as_text(const ClipReport& report);

/// The object `clip` of data/clipper.schema.json is both texts, one after the other, without a newline. The
/// start is the same for all members of an archive.
[[nodiscard]] std::string json_start(const ClipReport& report);

struct JsonRest {
  std::string member;
  std::string plan;
  std::string result;
};
[[nodiscard]] JsonRest json_rest(const ClipReport& report);

}  // namespace clipper
