#pragma once

#include "files/descriptor.hpp"
#include "support/files.hpp"

namespace clipper::testing {

/// A descriptor of a file that was removed, while another file has the name to which its path seems to lead.
class RemovedFile {
 public:
  explicit RemovedFile(const std::string& path) : neighbour(path + " (deleted)") {
    write_file(path, "removed");
    write_file(neighbour, "neighbour");
    fd = Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    std::filesystem::remove(path);
  }

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd.get()); }

  Descriptor fd;
  std::string neighbour;
};

}  // namespace clipper::testing
