#pragma once

#include <string>

#include "command_line/input_names.hpp"
#include "command_line/shared_options.hpp"
#include "compare/compare_files.hpp"
#include "compare/match_options.hpp"
#include "compare/pair_log.hpp"
#include "console/terminal.hpp"
#include "engine/engine.hpp"

namespace clipper {

class RawOptions;

/// A parsed command line of `clipper compare`, not yet compared with any file.
struct CompareCommand {
  std::string actual;    ///< a file, a directory, or "-" for standard input
  std::string expected;  ///< a file, a directory, or "-" if `actual` is not "-"
  TensorWalk walk;
  TensorChoice choice;
  CompareSettings settings;
  Matching matching;
  bool updates = false;  ///< replaces expected files that fail by the actual ones
  PairOutput output;
  Progress::When progress = Progress::When::automatic;
  Engine::Options engine;
};

[[nodiscard]] int run_compare(const RawOptions& raw);  ///< as CommandSpec::run

/// Throws Error{usage} if options contradict each other or a value is invalid.
[[nodiscard]] CompareCommand validate_compare(const RawOptions& raw);

}  // namespace clipper
