#include "files/directory.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <cstdlib>
#include <memory>
#include <system_error>

#include "error.hpp"
#include "files/descriptor.hpp"

namespace clipper {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (!real) throw_system_error(path, "cannot be opened");
  return real.get();
}

std::string random_suffix() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    throw_system_error("temporary name", "the system has no random number for it");
  return fmt::format("{:016x}", number);
}

void throw_not_durable(const std::string& path, int error) {
  throw Error(
      ErrorKind::not_durable,
      fmt::format(
          "{}: complete, but may not survive a power failure: its directory cannot be flushed to disk: {}",
          path, std::generic_category().message(error)));
}

}  // namespace clipper
