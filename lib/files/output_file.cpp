#include "files/output_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "error.hpp"
#include "files/attributes.hpp"
#include "files/cleanup_registry.hpp"
#include "files/container.hpp"
#include "files/file_state.hpp"
#include "files/output_target.hpp"

namespace clipper {
namespace {

/// The smallest file size for which fallocate() pays off.
constexpr std::uint64_t kReserved = 1 << 20;

/// The write-out of a file is started at multiples of so many bytes: more calls take longer than the writes.
constexpr std::uint64_t kWrittenOut = 32 << 20;

/// Turns of threads that create names in a directory. A child process needs others: a thread that only its
/// parent has may have taken these.
struct Creators {
  /// A call is short: a second thread that spins goes on sooner than one that is woken up.
  struct Two : Turn {
    Two() : Turn(2) {}
  };

  const pid_t process = os::getpid();
  std::array<Two, 16> turns;  // several directories may share one
};

/// The turn for the directory of `path`.
Turn& creating(const std::string& path) {
  static std::atomic<Creators*> current = nullptr;
  Creators* now = current;
  if (now == nullptr || now->process != os::getpid()) {
    auto own = std::make_unique<Creators>();
    if (current.compare_exchange_strong(now, own.get())) now = own.release();
  }
  return now->turns[std::hash<std::string>()(directory_of(path)) % now->turns.size()];
}

/// Files of these file systems can share blocks.
bool shares_blocks(int fd) noexcept {
  using os::FileSystem;
  constexpr std::array kSharing{FileSystem::xfs, FileSystem::btrfs, FileSystem::bcachefs};
  return std::ranges::find(kSharing, os::file_system(fd)) != kSharing.end();
}

}  // namespace

void OutputFile::check(const std::string& path, Existing existing, const OutputRoot* root) {
  // No link will find out whether an output that must be new is new.
  const bool must_be_new = existing == Existing::must_be_new;
  const OutputTarget target = examine(path, must_be_new ? Existing::replace : existing);
  if (root != nullptr) root->expect_inside(path, target.place);
  if (must_be_new && target.kind == OutputTarget::Kind::file) refuse_existing(path, existing);
  if (target.kind != OutputTarget::Kind::new_file) return;
  if (os::check_access(target.place->directory(), ".", W_OK | X_OK) != 0)
    throw_system_error(path, "cannot be created");
}

OutputFile OutputFile::create(const std::string& path, Existing existing, Durability durability,
                              os::Mode mode, const OutputRoot* root) {
  OutputTarget target = examine(path, existing);
  if (root != nullptr) root->expect_inside(path, target.place);
  if (target.kind == OutputTarget::Kind::standard_output) {
    Descriptor copy(os::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (copy.get() < 0) throw_system_error("standard output", "cannot be opened");
    enlarge_pipe(copy);
    return {std::move(copy), "standard output", durability};
  }
  if (target.kind == OutputTarget::Kind::stream) return open_stream(path, target, durability);
  OutputFile file = for_target(target, existing, durability);
  file.new_mode_ = mode;
  file.create_temporary();
  file.keep_access();
  return file;
}

OutputFile OutputFile::for_target(OutputTarget& target, Existing existing, Durability durability) {
  OutputFile file(*std::move(target.place), durability);
  file.regular_ = true;
  file.existing_ = existing;
  if (target.kind == OutputTarget::Kind::file) file.mode_ = target.status.st_mode & 0777;
  return file;
}

void OutputFile::keep_access() const {
  if (mode_ && !keep_access_list(path_, fd_))
    throw_system_error(path_, "cannot keep its access control list");
}

OutputFile OutputFile::adopt(const std::string& path, Existing existing, Descriptor fd) {
  OutputTarget target = examine(path, existing);
  OutputFile file = for_target(target, existing, Durability::on_disk);
  file.fd_ = std::move(fd);
  file.keep_access();
  return file;
}

OutputFile OutputFile::open_common(Descriptor fd, const Place& place, std::uint64_t base) {
  OutputFile file(std::move(fd), place.path(), Durability::visible);
  file.regular_ = true;
  file.base_ = base;
  return file;
}

void OutputFile::close_common() const {
  if (os::fsync(fd_.get()) != 0) throw_system_error(path_, "cannot be flushed to disk");
  check_close(fd_, path_);
}

OutputFile OutputFile::open_stream(const std::string& path, const OutputTarget& target,
                                   Durability durability) {
  constexpr int kFlags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
  Descriptor fd(retry_interrupted([&] {
    return target.place ? os::openat(target.place->directory(), target.place->name(), kFlags | O_NOFOLLOW)
                        : os::open(path.c_str(), kFlags);
  }));
  if (fd.get() < 0) throw_system_error(path, "cannot be opened");
  os::Status status{};
  if (os::fstat(fd.get(), &status) != 0) throw_system_error(path, "cannot be examined");
  const bool has_file = S_ISREG(status.st_mode);
  if (has_file && id_of(status) != id_of(target.status))
    refuse(path, "was replaced by a regular file while it was opened; try again");
  if (os::isatty(fd.get()) != 0)
    throw Error(ErrorKind::usage, fmt::format("{}: is a terminal; write to a file or a pipe", path));
  enlarge_pipe(fd);
  OutputFile file(std::move(fd), path, durability);
  file.has_old_bytes_ = has_file;
  return file;
}

OutputFile OutputFile::create_own(Place place, Existing existing, os::Mode mode, Durability durability) {
  OutputFile file(std::move(place), durability);
  file.existing_ = existing;
  file.regular_ = true;
  file.new_mode_ = mode;
  file.create_temporary();
  return file;
}

bool OutputFile::has_room(const InputFile& input, std::uint64_t size) noexcept {
  return size <= os::free_bytes(input.descriptor().get());
}

/// btrfs counts the blocks of removed files as free only after a commit, which syncfs() makes.
void OutputFile::expect_room(const InputFile& input, std::uint64_t size) {
  const int fd = input.descriptor().get();
  if (has_room(input, size) || (os::syncfs(fd) == 0 && has_room(input, size))) return;
  throw Error(ErrorKind::refused,
              input.path() + ": " + kInPlaceChange +
                  fmt::format(" needs {} free bytes, found {}", size, os::free_bytes(fd)),
              ENOSPC);
}

void OutputFile::check_in_place(const InputFile& input, const std::optional<Backup>& backup) {
  expect_one_link(input, backup);
  const Place& place = input.place();
  if (place.is_append_only()) refuse(input.path(), "its directory is append-only (chattr +a)");
  if (os::check_access(place.directory(), ".", W_OK | X_OK) != 0)
    throw_system_error(input.path(), "cannot be replaced");
}

void OutputFile::expect_one_link(const InputFile& input, const std::optional<Backup>& backup) {
  const bool has_backup = backup && input.place().with_suffix(backup->suffix).is(id_of(input.status()));
  if (const auto links = input.status().st_nlink; links > (has_backup ? 2U : 1U))
    refuse(input.path(),
           fmt::format("refused to avoid data loss: has {} hard links, which ", links) + kInPlaceChange +
               " would separate; " +
               (is_archive(input) ? Message("write to another file") : way_to_keep(" keeps them")));
}

OutputFile OutputFile::create_in_place(const InputFile& input, const std::optional<Backup>& backup) {
  expect_one_link(input, backup);
  OutputFile file(input.place(), Durability::on_disk);
  file.backup_ = backup;
  file.regular_ = true;
  file.mode_ = input.status().st_mode & 07777;
  file.create_temporary();
  keep_attributes(input, file.fd_);
  return file;
}

/// A container may refuse linkat() altogether. Without names it fails with another error.
bool OutputFile::can_be_named() noexcept {
  static const bool can = os::access("/proc/self/fd", X_OK) == 0 &&
                          os::linkat(AT_FDCWD, "", AT_FDCWD, "", 0) != 0 && !os::is_unsupported(errno);
  return can;
}

/// Creates the file without a name (O_TMPFILE) if the file system can: then nothing is left after a crash,
/// and nobody can open the file before it is complete.
void OutputFile::create_temporary() {
  if (mode_ && place_->is_append_only()) refuse(path_, "its directory is append-only (chattr +a)");
  new_ = true;
  const os::Mode mode = mode_ ? 0600 : new_mode_;
  const std::lock_guard turn(creating(place_->path()));
  if (!can_be_named()) return create_named_temporary();
  fd_ = Descriptor(retry_interrupted(
      [&] { return os::openat(place_->directory(), ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode); }));
  if (fd_.get() >= 0) return;
  if (has_no_unnamed_files(errno)) return create_named_temporary();
  throw_system_error(path_, "cannot be created");
}

void OutputFile::create_named_temporary() {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const os::Mode mode = mode_ ? 0600 : new_mode_;
  const bool created = name_temporary([&](const Place& place) {
    fd_ = Descriptor(
        retry_interrupted([&] { return os::openat(place.directory(), place.name(), kFlags, mode); }));
    return fd_.get();
  });
  if (!created) throw_system_error(path_, "cannot be created");
}

/// Gives the file a new hidden name, unless the directory would not let it be removed.
bool OutputFile::name_temporary(const std::function<int(const Place&)>& create) {
  if (place_->is_append_only()) refuse(path_, "its directory is append-only (chattr +a)");
  temporary_ = place_->beside(fmt::format(".clipper-{}", random_suffix()), true);
  registration_ = register_temporary(*temporary_, [&] { return create(*temporary_); });
  if (registration_ < 0) temporary_.reset();
  return registration_ >= 0;
}

void OutputFile::forget_temporary() noexcept {
  unregister_temporary(std::exchange(registration_, -1));
  temporary_.reset();
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : place_(std::move(other.place_)),
      fd_(std::move(other.fd_)),
      path_(std::move(other.path_)),
      durability_(other.durability_),
      regular_(other.regular_),
      new_(other.new_),
      has_old_bytes_(other.has_old_bytes_),
      base_(other.base_),
      temporary_(std::move(other.temporary_)),
      registration_(std::exchange(other.registration_, -1)),
      mode_(other.mode_),
      new_mode_(other.new_mode_),
      existing_(other.existing_),
      backup_(std::move(other.backup_)),
      kept_(std::move(other.kept_)) {}

OutputFile::~OutputFile() {
  drop_pages(fd_, 0, 0);
  if (registration_ < 0) return;
  drop(fd_, *temporary_, [&] { return os::unlinkat(temporary_->directory(), temporary_->name(), 0) == 0; });
  forget_temporary();
}

void OutputFile::set_base(std::uint64_t base) {
  base_ = base;
  if (os::lseek(fd_.get(), static_cast<off_t>(base), SEEK_SET) < 0)
    throw_system_error(path_, "cannot be written");
}

void OutputFile::set_size(std::uint64_t size) const {
  if (os::ftruncate(fd_.get(), static_cast<off_t>(base_ + size)) != 0)
    throw_system_error(path_, "cannot be written");
}

bool OutputFile::reserve(std::uint64_t size) const {
  const bool zeros_may_replace_a_file = mode_ && durability_ == Durability::none;  // at a power cut
  if (!is_regular() || size < kReserved || zeros_may_replace_a_file) return false;
  const os::FileSystem system = os::file_system(fd_.get());
  if (system != os::FileSystem::ext4 && system != os::FileSystem::xfs) return false;
  const auto base = static_cast<off_t>(base_);
  const auto bytes = static_cast<off_t>(size);
  if (retry_interrupted([&] { return os::fallocate(fd_.get(), 0, base, bytes); }) == 0) return true;
  if (!os::is_unsupported(errno)) throw_system_error(path_, "cannot be written");
  return false;
}

bool OutputFile::may_share_parts(const InputFile& input) noexcept {
  return shares_blocks(input.descriptor().get());
}

Sharing OutputFile::may_share(const InputFile& input) const {
  if (!is_regular() || !input.is_regular() || !input.is_plain() || base_ != 0) return Sharing::none;
  if (!shares_blocks(fd_.get())) return Sharing::none;
  return durability_ == Durability::none ? Sharing::whole : Sharing::parts;
}

/// A write after the chunk was read may be in the clone. It always changes ctime; its program may set mtime
/// back.
bool OutputFile::share(const InputFile& input, std::uint64_t offset, std::uint64_t size) const {
  return os::share_blocks(fd_.get(), input.descriptor().get(), offset, size) == 0 &&
         has_same_attributes(input.status(), status_of(input.descriptor(), input.path()));
}

void OutputFile::write(std::span<const std::byte> bytes) {
  if (std::exchange(has_old_bytes_, false) && os::ftruncate(fd_.get(), 0) != 0)
    throw_system_error(path_, "cannot be written");
  while (!bytes.empty()) {
    const os::iovec part = part_of(bytes);
    bytes = bytes.subspan(write_some(fd_, {&part, 1}, -1, path_));
  }
}

/// One call for both: between two calls the kernel would fill the first page with zeros.
void OutputFile::write_start(std::span<const std::byte> header, std::span<const std::byte> elements) const {
  const std::array parts{part_of(header), part_of(elements)};
  const std::size_t done = write_some(fd_, parts, static_cast<off_t>(base_), path_);
  write_at(header.subspan(std::min(done, header.size())), done);
  const std::size_t elements_done = done - std::min(done, header.size());
  write_at(elements.subspan(elements_done), header.size() + elements_done);
}

void OutputFile::write_at(std::span<const std::byte> bytes, std::uint64_t offset) const {
  clipper::write_at(fd_, bytes, base_ + offset, path_);
  // A replacement must be on the disk before the rename (by fsync(), or by ext4 itself in rename()); so must
  // a file that other machines may read. Starting the write-out here lets it run alongside the clipping.
  const std::uint64_t begin = (base_ + offset) / kWrittenOut * kWrittenOut;
  const std::uint64_t end = (base_ + offset + bytes.size()) / kWrittenOut * kWrittenOut;
  if ((mode_ || durability_ == Durability::visible) && begin < end)
    os::sync_file_range(fd_.get(), static_cast<off_t>(begin), static_cast<off_t>(end - begin),
                        SYNC_FILE_RANGE_WRITE);
}

void OutputFile::complete() const {
  if (mode_ && os::fchmod(fd_.get(), *mode_) != 0) throw_system_error(path_, "cannot set its permissions");
}

void OutputFile::commit(const std::function<void()>& last_look) {
  if (!is_regular()) return commit_stream();
  keep_permissions();
  complete();
  const bool on_disk = durability_ == Durability::on_disk;
  if (durability_ != Durability::none && os::fsync(fd_.get()) != 0)
    throw_system_error(path_, "cannot be flushed to disk");
  drop_rest(fd_, path_);
  check_close(fd_, path_);
  if (on_disk) place_->expect_sync();
  last_look();
  put_in_place();
  if (on_disk && !place_->sync()) throw_not_durable(path_, errno);
}

/// The old file's permissions may have changed since create().
void OutputFile::keep_permissions() {
  if (!mode_) return;
  const auto now = place_->status();
  if (!now || !S_ISREG(now->st_mode)) return;
  mode_ = now->st_mode & 0777;
  keep_access();
}

/// fsync() fails with EINVAL for pipes and devices.
void OutputFile::commit_stream() {
  if (durability_ == Durability::on_disk && os::fsync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS)
    throw_system_error(path_, "cannot be flushed to disk");
  if (os::close(fd_.release()) != 0) throw_system_error(path_, "cannot be written");
}

void OutputFile::put_in_place() {
  const std::lock_guard turn(creating(place_->path()));
  if (backup_ && existing_ == Existing::replace) kept_ = KeptFile::keep(*place_, *backup_);
  if (kept_) return with_way_back([&] { replace_kept(); });
  const bool must_be_new = existing_ != Existing::replace || backup_;
  if (!temporary_ && !mode_) {
    if (link_as(*place_)) return;
    if (must_be_new && errno == EEXIST) refuse_existing(path_, existing_);
  }
  name_complete();
  const bool done = must_be_new ? rename_to_new()
                                : os::renameat(temporary_->directory(), temporary_->name(),
                                               place_->directory(), place_->name()) == 0;
  if (!done) throw_not_in_place();
  if (temporary_) forget_temporary();
}

/// Exchanges the names and looks, so that no other file than that of the backup is replaced.
void OutputFile::replace_kept() {
  if (durability_ == Durability::on_disk && !place_->sync())
    throw_system_error(path_, "its backup cannot be flushed to disk");
  const FileId old = kept_->file();
  const std::string why = path_ + ": another file took its name while its backup was made; try again";
  take_place_of({old, [&] { return temporary_->id() == old && kept_->has_backup(); },
                 [&] {
                   if (place_->id() != old || !kept_->has_backup()) throw Error(ErrorKind::refused, why);
                 },
                 ErrorKind::refused, why});
}

/// Calls `work`, which replaces the file. After an error, the file loses the name of its backup again.
template <class Work>
void OutputFile::with_way_back(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    const std::string left = kept_ ? kept_->take_back() : "";
    if (left.empty()) throw;
    throw Error(error.kind(), error.message() + left, error.system_error());
  }
}

/// Network file systems and FUSE lack RENAME_NOREPLACE and use a hard link instead; some lack hard links,
/// too.
bool OutputFile::rename_to_new() {
  const int directory = place_->directory();
  const char* const hidden = temporary_->name();
  if (os::rename_new(directory, hidden, directory, place_->name()) == 0) return true;
  if (os::is_unsupported(errno)) {
    const FileId own = own_id();
    if (os::linkat(directory, hidden, directory, place_->name(), 0) == 0) {
      remove_temporary(own);
      return true;
    }
    if (has_no_links(errno)) {
      if (existing_ == Existing::refuse)
        refuse(path_, Term{"existing", "replacing no file"} +
                          " needs a file system with hard links or exclusive renames");
      static std::mutex one_at_a_time;  // two outputs may have one name that differs in case
      const std::scoped_lock lock(one_at_a_time);
      if (!place_->status()) return os::renameat(directory, hidden, directory, place_->name()) == 0;
      errno = EEXIST;
    }
  }
  if (errno == EEXIST) refuse_existing(path_, existing_);
  return false;
}

void OutputFile::keep_replaced(InputFile& input) {
  if (!backup_) return;
  with_way_back([&] {
    input.expect_unchanged();
    kept_ = KeptFile::keep(*place_, *backup_);
    if (kept_ && kept_->file() == id_of(input.status())) return input.accept_links();
    input.expect_unchanged();
    throw_changed(path_);
  });
}

/// The lock keeps other clippers from clipping this file while it may be taken back. They open the name, so
/// they find either the input, which is locked, too, or this file.
void OutputFile::replace(InputFile& input) {
  with_way_back([&] {
    std::ignore = clipper::lock(fd_, path_);
    name_complete();
    const FileId old = id_of(input.status());
    KeptAttributes attributes(input);
    take_place_of({old,
                   [&] {
                     return temporary_->id() == old && !input.has_changed() && attributes.are_unchanged() &&
                            (!kept_ || kept_->has_backup());
                   },
                   [&] { input.expect_unchanged(); }, ErrorKind::io,
                   input.path() + ": changed while it was clipped"});
  });
  drop_pages(fd_, 0, 0);
  fd_ = Descriptor();  // unlocks it
}

/// Where names cannot be exchanged, the last look comes right before a rename.
void OutputFile::take_place_of(const Replaced& replaced) {
  name_complete();
  const FileId own = own_id();
  replaced.expect_unchanged();
  Exchanged result{};
  without_cleanup(registration_, [&] {
    result = exchange(*temporary_, *place_, own, replaced.is_right);
    return result == Exchanged::done ? replaced.old : own;
  });
  switch (result) {
    case Exchanged::done:
      if (kept_) kept_->settle();
      remove_temporary(replaced.old);
      break;
    case Exchanged::taken_back: throw_taken_back(replaced, own);
    case Exchanged::stranded:
      unregister_temporary(std::exchange(registration_, -1));  // what has the hidden name stays
      throw Error(ErrorKind::not_durable,
                  fmt::format("{}: complete, but it replaced a file that another program had just written; "
                              "that file is now {}",
                              path_, temporary_->path()));
    case Exchanged::failed: throw_not_in_place();
    case Exchanged::unsupported:
      if (os::renameat(temporary_->directory(), temporary_->name(), place_->directory(), place_->name()) != 0)
        throw_not_in_place();
      forget_temporary();
      if (kept_) kept_->settle();
  }
  if (kept_) kept_->drop_older();
}

void OutputFile::throw_not_in_place() const {
  if (os::is_held_open(errno))
    refuse(path_,
           "cannot be replaced, and is unchanged: it is open, and this system keeps the names of open files");
  throw_system_error(path_, "cannot be put in place");
}

FileId OutputFile::own_id() const {
  os::Status status{};
  if (os::fstat(fd_.get(), &status) != 0) throw_system_error(path_, "cannot be put in place");
  return id_of(status);
}

void OutputFile::throw_taken_back(const Replaced& replaced, const FileId& own) const {
  const auto left = temporary_->id();
  throw Error(replaced.kind,
              replaced.why + (!left || left == own
                                  ? ""
                                  : fmt::format("; a file that another program had given this name is now {}",
                                                temporary_->path())));
}

/// Gives an unnamed file a hidden name, because linkat() cannot replace a file, but rename() can.
void OutputFile::name_complete() {
  if (!temporary_ && !name_temporary([&](const Place& place) { return link_as(place) ? fd_.get() : -1; }))
    throw_system_error(path_, "cannot be put in place");
}

/// Does not use the heap: see without_cleanup().
bool OutputFile::link_as(const Place& place) const {
  return os::link_file(fd_.get(), place.directory(), place.name()) == 0;
}

/// Removes the hidden name of `file` after the output is in place.
void OutputFile::remove_temporary(const FileId& file) {
  const bool removed = temporary_->remove(file);
  const int error = errno;
  unregister_temporary(std::exchange(registration_, -1));
  if (!removed)
    throw Error(ErrorKind::not_durable,
                fmt::format("{}: complete, but the hidden file {} cannot be removed: {}", path_,
                            temporary_->path(), os::error_text(error)));
  temporary_.reset();
}

}  // namespace clipper
