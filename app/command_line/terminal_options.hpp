#pragma once

#include "console/color.hpp"
#include "console/progress.hpp"

namespace clipper {

class RawOptions;
struct CommandSpec;

/// What --progress and --no-progress ask for. Both must be options of the command.
[[nodiscard]] Progress::When progress_when(const RawOptions& raw);

/// What --color asks for; automatic if the command has no such option. Error{usage} for an unknown word.
[[nodiscard]] ColorWhen color_when(const CommandSpec& spec, const RawOptions& raw);

}  // namespace clipper
