#include "files/holes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace clipper {

std::uint64_t stored_bytes(const InputFile& file) noexcept {
  constexpr std::uint64_t kBlock = 512;  // of st_blocks, whatever the file system
  return static_cast<std::uint64_t>(file.status().st_blocks) * kBlock;
}

bool is_sparse(const InputFile& file) noexcept {
  return file.is_regular() && !file.is_member() && stored_bytes(file) < file.size();
}

/// Where the file system does not know holes, it answers that the first one is at the end of the file.
Hole next_hole(const InputFile& file, std::uint64_t from, std::uint64_t end) noexcept {
  if (from >= end) return {end, end};
  const int fd = file.descriptor().get();
  const off_t hole = ::lseek(fd, static_cast<off_t>(from), SEEK_HOLE);
  if (hole < 0 || static_cast<std::uint64_t>(hole) >= end) return {end, end};
  const off_t data = ::lseek(fd, hole, SEEK_DATA);
  if (data < 0 && errno != ENXIO) return {end, end};
  const std::uint64_t begin = static_cast<std::uint64_t>(hole);
  return {begin, data < 0 ? end : std::min(static_cast<std::uint64_t>(data), end)};
}

}  // namespace clipper
