#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/compare_files.hpp"
#include "compare/comparison_text.hpp"
#include "console/color.hpp"
#include "console/error_line.hpp"

namespace clipper {

/// What became of a pair.
enum class PairResult : std::uint8_t { ok, different, missing, failed, created, updated };

/// The result of comparing two files, or two members of archives.
struct PairReport : FileComparison {
  std::string actual;                 ///< path as given, or below the given directory
  std::string expected;               ///< path as given, or below the given directory
  std::optional<std::string> member;  ///< of two archives: its name in both
  std::string member_path;            ///< "a.npz:w", for text
  bool without_members = false;       ///< two archives that have no members
  PairResult result = PairResult::ok;
  std::optional<Failure> failed;
  Compared compared = Compared::values;
  bool lacks_metrics = false;      ///< they were asked for, but bytes have none
  std::string broken_limits;       ///< of metrics; no tolerance would let the pair pass then
  std::vector<std::string> notes;  ///< with --verify: notes_on() of the plan

  /// The exit status: 0, 1 (ErrorKind::different), or that of the failure.
  [[nodiscard]] int status() const noexcept;
};

/// How many pairs had each PairResult.
using PairCounts = std::array<std::uint64_t, 6>;

/// The path of the actual file, or of the actual member.
[[nodiscard]] const std::string& name_of(const PairReport& report);

/// Why the pair fails, or how its elements differ although it passes: one line without the name.
[[nodiscard]] std::string message_of(const PairReport& report);

/// The listed mismatches, one line each.
[[nodiscard]] std::vector<std::string> mismatch_lines(const PairReport& report);

/// Text for people: a line "ok ACTUAL" or "FAIL ACTUAL: ...", followed by at most `shown` mismatches. Not for
/// failures.
[[nodiscard]] std::string as_text(const PairReport& report, std::size_t shown, const Paint& paint);

/// One line: the object `compare` of data/clipper.schema.json.
[[nodiscard]] std::string as_json(const PairReport& report);

/// The closing line: "26 pairs: 24 ok, 1 FAIL, 1 missing".
[[nodiscard]] std::string as_text(const PairCounts& counts);

/// One line: the object `summary` of data/clipper.schema.json.
[[nodiscard]] std::string as_json(const PairCounts& counts, int status);

}  // namespace clipper
