#pragma once

#include <string>

#include "console/file_tally.hpp"
#include "engine/engine.hpp"
#include "files/container.hpp"
#include "files/input_file.hpp"
#include "info/info_options.hpp"
#include "info/info_report.hpp"

namespace clipper {

/// What info prints about a file, whose name on the command line was `name`. Reads the elements if the
/// command asks for statistics, and tells the tally how many bytes they have.
[[nodiscard]] TensorInfo inspect(const InfoCommand& command, Engine& engine, InputFile& input,
                                 const std::string& name, FileTally& tally);

/// The same for a member of an archive. Without statistics, reads only the start of the member.
[[nodiscard]] TensorInfo inspect_member(const InfoCommand& command, Engine& engine, const Container& archive,
                                        const Entry& member);

}  // namespace clipper
