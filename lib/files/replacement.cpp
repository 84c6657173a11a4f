#include "files/replacement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <string_view>
#include <thread>
#include <tuple>

#include "error.hpp"
#include "files/input_file.hpp"

namespace clipper {
namespace {

std::string& directory() {
  static std::string path = os::temporary_directory();
  return path;
}

[[noreturn]] void throw_failure(const std::string& contents, int error) {
  throw Error(ErrorKind::io,
              fmt::format("{}: cannot be copied to {}: {}; ", contents, directory(), os::error_text(error)) +
                  Term{"temporary_directory", "name another directory", Says::advice},
              error);
}

/// The file has a name for an instant. A signal that ends the process then removes it.
Descriptor create_and_unlink(const std::string& contents) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  const Place place =
      Place::of(fmt::format("{}/.clipper-{}", directory(), random_suffix()), "cannot be created");
  Descriptor fd;
  const int registration = register_temporary(place, [&] {
    fd = open_at(place.directory(), place.name(), kFlags, 0600);
    return fd.get();
  });
  if (registration < 0) throw_failure(contents, errno);
  const bool removed = os::unlinkat(place.directory(), place.name(), 0) == 0;
  const int error = errno;
  unregister_temporary(registration);
  if (!removed) throw_failure(contents, error);
  return fd;
}

Descriptor create_unnamed(const std::string& contents) {
  Descriptor fd = open_file(directory(), O_RDWR | O_TMPFILE | O_EXCL, 0600);
  if (fd.get() >= 0) return fd;
  if (has_no_unnamed_files(errno)) return create_and_unlink(contents);
  throw_failure(contents, errno);
}

}  // namespace

void set_temporary_directory(std::string path) {
  directory() = std::move(path);
}

TemporaryFile::TemporaryFile(std::string contents, std::uint64_t size)
    : contents_(std::move(contents)), fd_(create_unnamed(contents_)) {
  if (os::free_bytes(fd_.get()) < size) throw_failure(contents_, ENOSPC);
}

void TemporaryFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = retry_interrupted([&] { return os::write(fd_.get(), bytes.data(), bytes.size()); });
    if (put < 0) throw_failure(contents_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void TemporaryFile::write_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  try {
    clipper::write_at(fd_, bytes, offset, directory());
  } catch (const Error& error) {
    throw_failure(contents_, error.system_error());
  }
}

namespace {

constexpr std::size_t kMaxAtOnce = 2048;  // 1,024 threads and two batches of 256 files in place

struct Slot {
  std::atomic<bool> taken = false;
  int directory = 0;                      ///< only valid with a name
  FileId file{};                          ///< that may be removed; only valid with a name
  std::array<char, NAME_MAX + 1> name{};  ///< empty until the file exists
};
// All zeros: not in the program's file, no page touched at the start.
constinit std::array<Slot, kMaxAtOnce> slots;

std::atomic<int> in_use = 0;  ///< threads that use the table
std::atomic<bool> ending = false;

/// Marks the thread as using the table, and blocks its signals: a handler waits for all users, and must not
/// interrupt one.
class Use {
 public:
  Use() : before_(os::block_signals()) {
    ++in_use;
    if (!ending) return;
    --in_use;
    for (;;) os::pause();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() {
    --in_use;
    os::restore_signals(before_);
  }

 private:
  os::SignalMask before_;
};

/// Only during a Use.
void release(int registration) noexcept {
  Slot& slot = slots[static_cast<std::size_t>(registration)];
  slot.name[0] = '\0';
  slot.taken = false;
}

}  // namespace

int register_temporary(const Place& place, const std::function<int()>& create) {
  const std::size_t size = std::strlen(place.name()) + 1;
  if (size > NAME_MAX + 1) throw_system_error(place.path(), "cannot be created", ENAMETOOLONG);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Slot& slot = slots[i];
    if (slot.taken.exchange(true)) continue;
    const Use use;
    os::Status status{};
    try {
      const int fd = create();
      if (fd < 0 || os::fstat(fd, &status) != 0) {
        const int error = errno;
        if (fd >= 0) os::unlinkat(place.directory(), place.name(), 0);
        slot.taken = false;
        errno = error;
        return -1;
      }
    } catch (...) {
      slot.taken = false;
      throw;
    }
    slot.directory = place.directory();
    slot.file = id_of(status);
    std::memcpy(slot.name.data(), place.name(), size);
    return static_cast<int>(i);
  }
  throw Error(ErrorKind::io,
              fmt::format("too many unfinished outputs (max {}); use fewer threads", kMaxAtOnce));
}

