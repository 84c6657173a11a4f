#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
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
  std::uint64_t others = 0;               ///< of them: not converted by --to, or removed in place
  std::set<std::string> reasons{};        ///< why these were not clipped
  std::string_view profile;
  bool trial = false;          ///< --dry-run
  std::optional<Shard> shard;  ///< of one tensor; plan and counts cover only this shard
  bool is_part = false;        ///< the output needs --finalize
  double seconds = 0;
  std::optional<Failure> failed;
};

/// Warnings about bounds that the dtype cannot hold: "--min 1.5 becomes 1 for int32"; and about bounds that
/// this tensor does not have: "a.npz:w: --min 1% is no bound: all elements are NaN".
[[nodiscard]] std::vector<std::string> notes_on(const Plan& plan, const std::string& name);

/// What became of the file or member: "clipped", "copied", "dropped"; "left alone" for a file in place.
[[nodiscard]] std::string_view what_became(const ClipReport& report);

/// "(bool, dates, int64)".
[[nodiscard]] std::string text_of(const std::set<std::string>& reasons);

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
