#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clip/clip_options.hpp"
#include "clip/jobs.hpp"
#include "command_line/input_names.hpp"
#include "command_line/shared_options.hpp"
#include "files/replacement.hpp"

/// Names for outputs, made from the paths of their inputs.
namespace clipper {

/// Names outputs below a directory. An output keeps its input's path as given, without "." and a leading
/// slash; if the only input is a directory, the path below it; with --relative-to, the path from that
/// directory; with --flat, the name. Error{usage} for a path as given with "..", which could lead out of the
/// directory; if --relative-to is no directory; and if an input, links followed, is not below it.
void write_below(const IntoDirectory& to, Jobs& jobs);

/// Names outputs by a template: see named_by().
void write_named(const std::string& output_template, Jobs& jobs);

/// Whether the template depends on the input.
[[nodiscard]] bool has_placeholder(std::string_view output_template);

/// All files that a run reads besides the inputs of its jobs: those of options, masks, and those behind all
/// of them, see files_behind(), each once.
[[nodiscard]] std::vector<ReadFile> everything_read(const ClipSettings& settings, const Jobs& jobs,
                                                    std::vector<ReadFile> of_options);

/// Error{usage} if two jobs would write the same file, or if a job would write a file that another job reads
/// or that is in `also_read`. Who reads FILE:MEMBER reads FILE. Names may be links or mounts, or differ only
/// in case, therefore a file is identified by device and inode, and a missing file by its deepest existing
/// directory and the rest of its path. If there are several jobs, or with `keeps_inputs`, calls
/// set_output_is_new() for those whose outputs do not exist. With `keeps_inputs`, Error{usage} also for a job
/// that would write its own input. With `backup`, Error{usage} also if a job that replaces a file would keep
/// it under the name of a file that any job reads or writes. Error{io} if a file cannot be examined.
void check_conflicts(Jobs& jobs, const std::vector<ReadFile>& also_read, bool keeps_inputs,
                     const std::optional<Backup>& backup = std::nullopt);

/// A golden file and the input that it belongs to, which is no regular file.
struct LostInput {
  std::string input;
  std::string golden;
};

/// The golden files below `to` that belong to a directory that --recursive walks, under the same --include
/// and --exclude, but whose input has vanished; sorted by path for each directory. None with a list of files,
/// which may be a part of them. With --flat, `jobs` are all that is known of the inputs, and the patterns
/// cannot be applied to golden files: none then. Error{io} if a directory cannot be read.
[[nodiscard]] std::vector<LostInput> lost_inputs(const Command& command, const IntoDirectory& to,
                                                 const Jobs& jobs);

}  // namespace clipper
