#include "files/output_target.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "error.hpp"
#include "files/container.hpp"

namespace clipper {
namespace {

using Kind = OutputTarget::Kind;

/// The target of a symbolic link, with its status. It has a place if it is a regular file that can be
/// replaced under its name. The file of a descriptor may have no name, or another file may have it: then it
/// is written to like a stream.
OutputTarget follow(const std::string& path) {
  OutputTarget target{Kind::stream, std::nullopt};
  if (os::stat(path.c_str(), &target.status) != 0) {
    if (errno != ENOENT) throw_system_error(path, "cannot be examined");
    refuse(path, "is a dangling symbolic link");
  }
  if (!S_ISREG(target.status.st_mode)) return target;
  target.place = Place::of_file(path, target.status);
  return target;
}

}  // namespace

void refuse_existing(const std::string& path, OutputFile::Existing existing) {
  if (existing == OutputFile::Existing::refuse) refuse(path, "already exists" + Term{"existing", ""});
  os::Status status{};
  if (os::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
    static_cast<void>(follow(path));  // throws for a link that leads nowhere
  refuse(path,
         "refused to avoid data loss: did not exist when the run began; another output may be the same file");
}

OutputTarget examine(const std::string& path, OutputFile::Existing existing) {
  if (path == "-") {
    if (os::isatty(STDOUT_FILENO) != 0)
      throw Error(ErrorKind::usage, "standard output is a terminal; redirect it to a file or a pipe");
    return {Kind::standard_output, std::nullopt};
  }
  if (member_path(path))
    throw Error(ErrorKind::usage, path + ": is a member of an archive; write to another file");
  OutputTarget target{Kind::new_file, Place::of(path, "cannot be created")};
  if (existing == OutputFile::Existing::must_be_new) return target;  // seen when the output gets its name
  const auto found = target.place->status();
  if (!found) return target;
  target.status = *found;
  if (S_ISLNK(found->st_mode)) target = follow(path);
  const os::Mode mode = target.status.st_mode;
  if (S_ISDIR(mode)) throw_system_error(path, "cannot be written", EISDIR);
  if (S_ISBLK(mode)) refuse(path, "is a block device; write to a regular file");
  target.kind = S_ISREG(mode) && target.place ? Kind::file : Kind::stream;
  if (S_ISREG(mode) && existing != OutputFile::Existing::replace) refuse_existing(path, existing);
  if (target.kind == Kind::stream) return target;
  if (os::check_access(target.place->directory(), target.place->name(), W_OK) != 0)
    throw_system_error(path, "cannot be replaced");
  return target;
}

namespace {

Descriptor open_directory(int at, const char* name, int flags = 0) {
  return Descriptor(
      retry_interrupted([&] { return os::openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags); }));
}

}  // namespace

OutputRoot::OutputRoot(std::string path) : path_(std::move(path)) {
  open();
}

void OutputRoot::open() {
  fd_ = open_directory(AT_FDCWD, path_.c_str());
  if (fd_.get() < 0) return;
  os::Status status{};
  if (os::fstat(fd_.get(), &status) != 0) throw_system_error(path_, "cannot be examined");
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
      if (os::mkdirat(at, name.c_str(), 0777) == 0 || errno == EEXIST)
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
    std::filesystem::create_directories(os::native(path_), error);
    open();
    if (fd_.get() < 0) throw_system_error(path_, "cannot be created", error ? error.value() : errno);
  }
  follow(path, Missing::made);
}

void OutputRoot::expect_inside(const std::string& path, const std::optional<Place>& place) const {
  if (fd_.get() >= 0 && !(place && place->is_below({&id_, 1}))) refuse(path);
}

}  // namespace clipper
