#include "directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <memory>

#include "descriptor.hpp"

namespace clipper {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (!real) throw_system_error(path, "cannot be resolved");
  return real.get();
}

std::string beside(const std::string& path, std::string_view suffix, bool shortened) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t room = shortened ? NAME_MAX - 1 - suffix.size() : std::string::npos;
  return fmt::format("{}.{}{}", path.substr(0, name), path.substr(name, room), suffix);
}

bool sync_directory_of(const std::string& path) {
  const Descriptor directory(retry_interrupted(
      [&] { return ::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  return directory.get() >= 0 && ::fsync(directory.get()) == 0;
}

}  // namespace clipper
