#pragma once

#include <string>
#include <string_view>

namespace clipper {

/// Whether an open file is on a file system of that type in user space, such as "fuse.sshfs". False if that
/// cannot be found out.
[[nodiscard]] bool is_on_fuse(int fd, std::string_view type);

}  // namespace clipper
