#include "directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <system_error>

#include "descriptor.hpp"
#include "error.hpp"

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

bool sync_directory(const std::string& path) noexcept {
  const Descriptor fd(
      retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  return fd.get() >= 0 && ::fsync(fd.get()) == 0;
}

std::string random_suffix() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    throw_system_error("random number", "not available");
  return fmt::format("{:016x}", number);
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), &::closedir);
  if (!open && errno != ENOENT) throw_system_error(directory, "cannot be read");
  if (!open) return names;
  errno = 0;
  while (const dirent* const entry = ::readdir(open.get()))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  if (errno != 0) throw_system_error(directory, "cannot be read");
  return names;
}

void throw_not_durable(const std::string& path, int error) {
  throw Error(ErrorKind::not_durable,
              fmt::format("{}: complete, but its directory cannot be written to the disk: {}", path,
                          std::generic_category().message(error)));
}

}  // namespace clipper