void unregister_temporary(int registration) noexcept {
  const Use use;
  release(registration);
}

void without_cleanup(int registration, const std::function<FileId()>& work) {
  const Use use;
  slots[static_cast<std::size_t>(registration)].file = work();
}

void remove_temporaries() noexcept {
  ending = true;
  while (in_use > 0) std::this_thread::yield();
  for (const Slot& slot : slots)
    if (slot.taken && slot.name[0] != '\0')
      std::ignore = remove_name(slot.directory, slot.name.data(), slot.file);
}

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
  if (place_.id() != file_ || !has_backup()) return false;
  if (!older_) return name_.remove(file_);
  return os::exchange_names(older_->directory(), older_->name(), name_.directory(), name_.name()) == 0 &&
         older_->remove(file_);
}

namespace {

constexpr const char* kAccessList = "system.posix_acl_access";
constexpr std::size_t kMaxAttribute = 64UL * 1024;  // max size of an attribute in Linux
constexpr std::size_t kMaxAttributes = 16UL << 20;  // more room is not tried for all attributes of a file

/// Whether getxattr() or removexattr() failed because there is no such attribute, or the file system has
/// none.
bool is_none(int error) {
  return error == ENODATA || error == EOPNOTSUPP;
}

/// Whether setting an owner or attribute failed because this user may not, or this file system cannot.
bool is_lasting(int error) {
  constexpr std::array kErrors{EPERM, EACCES, EOPNOTSUPP, ENOSYS, ENODATA, EINVAL, E2BIG, ERANGE};
  return std::ranges::find(kErrors, error) != kErrors.end();
}

[[noreturn]] void refuse_loss(const InputFile& input, const std::string& what, int error = errno) {
  if (!is_lasting(error)) throw_system_error(input.path(), "the new file cannot keep its " + what, error);
  refuse(input.path(), fmt::format("refused to avoid data loss: the new file cannot keep its {}; ", what) +
                           way_to_keep(" keeps it"));
}

bool is_kept(std::string_view name) {
  return name == "security.selinux" || name.starts_with("user.");
}

/// The names, each followed by a NUL; empty if the file system has no attributes.
std::string attribute_names(const InputFile& input) {
  std::string names;
  for (;;) {
    const ssize_t size = os::list_attributes(input.descriptor().get(), nullptr, 0);
    if (size < 0 && errno == EOPNOTSUPP) return {};
    if (size < 0) throw_system_error(input.path(), "cannot read its extended attributes");
    names.resize(static_cast<std::size_t>(size));
    const ssize_t got = os::list_attributes(input.descriptor().get(), names.data(), names.size());
    if (got >= 0) return names.substr(0, static_cast<std::size_t>(got));
    if (errno != ERANGE) throw_system_error(input.path(), "cannot read its extended attributes");
  }
}

/// Nothing if the attribute does not exist or cannot be read.
std::optional<std::string> attribute(const Descriptor& file, const char* name) {
  std::string value(kMaxAttribute, '\0');
  const ssize_t size = os::read_attribute(file.get(), name, value.data(), value.size());
  if (size < 0) return std::nullopt;
  return value.substr(0, static_cast<std::size_t>(size));
}

/// What the process sees of the user or group IDs of files. In a user namespace that maps only some, all
/// others look like one: see user_namespaces(7).
class SeenIds {
 public:
  SeenIds(const char* map, const char* unmapped) {
    constexpr std::uint64_t kAll = 0xFFFFFFFF;
    std::uint64_t mapped = 0;
    std::ifstream lines(map);
    if (!lines.is_open() && errno != ENOENT && errno != EACCES) throw_system_error(map, "cannot be opened");
    for (std::uint64_t inside = 0, outside = 0, count = 0; lines >> inside >> outside >> count;)
      mapped += count;
    all_ = mapped == kAll;
    if (!all_) std::ifstream(unmapped) >> unmapped_;
  }

  [[nodiscard]] bool has(std::uint64_t id) const { return all_ || id != unmapped_; }

