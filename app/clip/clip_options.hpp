#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clip/destination.hpp"
#include "command_line/file_list.hpp"
#include "console/progress.hpp"
#include "engine/engine.hpp"
#include "files/output_file.hpp"
#include "flows/clipping.hpp"
#include "shards/shard.hpp"

namespace clipper {

class RawOptions;

/// A parsed command line, not yet compared with any file.
struct Command {
  ClipSettings settings;
  std::vector<std::string> inputs;   ///< "-" is standard input
  bool names_inputs = true;          ///< false: a directory or a list had them
  bool recursive = false;            ///< inputs may be directories
  bool allow_empty = false;          ///< directories and the list may have no input
  std::vector<std::string> include;  ///< see TensorWalk
  std::vector<std::string> exclude;
  std::optional<FileList> list;  ///< names more inputs; without a list, `inputs` is not empty
  Destination destination;
  std::optional<Shard> share;  ///< divides the inputs among processes
  OutputFile::Existing existing = OutputFile::Existing::replace;
  Engine::Options engine;
  bool keep_going = false;  ///< clips the other inputs after a failure
  bool dry_run = false;
  bool json = false;
  bool verbose = false;
  bool quiet = false;
  bool tensor_on_stdout = false;  // known only with --json
  Progress::When progress = Progress::When::automatic;
};

/// Whether OUT or --output is standard output, or leads to its file; also of a command line with mistakes.
[[nodiscard]] bool tensor_goes_to_stdout(const RawOptions& raw);

/// Throws Error{usage} if options contradict each other or a value is invalid.
[[nodiscard]] Command validate_clip(const RawOptions& raw);

}  // namespace clipper
