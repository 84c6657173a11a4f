#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command_line/input_names.hpp"
#include "command_line/shared_options.hpp"
#include "console/progress.hpp"
#include "console/terminal.hpp"
#include "contract/plan.hpp"
#include "engine/engine.hpp"
#include "formats/formats.hpp"
#include "statistics/statistics.hpp"

namespace clipper {

class RawOptions;

/// A parsed command line of `clipper info`, not yet compared with any file.
struct InfoCommand {
  std::vector<std::string> inputs;
  TensorWalk walk;
  TensorChoice choice;
  Reading reading;
  bool statistics = false;
  bool json = false;
  Request bounds;
  std::vector<Number> percentages;  ///< of --percentile, in the order given

  std::vector<Parameter> values;  ///< of --value: expressions

  /// Whether each tensor's statistics are not those of all its elements alone.
  [[nodiscard]] bool is_divided() const { return !bounds.per_axis.empty() || bounds.pooled; }

  std::optional<std::string> svg;  ///< of --histogram-svg
  std::optional<Table::Format> table;
  std::size_t bins = Histogram::kMaxRows;
  Engine::Options engine;
  Progress::When progress = Progress::When::never;  ///< never without statistics: headers are read at once
};

[[nodiscard]] int show_info(const RawOptions& raw);  ///< as CommandSpec::run

/// Throws Error{usage} if options contradict each other or a value is invalid.
[[nodiscard]] InfoCommand validate_info(const RawOptions& raw);

}  // namespace clipper
