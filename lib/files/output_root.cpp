#include "files/output_root.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "error.hpp"
#include "files/directory.hpp"

namespace clipper {
namespace {

Descriptor open_directory(int at, const char* name, int flags = 0) {
  return Descriptor(
      retry_interrupted([&] { return ::openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags); }));
}

}  // namespace

OutputRoot::OutputRoot(std::string path) : path_(std::move(path)) {
  open();
}

void OutputRoot::open() {
  fd_ = open_directory(AT_FDCWD, path_.c_str());
  if (fd_.get() < 0) return;
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) throw_system_error(path_, "cannot be examined");
  id_ = id_of(status);
}

void OutputRoot::refuse(const std::string& path) const {
  clipper::refuse(path, fmt::format("refused to avoid data loss: a symbolic link leads out of {}", path_));
}

/// A directory that is no link is inside because the directory above it is.
void OutputRoot::follow(const std::string& path, Missing missing) const {
  std::string_view rest = std::string_view(path).substr(path_.size());
  Descriptor held;
  int at = fd_.get();
  for (std::size_t end = rest.find('/'); end != rest.npos;
       rest.remove_prefix(end + 1), end = rest.find('/')) {
    if (end == 0) continue;
    const std::string name(rest.substr(0, end));
    Descriptor next = open_directory(at, name.c_str(), O_NOFOLLOW);
    if (next.get() < 0 && errno == ENOENT) {
      if (missing == Missing::end) return;
      if (::mkdirat(at, name.c_str(), 0777) == 0 || errno == EEXIST)
        next = open_directory(at, name.c_str(), O_NOFOLLOW);
    }
    if (next.get() < 0 && (errno == ENOTDIR || errno == ELOOP)) {
      next = open_directory(at, name.c_str());
      if (next.get() < 0 && errno == ENOENT && missing == Missing::end) return;  // made by this run, perhaps
      if (next.get() >= 0 && !is_below(next.get(), {&id_, 1}, path)) refuse(path);
    }
    if (next.get() < 0) throw_system_error(directory_of(path), "cannot be created");
    held = std::move(next);
    at = held.get();
  }
}

void OutputRoot::check(const std::string& path) const {
  if (fd_.get() >= 0) follow(path, Missing::end);
}

void OutputRoot::make_directories(const std::string& path) {
  if (fd_.get() < 0) {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    open();
    if (fd_.get() < 0) throw_system_error(path_, "cannot be created", error ? error.value() : errno);
  }
  follow(path, Missing::made);
}

void OutputRoot::expect_inside(const std::string& path, const std::optional<Place>& place) const {
  if (fd_.get() >= 0 && !(place && place->is_below({&id_, 1}))) refuse(path);
}

}  // namespace clipper
