#pragma once

#include <string>
#include <vector>

#include "clip/clip_options.hpp"
#include "clip/jobs.hpp"

namespace clipper {

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
