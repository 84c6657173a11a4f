#pragma once

#include <string>
#include <string_view>

/// The file system that an open file is on.
namespace clipper {

/// Whether the file is on a file system of one machine's disk or memory, one that is known well: all its
/// processes see the same bytes and names at once, and syncfs() brings everything to the disk as fsync()
/// would.
[[nodiscard]] bool is_of_one_machine(int fd) noexcept;

/// Whether an open file is on a file system of that type in user space, such as "fuse.sshfs". False if that
/// cannot be found out.
[[nodiscard]] bool is_on_fuse(int fd, std::string_view type);

}  // namespace clipper
