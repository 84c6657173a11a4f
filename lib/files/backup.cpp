#include "files/backup.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <tuple>

#include "error.hpp"
#include "files/descriptor.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

/// A link that this user could not remove again is not made.
void expect_renamable(const Place& place, const os::Status& file) {
  if (os::is_sticky_for(place.directory(), file))
    throw_system_error(place.path(), "belongs to another user, and its directory is sticky (chmod +t)",
                       EPERM);
}

}  // namespace

void check_backup(const Place& place, const Backup& backup) {
  const auto file = place.status();
  if (!file) return;
  expect_renamable(place, *file);
  static_cast<void>(place.with_suffix(backup.suffix).status());  // throws for a name that is too long
}

bool has_other_backup(const Place& place, const Backup& backup) {
  const auto kept = place.with_suffix(backup.suffix).status();
  return !backup.replaces && kept && !place.is(id_of(*kept));
}

void refuse_backup(const Place& place, const Backup& backup) {
  refuse(place.with_suffix(backup.suffix).path(),
         "refused to avoid data loss: this backup exists; rename it, or use another suffix");
}

/// The file gets the name by a link, which is atomic and never replaces a file. What has both names
/// afterwards is looked at again: somebody may have given the first name to another file before the link.
std::unique_ptr<KeptFile> KeptFile::keep(const Place& place, const Backup& backup) {
  const auto old = place.status();
  if (!old) return nullptr;
  if (S_ISDIR(old->st_mode)) throw_system_error(place.path(), "cannot be replaced", EISDIR);
  expect_renamable(place, *old);
  std::unique_ptr<KeptFile> kept(new KeptFile(place, place.with_suffix(backup.suffix), id_of(*old)));
  const Place& name = kept->name_;
  if (kept->has_backup()) return kept;
  const bool done = kept->link_to(name) || (errno == EEXIST && backup.replaces && kept->replace_older());
  if (!done && errno == EEXIST) refuse_backup(place, backup);
  // EPERM means something else on a file system that is known to have hard links.
  if (!done && has_no_links(errno) && !(errno == EPERM && is_of_one_machine(place.directory())))
    refuse(place.path(), Term{"backup", "keeping the old file"} + " needs a file system with hard links");
  if (!done) throw_system_error(name.path(), "cannot be created");
  kept->is_settled_ = false;
  if (const auto linked = name.id()) kept->file_ = *linked;
  return kept;
}

bool KeptFile::link_to(const Place& name) const noexcept {
  return os::linkat(place_.directory(), place_.name(), name.directory(), name.name(), 0) == 0;
}

/// Exchanges a second link with the older backup. Where names cannot be exchanged, a rename replaces it.
bool KeptFile::replace_older() {
  const auto older = name_.status();
  if (older && S_ISDIR(older->st_mode)) throw_system_error(name_.path(), "cannot be replaced", EISDIR);
  // The name needs the heap, which could fail after the link.
  older_ = place_.beside(fmt::format(".clipper-{}", random_suffix()), true);
  const Place& hidden = *older_;
  const bool is_linked = link_to(hidden);
  if (is_linked &&
      os::exchange_names(hidden.directory(), hidden.name(), name_.directory(), name_.name()) == 0)
    return true;
  const bool done = is_linked && os::is_unsupported(errno) &&
                    os::renameat(hidden.directory(), hidden.name(), name_.directory(), name_.name()) == 0;
  const int error = errno;
  if (is_linked)
    std::ignore = hidden.remove(file_);  // a rename of one link to another link of the file changes nothing
  older_.reset();
  errno = error;
  return done;
}

void KeptFile::drop_older() {
  if (!older_) return;
  const Place hidden = *std::move(older_);
  older_.reset();
  if (os::unlinkat(hidden.directory(), hidden.name(), 0) != 0 && errno != ENOENT)
    throw Error(ErrorKind::not_durable, fmt::format("{}: complete, but the older backup is now {}: {}",
                                                    place_.path(), hidden.path(), os::error_text(errno)));
}

std::string KeptFile::take_back() {
  const bool had_backup = has_backup();
  if (undo()) return "";
  if (older_) return fmt::format("; the older backup is now {}", older_->path());
  return had_backup ? fmt::format("; the file that it replaces is now {}", name_.path()) : "";
}

/// Whether every name has the file that it had. A file whose only name is that of the backup keeps it.
bool KeptFile::undo() noexcept {
  if (std::exchange(is_settled_, true)) return true;
  if (!has_two_names()) return false;
  if (!older_) return name_.remove(file_);
  return os::exchange_names(older_->directory(), older_->name(), name_.directory(), name_.name()) == 0 &&
         older_->remove(file_);
}

}  // namespace clipper
