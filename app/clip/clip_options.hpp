#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "command_line/input_names.hpp"
#include "compare/match_options.hpp"
#include "compare/pairs.hpp"
#include "console/diagnostics.hpp"
#include "console/terminal.hpp"
#include "engine/engine.hpp"
#include "files/output_file.hpp"
#include "flows/clip_file.hpp"
#include "shards/shard_files.hpp"

/// Where a command writes its results: validate_clip() makes a Destination, run_clip() visits it.
namespace clipper {

/// Writes the result of the only input to a file; "-" is standard output.
struct ToFile {
  std::string path;
};

/// Writes results below a directory, under the paths that write_below() gives them.
struct IntoDirectory {
  std::string path;
  std::optional<std::string> relative_to;
  std::optional<std::string> only_input;  ///< the only input, if it may be a directory
  bool flat = false;
  std::string_view option = "--output-dir";  ///< that named the directory, for messages
};

/// Names outputs by a template: see write_named().
struct ByTemplate {
  std::string text;
};

/// Replaces every input by its result; directly: overwrites its elements, without a second file.
struct InPlace {
  bool is_direct = false;
};

/// Checks and counts only: --keep-going and --dry-run of any number of inputs.
struct Nowhere {};

/// Writes one process's part of the only input's result, which Finalize joins; or of its own a slab, a file
/// beside `path`.
struct ShardOf {
  std::string path;
  Shard shard;
  bool is_slab = false;
};

/// Compares the only input's result with a file, or results with the files below a directory, where `layout`
/// names them. If `updates` is true, writes the files that fail.
struct Verify {
  std::string golden;
  bool updates = false;
  Matching matching;
  ReportTargets reports;
  bool prints_all = false;              ///< also results that match
  std::optional<DType> golden_dtype{};  ///< what raw bytes of golden files are, if not what the result is
  std::optional<IntoDirectory> layout;
};

/// Joins what shards have written into the file.
struct Finalize {
  std::string path;
  std::uint64_t shards = 0;  ///< 0: as many as OUT.shards says
};

/// Removes what shards of this output have left.
struct DiscardShards {
  std::string path;
};

using Destination = std::variant<ToFile, IntoDirectory, ByTemplate, InPlace, Nowhere, ShardOf, Verify,
                                 Finalize, DiscardShards>;

class RawOptions;

/// A parsed command line, not yet compared with any file.
struct Command {
  ClipSettings settings;
  std::vector<std::string> inputs;  ///< "-" is standard input
  bool names_inputs = true;         ///< false: a directory or a list had them
  bool recursive = false;           ///< inputs may be directories
  bool allow_empty = false;         ///< directories and the list may have no input
  TensorWalk walk;                  ///< of directories
  std::optional<FileList> list;     ///< names more inputs; without a list, `inputs` is not empty
  std::string applied;              ///< the file of --apply; "" without it
  Destination destination;
  std::optional<Shard> share;  ///< divides the inputs among processes
  OutputFile::Existing existing = OutputFile::Existing::replace;
  enum class Skip : std::uint8_t { none, existing, not_newer };
  Skip skip = Skip::none;  ///< of inputs whose outputs exist
  Engine::Options engine;
  bool keep_going = false;  ///< clips the other inputs after a failure
  bool dry_run = false;
  bool json = false;
  LogLevels log;
  bool summary = false;
  bool tensor_on_stdout = false;  // known only with --json
  Progress::When progress = Progress::When::automatic;

  /// Of the lines that say what was done to each input. --dry-run has no other result.
  [[nodiscard]] Level result_level() const { return dry_run && !json ? Level::info : Level::debug; }
};

/// Whether OUT or --output is standard output, or leads to its file; also of a command line with mistakes.
[[nodiscard]] bool tensor_goes_to_stdout(const RawOptions& raw);

[[nodiscard]] int run_clip(const RawOptions& raw);  ///< as CommandSpec::run

/// Throws Error{usage} if options contradict each other or a value is invalid.
[[nodiscard]] Command validate_clip(const RawOptions& raw);

}  // namespace clipper