 private:
  bool all_ = false;
  std::uint64_t unmapped_ = 65534;
};

bool is_owner_known(const os::Status& status) {
  static const SeenIds users("/proc/self/uid_map", "/proc/sys/kernel/overflowuid");
  static const SeenIds groups("/proc/self/gid_map", "/proc/sys/kernel/overflowgid");
  return users.has(status.st_uid) && groups.has(status.st_gid);
}

void keep_owner(const InputFile& input, const Descriptor& replacement) {
  os::Status created{};
  if (os::fstat(replacement.get(), &created) != 0) throw_system_error(input.path(), "cannot be replaced");
  const os::Status& status = input.status();
  if (!is_owner_known(status))
    refuse_loss(input,
                fmt::format("owner {}:{}, which may stand for users without an ID in this user namespace",
                            status.st_uid, status.st_gid),
                EPERM);
  if (created.st_uid == status.st_uid && created.st_gid == status.st_gid) return;
  if (os::fchown(replacement.get(), status.st_uid, status.st_gid) == 0) return;
  refuse_loss(input, fmt::format("owner {}:{}", status.st_uid, status.st_gid));
}

/// Returns false, with errno, on failure. `read` calls getxattr() for the ACL.
template <class Read>
bool give_access_list(const Descriptor& replacement, Read read) {
  std::array<char, kMaxAttribute> list;  // not filled with zeros: that would take time at each replacement
  const ssize_t size = read(list.data(), list.size());
  const int fd = replacement.get();
  if (size >= 0)
    return os::write_attribute(fd, kAccessList, list.data(), static_cast<std::size_t>(size)) == 0;
  return is_none(errno) && (os::remove_attribute(fd, kAccessList) == 0 || is_none(errno));
}

}  // namespace

bool keep_access_list(const std::string& path, const Descriptor& replacement) {
  return give_access_list(replacement, [&](char* list, std::size_t room) {
    return os::getxattr(path.c_str(), kAccessList, list, room);
  });
}

void keep_attributes(const InputFile& input, const Descriptor& replacement) {
  keep_owner(input, replacement);
  const auto read_access_list = [&](char* list, std::size_t room) {
    return os::read_attribute(input.descriptor().get(), kAccessList, list, room);
  };
  if (!give_access_list(replacement, read_access_list)) refuse_loss(input, "access control list");
  const std::string names = attribute_names(input);
  for (const char* name = names.c_str(); name < names.c_str() + names.size(); name += std::strlen(name) + 1) {
    if (!is_kept(name)) continue;
    const std::optional<std::string> value = attribute(input.descriptor(), name);
    if (value && value == attribute(replacement, name)) continue;
    if (!value || os::write_attribute(replacement.get(), name, value->data(), value->size()) != 0)
      refuse_loss(input, fmt::format("attribute {}", name));
  }
}

/// Nothing, with errno, if that fails: ERANGE if there is not enough room. The ACL is read by name, because
/// MooseFS does not list it.
std::optional<std::size_t> KeptAttributes::read(Attributes& to) const noexcept {
  ssize_t listed = os::list_attributes(input_.descriptor().get(), to.names.data(), to.names.size());
  if (listed < 0 && errno == EOPNOTSUPP) listed = 0;
  if (listed < 0) return std::nullopt;
  std::size_t end = 0;
  const auto add = [&](const char* name) {
    std::int32_t size = 0;
    if (to.kept.size() - end <= sizeof size) {
      errno = ERANGE;
      return false;
    }
    char* const value = to.kept.data() + end + sizeof size;
    size = static_cast<std::int32_t>(
        os::read_attribute(input_.descriptor().get(), name, value, to.kept.size() - end - sizeof size));
    if (size < 0 && !is_none(errno)) return false;
    std::memcpy(to.kept.data() + end, &size, sizeof size);
    end += sizeof size + static_cast<std::size_t>(std::max(size, 0));
    return true;
  };
  if (!add(kAccessList)) return std::nullopt;
  const char* const last = to.names.data() + listed;
  for (const char* name = to.names.data(); name < last; name += std::strlen(name) + 1)
    if (is_kept(name) && !add(name)) return std::nullopt;
  return end;
}

KeptAttributes::KeptAttributes(const InputFile& input)
    : input_(input), status_(status_of(input.descriptor(), input.path())) {
  for (std::size_t room = 256;; room *= 4) {
    before_ = {std::vector<char>(room), std::vector<char>(room)};
    if (const auto size = read(before_)) {
      size_ = *size;
      now_ = before_;
      return;
    }
    if (errno != ERANGE || room > kMaxAttributes)
      throw_system_error(input.path(), "cannot read its extended attributes");
  }
}

bool KeptAttributes::are_unchanged() noexcept {
  os::Status now{};
  if (os::fstat(input_.descriptor().get(), &now) != 0) return false;
  if (now.st_mode != status_.st_mode || now.st_uid != status_.st_uid || now.st_gid != status_.st_gid)
    return false;
  return read(now_) == size_ && std::memcmp(now_.kept.data(), before_.kept.data(), size_) == 0;
}

}  // namespace clipper
