#include "files/backup.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <tuple>

#include "error.hpp"
#include "files/descriptor.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

[[noreturn]] void refuse_backup(const Place& backup) {
  refuse(backup.path(), "refused to avoid data loss: this backup exists" + Message(Term{"force", ""}));
}

}  // namespace

void check_backup(const Place& place, const Backup& backup) {
  const Place kept = place.with_suffix(backup.suffix);
  const auto file = place.id();
  if (file && !backup.replaces && kept.id() && !kept.is(*file)) refuse_backup(kept);
}

/// The old file gets the name by a link, which is atomic and never replaces a file. A backup that may be
/// replaced is, by a rename of a second link.
void keep_replaced(const Place& place, const Backup& backup, Flushed flushed) {
  const Place kept = place.with_suffix(backup.suffix);
  const auto old = place.status();
  if (!old) return;
  if (const auto other = kept.status(); other && id_of(*other) == id_of(*old)) return;
  const auto link_to = [&](const Place& name) {
    return os::linkat(place.directory(), place.name(), name.directory(), name.name(), 0) == 0;
  };
  bool done = link_to(kept);
  if (!done && errno == EEXIST && backup.replaces) {
    const Place hidden = place.beside(fmt::format(".clipper-{}", random_suffix()), true);
    done = link_to(hidden) &&
           os::renameat(hidden.directory(), hidden.name(), kept.directory(), kept.name()) == 0;
    const int error = errno;
    if (!done) std::ignore = hidden.remove(id_of(*old));
    errno = error;
  }
  if (!done && errno == EEXIST) refuse_backup(kept);
  if (!done && has_no_links(errno))
    refuse(place.path(), Term{"backup", "keeping the old file"} + " needs a file system with hard links");
  if (!done) throw_system_error(kept.path(), "cannot be created");
  if (flushed == Flushed::yes && !place.sync()) throw_system_error(kept.path(), "cannot be flushed to disk");
}

}  // namespace clipper
