#pragma once

#include <string>

namespace clipper {

/// The type of the file system that an open file is on, as /proc/self/mountinfo has it: "ext4", "fuse.sshfs".
/// Empty if that cannot be found out.
[[nodiscard]] std::string file_system_type(int fd);

}  // namespace clipper
