#include "files/mount.hpp"

#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace clipper {

namespace {

/// The number of the mount that an open file is on, from "mnt_id:" in /proc/self/fdinfo; 0 if that fails.
/// statx() would need a newer kernel.
std::uint64_t mount_of(int fd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd));
  for (std::string word; info >> word;)
    if (std::uint64_t id = 0; word == "mnt_id:" && info >> id) return id;
  return 0;
}

/// The type in /proc/self/mountinfo, see proc(5): "36 35 98:0 /root /mount/point options, optional fields -
/// type source options"
std::string file_system_type(int fd) {
  const std::uint64_t mount = mount_of(fd);
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::uint64_t id = 0;
    const std::size_t end = line.find(" - ");
    if (!(words >> id) || id != mount || end == line.npos) continue;
    std::string type;
    std::istringstream(line.substr(end + 3)) >> type;
    return type;
  }
  return {};
}

}  // namespace

bool is_of_one_machine(int fd) noexcept {
  constexpr std::array<std::uint64_t, 4> kSystems{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                                  TMPFS_MAGIC};
  struct statfs system {};
  return ::fstatfs(fd, &system) == 0 &&
         std::ranges::find(kSystems, static_cast<std::uint64_t>(system.f_type)) != kSystems.end();
}

std::uint64_t free_bytes(int fd) noexcept {
  struct statvfs system {};
  if (::fstatvfs(fd, &system) != 0 || system.f_blocks == 0) return std::numeric_limits<std::uint64_t>::max();
  return std::uint64_t{::geteuid() == 0 ? system.f_bfree : system.f_bavail} * system.f_frsize;
}

bool is_on_fuse(int fd, std::string_view type) {
  struct statfs system {};
  return ::fstatfs(fd, &system) == 0 && system.f_type == FUSE_SUPER_MAGIC && file_system_type(fd) == type;
}

}  // namespace clipper
