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

/// `clipper compare` as it was typed, understood but not yet compared with any file.
struct CompareCommand {
  std::string actual;    ///< a file, a directory, or "-", standard input
  std::string expected;  ///< likewise; not both are "-"
  ComparisonRule rule;
  Compared compared = Compared::values;
  bool strict_header = false;
  Allowance allowance;
  std::size_t shown = 0;                       ///< mismatches, at the most
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

/// The command that was typed. Throws Error{usage}.
[[nodiscard]] CompareCommand validate_compare(const RawOptions& raw);

}  // namespace clipper
