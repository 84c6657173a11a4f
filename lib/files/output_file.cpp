#include "files/output_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace clipper {
namespace {

/// The smallest file size for which fallocate() pays off.
constexpr std::uint64_t kReserved = 1 << 20;

/// The write-out of a file is started at multiples of so many bytes: more calls take longer than the writes.
constexpr std::uint64_t kWrittenOut = 32 << 20;

/// Files of these file systems can share blocks.
bool shares_blocks(const Descriptor& fd) noexcept {
  using os::FileSystem;
  constexpr std::array kSharing{FileSystem::xfs, FileSystem::btrfs, FileSystem::bcachefs};
  return std::ranges::find(kSharing, fd.file_system()) != kSharing.end();
}

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

Descriptor open_directory(int at, const char* name, int flags = 0) {
  return open_at(at, name, O_PATH | O_DIRECTORY | flags);
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
  constexpr int kFlags = O_WRONLY | O_NOCTTY;
  Descriptor fd = target.place ? open_at(target.place->directory(), target.place->name(), kFlags | O_NOFOLLOW)
                               : open_file(path, kFlags);
  if (fd.get() < 0) throw_system_error(path, "cannot be opened");
  const os::Status status = status_of(fd, path);
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

void OutputFile::check_in_place(const InputFile& input, const std::optional<Backup>& backup, Direct direct) {
  expect_one_link(input, backup, direct);
  const Place& place = input.place();
  if (place.is_append_only()) refuse(input.path(), "its directory is append-only (chattr +a)");
  if (os::check_access(place.directory(), ".", W_OK | X_OK) != 0)
    throw_system_error(input.path(), "cannot be replaced");
}

void OutputFile::expect_one_link(const InputFile& input, const std::optional<Backup>& backup, Direct direct) {
  const bool has_backup = backup && input.place().with_suffix(backup->suffix).is(id_of(input.status()));
  if (const auto links = input.status().st_nlink; links > (has_backup ? 2U : 1U))
    refuse(input.path(), fmt::format("refused to avoid data loss: has {} hard links, which ", links) +
                             kInPlaceChange + " would separate; " +
                             (direct == Direct::impossible ? Message("write to another file")
                                                           : way_to_keep(" keeps them")));
}

OutputFile OutputFile::create_in_place(const InputFile& input, const std::optional<Backup>& backup) {
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
  fd_ = open_at(place_->directory(), ".", O_RDWR | O_TMPFILE, mode);
  if (fd_.get() >= 0) return;
  if (has_no_unnamed_files(errno)) return create_named_temporary();
  throw_system_error(path_, "cannot be created");
}

void OutputFile::create_named_temporary() {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  const os::Mode mode = mode_ ? 0600 : new_mode_;
  const bool created = name_temporary([&](const Place& place) {
    fd_ = open_at(place.directory(), place.name(), kFlags, mode);
    return fd_.get();
  });
  if (!created) throw_system_error(path_, "cannot be created");
}

/// Gives the file a new hidden name, unless the directory would not let it be removed.
bool OutputFile::name_temporary(const std::function<int(const Place&)>& create) {
  if (place_->is_append_only()) refuse(path_, "its directory is append-only (chattr +a)");
  temporary_ = place_->beside(fmt::format(".clipper-{}", random_suffix()), true);
  registration_.id = register_temporary(*temporary_, [&] { return create(*temporary_); });
  if (registration_.id < 0) temporary_.reset();
  return registration_.id >= 0;
}

void OutputFile::forget_temporary() noexcept {
  unregister_temporary(std::exchange(registration_.id, -1));
  temporary_.reset();
}

OutputFile::~OutputFile() {
  drop_pages(fd_, 0, 0);
  if (registration_.id < 0) return;
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
  const os::FileSystem system = fd_.file_system();
  if (system != os::FileSystem::ext4 && system != os::FileSystem::xfs) return false;
  const auto base = static_cast<off_t>(base_);
  const auto bytes = static_cast<off_t>(size);
  if (retry_interrupted([&] { return os::fallocate(fd_.get(), 0, base, bytes); }) == 0) return true;
  if (!os::is_unsupported(errno)) throw_system_error(path_, "cannot be written");
  return false;
}

bool OutputFile::may_share_parts(const InputFile& input) noexcept {
  return shares_blocks(input.descriptor());
}

Sharing OutputFile::may_share(const InputFile& input) const {
  if (!is_regular() || !input.is_regular() || input.source() != nullptr || base_ != 0) return Sharing::none;
  if (!shares_blocks(fd_)) return Sharing::none;
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

void refuse_existing(const std::string& path, OutputFile::Existing existing) {
  if (existing == OutputFile::Existing::refuse)
    refuse(path, "already exists" + Term{"existing", "", Says::advice});
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
  if (os::is_sticky_for(target.place->directory(), target.status))
    throw_system_error(path, "belongs to another user, and its directory is sticky (chmod +t)", EPERM);
  if (os::check_access(target.place->directory(), target.place->name(), W_OK) != 0)
    throw_system_error(path, "cannot be replaced");
  return target;
}

OutputRoot::OutputRoot(std::string path) : path_(std::move(path)) {
  open();
}

void OutputRoot::open() {
  fd_ = open_directory(AT_FDCWD, path_.c_str());
  if (fd_.get() < 0) return;
  id_ = id_of(status_of(fd_, path_));
}

void OutputRoot::refuse(const std::string& path) const {
  clipper::refuse(path, fmt::format("refused to avoid data loss: a symbolic link leads out of {}", path_));
}

void make_directory(const std::string& path) {
  os::Status status{};
  if (os::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return;
  const auto is_made = [&] { return os::mkdirat(AT_FDCWD, path.c_str(), 0777) == 0; };
  bool done = is_made();
  if (!done && errno == ENOENT && directory_of(path) != path) {
    make_directory(directory_of(path));
    done = is_made();
  }
  if (done) return;
  if (const int error = errno; os::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    throw_system_error(path, "cannot be created", error == EEXIST ? ENOTDIR : error);
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
    make_directory(path_);
    open();
    if (fd_.get() < 0) throw_system_error(path_, "cannot be created");
  }
  follow(path, Missing::made);
}

void OutputRoot::expect_inside(const std::string& path, const std::optional<Place>& place) const {
  if (fd_.get() >= 0 && !(place && place->is_below({&id_, 1}))) refuse(path);
}

}  // namespace clipper
