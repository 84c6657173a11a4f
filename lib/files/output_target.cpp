#include "files/output_target.hpp"

#include <unistd.h>

#include <cerrno>

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
  if (::stat(path.c_str(), &target.status) != 0) {
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
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
    static_cast<void>(follow(path));  // throws for a link that leads nowhere
  refuse(path,
         "refused to avoid data loss: did not exist when the run began; another output may be the same file");
}

OutputTarget examine(const std::string& path, OutputFile::Existing existing) {
  if (path == "-") {
    if (::isatty(STDOUT_FILENO) != 0)
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
  const mode_t mode = target.status.st_mode;
  if (S_ISDIR(mode)) throw_system_error(path, "cannot be written", EISDIR);
  if (S_ISBLK(mode)) refuse(path, "is a block device; write to a regular file");
  target.kind = S_ISREG(mode) && target.place ? Kind::file : Kind::stream;
  if (S_ISREG(mode) && existing != OutputFile::Existing::replace) refuse_existing(path, existing);
  if (target.kind == Kind::stream) return target;
  if (check_access(target.place->directory(), target.place->name(), W_OK) != 0)
    throw_system_error(path, "cannot be replaced");
  return target;
}

}  // namespace clipper
