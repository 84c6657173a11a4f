#pragma once

#include <cstdint>
#include <string_view>

/// The file system that an open file is on.
namespace clipper {

/// Whether the file is on ext4, XFS, btrfs or tmpfs: local file systems on which all processes of this
/// machine see the same bytes and names at once, and syncfs() brings data to the disk as fsync() does.
[[nodiscard]] bool is_of_one_machine(int fd) noexcept;

/// The bytes that this process may still write to the file system: with root's reserve for root. The maximum
/// of the type if they are unknown or have no limit.
[[nodiscard]] std::uint64_t free_bytes(int fd) noexcept;

/// Whether the file is on a FUSE file system of that type, such as "fuse.sshfs". False if the type is
/// unknown.
[[nodiscard]] bool is_on_fuse(int fd, std::string_view type);

}  // namespace clipper
