#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compare/compare_report.hpp"
#include "compare/comparison.hpp"
#include "console/progress.hpp"
#include "element/dtype.hpp"
#include "element/percentage.hpp"
#include "engine/engine.hpp"

namespace clipper {

class RawOptions;
struct CommandSpec;

/// How many mismatches pass: a number, or a percentage of all elements.
struct Allowance {
  std::uint64_t count = 0;
  std::optional<Percentage> percentage;

  [[nodiscard]] bool covers(const ElementComparison& comparison) const;
};

/// A parsed command line of `clipper compare`, not yet compared with any file.
struct CompareCommand {
  std::string actual;    ///< a file, a directory, or "-" for standard input
  std::string expected;  ///< a file, a directory, or "-" if `actual` is not "-"
  ComparisonRule rule;
  Compared compared = Compared::values;
  bool strict_header = false;
  Allowance allowance;
  std::size_t shown = 0;                       ///< --show: max mismatches to list
  std::optional<std::string> difference_file;  ///< --diff-out
  std::optional<DType> dtype;
  bool ignore_trailing = false;
  bool json = false;
  bool verbose = false;
  bool quiet = false;
  Progress::When progress = Progress::When::automatic;
  Engine::Options engine;
};

extern const CommandSpec kCompareSpec;

/// Throws Error{usage} if options contradict each other or a value is invalid.
[[nodiscard]] CompareCommand validate_compare(const RawOptions& raw);

}  // namespace clipper
