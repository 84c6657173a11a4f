#pragma once

#include <optional>
#include <string>
#include <vector>

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
  std::vector<std::string> inputs;              ///< "-" is standard input
  std::optional<FileList> list;                 ///< of more inputs; at least one of the two is there
  std::optional<std::string> output;            ///< of the only input; "-" is standard output
  std::optional<std::string> output_template;   ///< as write_named() takes it
  std::optional<std::string> output_directory;  ///< none of these: every input in place
  std::optional<std::string> relative_to;       ///< the directory from which inputs keep their paths there
  std::optional<std::string> golden;            ///< the only input's result is compared with it instead
  bool update_golden = false;
  std::optional<DType> dtype;
  bool ignore_trailing = false;  ///< of inputs, and of the golden file
  OutputFile::Existing existing = OutputFile::Existing::replace;
  OutputFile::Durability durability = OutputFile::Durability::none;
  bool direct = false;         ///< in place, without a second file
  std::optional<Shard> shard;  ///< of the only input's elements, or of the files if they are many
  bool split_output = false;   ///< each shard writes a file of its own
  bool finalize = false;       ///< nothing but put what shards have written to `output` in place
  Engine::Options engine;
  std::optional<Percentage> max_clipped;  ///< of a tensor's elements, or nothing is written
  bool keep_going = false;                ///< with the other files when one fails
  bool dry_run = false;
  bool json = false;
  bool verbose = false;
  bool quiet = false;
  Progress::When progress = Progress::When::automatic;

  [[nodiscard]] bool makes_directories() const { return output_directory || output_template; }
};

/// The command that was typed. Throws Error{usage}.
[[nodiscard]] Command validate_clip(const RawOptions& raw);

}  // namespace clipper
