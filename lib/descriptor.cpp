#include "descriptor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "error.hpp"

namespace clipper {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

void throw_system_error(const std::string& path, std::string_view what, int error) {
  throw Error(ErrorKind::io, fmt::format("{}: {}: {}", path, what, std::generic_category().message(error)));
}

void enlarge_pipe(const Descriptor& fd) noexcept {
  constexpr int kMost = 1 << 20;  // the kernel's own default for fs.pipe-max-size
  ::fcntl(fd.get(), F_SETPIPE_SZ, kMost);
}

}  // namespace clipper
