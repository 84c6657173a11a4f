#include "descriptor.hpp"

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

}  // namespace clipper
