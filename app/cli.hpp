#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dtype.hpp"
#include "engine.hpp"
#include "output_file.hpp"
#include "plan.hpp"
#include "words.hpp"

namespace clipper {

/// What was typed, understood but not yet compared with any file.
struct Command {
  Request request;
  std::vector<std::string> inputs;              ///< at least one; "-" is standard input
  std::optional<std::string> output;            ///< of the only input; "-" is standard output
  std::optional<std::string> output_directory;  ///< neither output nor directory: every input in place
  std::optional<DType> dtype;
  OutputFile::Existing existing = OutputFile::Existing::replace;
  OutputFile::Durability durability = OutputFile::Durability::none;
  bool direct = false;  ///< in place, without a second file
  Engine::Options engine;
  bool verbose = false;
};

/// The command, or nothing when it only asked for help or the version, which are printed then.
/// Throws Error{usage}.
[[nodiscard]] std::optional<Command> parse_command_line(const Parse& parse);

}  // namespace clipper
