#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clip/destination.hpp"
#include "command_line/file_list.hpp"
#include "console/progress.hpp"
#include "contract/plan.hpp"
#include "element/dtype.hpp"
#include "element/percentage.hpp"
#include "engine/engine.hpp"
#include "files/output_file.hpp"
#include "shards/shard.hpp"

namespace clipper {

class RawOptions;

/// What was typed, understood but not yet compared with any file.
struct Command {
  Request request;
  std::vector<std::string> inputs;  ///< "-" is standard input
  bool recursive = false;           ///< inputs may be directories
  std::optional<FileList> list;     ///< of more inputs; at least one of the two is there
  Destination destination;
  std::optional<Shard> share;  ///< of the files: those of one process
  std::optional<DType> dtype;
  bool ignore_trailing = false;  ///< of inputs, and of the golden file
  OutputFile::Existing existing = OutputFile::Existing::replace;
  OutputFile::Durability durability = OutputFile::Durability::none;
  Engine::Options engine;
  std::optional<Percentage> max_clipped;  ///< of a tensor's elements, or nothing is written
  bool keep_going = false;                ///< with the other files when one fails
  bool dry_run = false;
  bool json = false;
  bool verbose = false;
  bool quiet = false;
  bool tensor_on_stdout = false;
  Progress::When progress = Progress::When::automatic;
};

/// The command that was typed. Throws Error{usage}.
[[nodiscard]] Command validate_clip(const RawOptions& raw);

}  // namespace clipper
