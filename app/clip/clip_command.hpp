#pragma once

#include "clip/clip_options.hpp"
#include "clip/clip_way.hpp"

namespace clipper {

class RawOptions;

/// What clipper does without a command's name. Returns the exit status, or throws the first failure.
[[nodiscard]] int run_clip(const RawOptions& raw);
[[nodiscard]] int run_clip(const Command& command);

/// Clips all files. Returns the exit status: with --keep-going the highest of all files; otherwise throws
/// the first failure, which ends the work.
[[nodiscard]] int clip_files(const Command& command, const ClipWay& way);

}  // namespace clipper
