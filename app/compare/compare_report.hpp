#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compare/compare_files.hpp"
#include "compare/comparison_text.hpp"
#include "console/color.hpp"
#include "console/error_line.hpp"

namespace clipper {

/// The result of comparing two files, or two members of archives.
struct PairReport : FileComparison {
  std::string actual;                 ///< path as given, or below the given directory
  std::string expected;               ///< path as given, or below the given directory
  std::optional<std::string> member;  ///< of two archives: its name in both
  std::string member_path;            ///< "a.npz:w", for text
  bool without_members = false;       ///< two archives that have no members
  int status = 0;                     ///< 0, 1 (ErrorKind::different), or that of the failure
  std::optional<Failure> failed;
  Compared compared = Compared::values;
  std::vector<std::string> notes;  ///< with --verify: notes_on() of the plan
};

/// Text for people: a line "ok ACTUAL" or "FAIL ACTUAL: ...", followed by at most `shown` mismatches. Not for
/// failures.
[[nodiscard]] std::string as_text(const PairReport& report, std::size_t shown, const Paint& paint);

/// One line: the object `compare` of data/clipper.schema.json.
[[nodiscard]] std::string as_json(const PairReport& report);

}  // namespace clipper
