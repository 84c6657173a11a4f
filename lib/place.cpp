#include "place.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/stat.h>
#include <unistd.h>

#include <climits>

#include "directory.hpp"
#include "error.hpp"

namespace clipper {

FileId id_of(const struct stat& status) noexcept {
  return {status.st_dev, status.st_ino};
}

/// A directory that may be searched and written to but not read can still be worked in, only not synced.
Place Place::of(const std::string& path, std::string_view what) {
  const std::string directory = directory_of(path);
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.empty() || name == "." || name == "..") throw_system_error(path, what, EISDIR);
  const auto open = [&](int access) {
    return retry_interrupted([&] { return ::open(directory.c_str(), access | O_DIRECTORY | O_CLOEXEC); });
  };
  Descriptor fd(open(O_RDONLY));
  if (fd.get() < 0 && errno == EACCES) fd = Descriptor(open(O_PATH));
  if (fd.get() < 0) throw_system_error(path, what);
  return {std::make_shared<const Descriptor>(std::move(fd)), std::move(name), path};
}

Place Place::resolved(const std::string& path) {
  return of(clipper::resolved(path));
}

Place Place::beside(std::string_view suffix, bool shortened) const {
  const std::size_t room = shortened ? NAME_MAX - 1 - suffix.size() : std::string::npos;
  std::string name = fmt::format(".{}{}", name_.substr(0, room), suffix);
  std::string path = path_.substr(0, path_.size() - name_.size()) + name;
  return {directory_, std::move(name), std::move(path)};
}

std::optional<struct stat> Place::status() const {
  struct stat status {};
  if (::fstatat(directory(), name(), &status, AT_SYMLINK_NOFOLLOW) == 0) return status;
  if (errno != ENOENT) throw_system_error(path_, "cannot be examined");
  return std::nullopt;
}

bool Place::is(const FileId& id) const {
  const auto now = status();
  return now && id_of(*now) == id;
}

FileId Place::directory_id() const {
  struct stat status {};
  if (::fstat(directory(), &status) != 0) throw_system_error(directory_of(path_), "cannot be examined");
  return id_of(status);
}

bool Place::is_append_only() const noexcept {
  struct statx status {};
  return ::statx(directory(), "", AT_EMPTY_PATH, 0, &status) == 0 &&
         (status.stx_attributes & STATX_ATTR_APPEND) != 0;
}

void Place::expect_sync() const {
  if ((::fcntl(directory(), F_GETFL) & O_PATH) != 0)
    throw_system_error(directory_of(path_), "cannot be opened", EACCES);
}

bool Place::sync() const noexcept {
  return ::fsync(directory()) == 0;
}

}  // namespace clipper
