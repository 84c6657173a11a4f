#pragma once

#include <string>

#include "console/file_tally.hpp"
#include "engine/engine.hpp"
#include "files/archive_file.hpp"
#include "files/input_file.hpp"
#include "info/info_options.hpp"
#include "info/info_report.hpp"
#include "npz/archive.hpp"

namespace clipper {

/// What info prints about a file, whose name on the command line was `name`. Reads the elements if the
/// command asks for statistics, and tells the tally how many bytes they have.
[[nodiscard]] TensorInfo inspect(const InfoCommand& command, Engine& engine, InputFile& input,
                                 const std::string& name, FileTally& tally);

/// The same for a member of an archive. Without statistics, reads only the start of the member.
[[nodiscard]] TensorInfo inspect_member(const InfoCommand& command, Engine& engine,
                                        const ArchiveFile& archive, const npz::Member& member);

}  // namespace clipper
