#include "output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <system_error>

#include "attributes.hpp"
#include "directory.hpp"
#include "error.hpp"
#include "exchange.hpp"
#include "output_target.hpp"
#include "temporaries.hpp"

namespace clipper {
namespace {

/// What a file must be at least for fallocate() to be worth a call.
constexpr std::uint64_t kReserved = 1 << 20;

bool is_unsupported(int error) {
  return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

}  // namespace

void OutputFile::check(const std::string& path, Existing existing) {
  const OutputTarget target = examine(path, existing);
  if (target.kind != OutputTarget::Kind::new_file) return;
  if (::faccessat(target.place->directory(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    throw_system_error(path, "cannot be created");
}

OutputFile OutputFile::create(const std::string& path, Existing existing, Durability durability) {
  OutputTarget target = examine(path, existing);
  if (target.kind == OutputTarget::Kind::standard_output) {
    Descriptor copy(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (copy.get() < 0) throw_system_error("standard output", "cannot be opened");
    enlarge_pipe(copy);
    return {std::move(copy), "standard output", durability};
  }
  if (target.kind == OutputTarget::Kind::stream) return open_stream(path, durability);
  OutputFile file(*std::move(target.place), durability);
  file.existing_ = existing;
  if (target.kind == OutputTarget::Kind::file) file.mode_ = target.status.st_mode & 0777;
  file.create_temporary();
  if (file.mode_ && !keep_access_list(path, file.fd_))
    throw_system_error(path, "its access control list cannot be kept");
  return file;
}

OutputFile OutputFile::open_stream(const std::string& path, Durability durability) {
  Descriptor fd(retry_interrupted([&] { return ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY); }));
  if (fd.get() < 0) throw_system_error(path, "cannot be opened");
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw_system_error(path, "cannot be examined");
  if (S_ISREG(status.st_mode)) refuse(path, "has just been replaced by a file");
  if (::isatty(fd.get()) != 0)
    throw Error(ErrorKind::usage, fmt::format("{}: a terminal; a tensor is not text", path));
  enlarge_pipe(fd);
  return {std::move(fd), path, durability};
}

OutputFile OutputFile::open_part(Descriptor fd, const std::string& path, std::uint64_t base) {
  OutputFile file(std::move(fd), path, Durability::on_disk);
  file.regular_ = true;
  file.base_ = base;
  return file;
}

std::uint64_t OutputFile::space_beside(const InputFile& input) {
  struct statvfs system {};
  const bool has_limit = ::fstatvfs(input.descriptor().get(), &system) == 0 && system.f_blocks != 0;
  return has_limit ? std::uint64_t{system.f_bavail} * system.f_frsize
                   : std::numeric_limits<std::uint64_t>::max();
}

OutputFile OutputFile::create_in_place(const InputFile& input) {
  const struct stat& status = input.status();
  const auto refuse = [&](const std::string& why) { clipper::refuse(input.path(), why); };
  if (status.st_nlink > 1)
    refuse(
        fmt::format("has {} hard links, which --in-place would break apart (--in-place --direct would not)",
                    status.st_nlink));
  if (const std::uint64_t space = space_beside(input); space < input.size())
    refuse(
        fmt::format("--in-place needs {} bytes for the result, {} are free (--in-place --direct needs few)",
                    input.size(), space));
  OutputFile file(input.place(), Durability::on_disk);
  file.mode_ = status.st_mode & 07777;
  file.create_temporary();
  keep_attributes(input, file.fd_);
  return file;
}

/// Without a name where the file system can do that: then nothing is left whatever happens, and nobody can
/// open it before it is complete.
void OutputFile::create_temporary() {
  regular_ = true;
  if (mode_ && place_->is_append_only()) refuse(path_, "its directory is append-only");
  const mode_t mode = mode_ ? 0600 : 0666;
  static const bool can_be_named = ::access("/proc/self/fd", X_OK) == 0;
  if (!can_be_named) return create_named_temporary();
  fd_ = Descriptor(retry_interrupted(
      [&] { return ::openat(place_->directory(), ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode); }));
  if (fd_.get() >= 0) return;
  if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) return create_named_temporary();
  throw_system_error(path_, "cannot be created");
}

void OutputFile::create_named_temporary() {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const mode_t mode = mode_ ? 0600 : 0666;
  const bool created = name_temporary([&](const Place& place) {
    fd_ = Descriptor(
        retry_interrupted([&] { return ::openat(place.directory(), place.name(), kFlags, mode); }));
    return fd_.get() >= 0;
  });
  if (!created) throw_system_error(path_, "cannot be created");
}

/// Gives the file a name that nothing has, where that can be taken away again.
bool OutputFile::name_temporary(const std::function<bool(const Place&)>& create) {
  if (place_->is_append_only()) refuse(path_, "its directory is append-only");
  temporary_ = place_->beside(fmt::format(".clipper-{}", random_suffix()), true);
  registration_ = register_temporary(*temporary_, [&] { return create(*temporary_); });
  if (registration_ < 0) temporary_.reset();
  return registration_ >= 0;
}

/// A link cannot replace a file, a rename can.
void OutputFile::name_complete() {
  if (!temporary_ && !name_temporary([&](const Place& place) { return link_as(place); }))
    throw_system_error(path_, "cannot be put in place");
}

void OutputFile::forget_temporary() noexcept {
  unregister_temporary(std::exchange(registration_, -1));
  temporary_.reset();
}

/// What is left under the hidden name when the output is in place.
void OutputFile::remove_temporary() {
  const std::string hidden = temporary_->path();
  const bool removed = ::unlinkat(temporary_->directory(), temporary_->name(), 0) == 0 || errno == ENOENT;
  const int error = errno;
  forget_temporary();
  if (!removed)
    throw Error(ErrorKind::not_durable, fmt::format("{}: complete, but {} cannot be removed: {}", path_,
                                                    hidden, std::generic_category().message(error)));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : place_(std::move(other.place_)),
      fd_(std::move(other.fd_)),
      path_(std::move(other.path_)),
      durability_(other.durability_),
      regular_(other.regular_),
      base_(other.base_),
      temporary_(std::move(other.temporary_)),
      registration_(std::exchange(other.registration_, -1)),
      mode_(other.mode_),
      existing_(other.existing_) {}

OutputFile::~OutputFile() {
  if (registration_ < 0) return;
  ::unlinkat(temporary_->directory(), temporary_->name(), 0);
  forget_temporary();
}

void OutputFile::reserve(std::uint64_t size) const {
  const bool zeros_may_replace_a_file = mode_ && durability_ == Durability::none;  // at a power cut
  if (!is_regular() || size < kReserved || zeros_may_replace_a_file) return;
  struct statfs system {};
  if (::fstatfs(fd_.get(), &system) != 0) return;
  if (system.f_type != EXT4_SUPER_MAGIC && system.f_type != XFS_SUPER_MAGIC) return;
  const auto base = static_cast<off_t>(base_);
  const auto bytes = static_cast<off_t>(size);
  if (retry_interrupted([&] { return ::fallocate(fd_.get(), 0, base, bytes); }) == 0) return;
  if (errno != EOPNOTSUPP) throw_system_error(path_, "cannot be written");
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = retry_interrupted([&] { return ::write(fd_.get(), bytes.data(), bytes.size()); });
    if (put < 0) throw_system_error(path_, "cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

/// One call: two would make the system fill the first page with zeros in between.
void OutputFile::write_start(std::span<const std::byte> header, std::span<const std::byte> elements) const {
  const auto part = [](std::span<const std::byte> bytes) {
    return iovec{const_cast<std::byte*>(bytes.data()), bytes.size()};
  };
  const std::array parts{part(header), part(elements)};
  const auto base = static_cast<off_t>(base_);
  const ssize_t put =
      retry_interrupted([&] { return ::pwritev(fd_.get(), parts.data(), parts.size(), base); });
  if (put < 0) throw_system_error(path_, "cannot be written");
  const auto done = static_cast<std::size_t>(put);
  write_at(header.subspan(std::min(done, header.size())), done);
  const std::size_t elements_done = done - std::min(done, header.size());
  write_at(elements.subspan(elements_done), header.size() + elements_done);
}

void OutputFile::write_at(std::span<const std::byte> bytes, std::uint64_t offset) const {
  clipper::write_at(fd_, bytes, base_ + offset, path_);
  // What replaces a file goes to the disk before it does: by fsync, or as ext4 does it in rename. Begun here,
  // that happens alongside.
  if (mode_)
    ::sync_file_range(fd_.get(), static_cast<off_t>(base_ + offset), static_cast<off_t>(bytes.size()),
                      SYNC_FILE_RANGE_WRITE);
}

void OutputFile::complete() const {
  if (mode_ && ::fchmod(fd_.get(), *mode_) != 0) throw_system_error(path_, "cannot be given its mode");
}

void OutputFile::commit() {
  if (!is_regular()) return commit_stream();
  complete();
  const bool on_disk = durability_ == Durability::on_disk;
  if (on_disk && ::fsync(fd_.get()) != 0) throw_system_error(path_, "cannot be written to the disk");
  check_close(fd_, path_);
  if (on_disk) place_->expect_sync();
  put_in_place();
  if (on_disk && !place_->sync()) throw_not_durable(path_, errno);
}

/// A pipe or a device has no disk: fsync() says EINVAL.
void OutputFile::commit_stream() {
  if (durability_ == Durability::on_disk && ::fsync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS)
    throw_system_error(path_, "cannot be written to the disk");
  if (::close(fd_.release()) != 0) throw_system_error(path_, "cannot be written");
}

void OutputFile::put_in_place() {
  const bool must_be_new = existing_ != Existing::replace;
  if (!temporary_ && !mode_) {
    if (link_as(*place_)) return;
    if (must_be_new && errno == EEXIST) refuse_existing(path_, existing_);
  }
  name_complete();
  const bool done = must_be_new ? rename_to_new()
                                : ::renameat(temporary_->directory(), temporary_->name(), place_->directory(),
                                             place_->name()) == 0;
  if (!done) throw_system_error(path_, "cannot be put in place");
  if (temporary_) forget_temporary();
}

/// Network file systems and FUSE have links instead of RENAME_NOREPLACE; some have neither.
bool OutputFile::rename_to_new() {
  const int directory = place_->directory();
  const char* const hidden = temporary_->name();
  if (::renameat2(directory, hidden, directory, place_->name(), RENAME_NOREPLACE) == 0) return true;
  if (is_unsupported(errno)) {
    if (::linkat(directory, hidden, directory, place_->name(), 0) == 0) {
      remove_temporary();
      return true;
    }
    const bool has_links = errno != EPERM && !is_unsupported(errno);
    if (!has_links && existing_ == Existing::refuse)
      refuse(path_, "--no-clobber cannot be kept on a file system without hard links and exclusive renames");
    static std::mutex one_at_a_time;  // two outputs of a batch may have one name, in two cases
    const std::scoped_lock lock(one_at_a_time);
    if (!has_links && !place_->status()) return ::renameat(directory, hidden, directory, place_->name()) == 0;
    if (!has_links) errno = EEXIST;
  }
  if (errno == EEXIST) refuse_existing(path_, existing_);
  return false;
}

void OutputFile::replace(const InputFile& input) {
  name_complete();
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) throw_system_error(path_, "cannot be put in place");
  const FileId own = id_of(status);
  // Made before: a signal's handler may wait for what follows, and hold the lock of the heap.
  const std::function<bool()> is_right = [&] {
    return place_->id() == own && temporary_->id() == id_of(input.status()) && !input.has_changed();
  };
  input.expect_unchanged();
  Exchanged result{};
  without_cleanup([&] { result = exchange(*temporary_, *place_, own, is_right); });
  switch (result) {
    case Exchanged::done: return remove_temporary();
    case Exchanged::taken_back:
      throw Error(ErrorKind::io, fmt::format("{}: changed while it was clipped", input.path()));
    case Exchanged::stranded: {
      const std::string hidden = temporary_->path();
      forget_temporary();
      throw Error(ErrorKind::not_durable,
                  fmt::format("{}: complete, but {} has to be looked at: the file that had the name before",
                              path_, hidden));
    }
    case Exchanged::failed: throw_system_error(path_, "cannot be put in place");
    case Exchanged::unsupported:
      if (::renameat(temporary_->directory(), temporary_->name(), place_->directory(), place_->name()) != 0)
        throw_system_error(path_, "cannot be put in place");
      forget_temporary();
  }
}

bool OutputFile::link_as(const Place& place) const {
  // No memory from the heap: the thread that a signal's handler interrupted may hold its lock, and the
  // handler waits for us.
  std::array<char, 32> unnamed{};
  fmt::format_to(unnamed.data(), "/proc/self/fd/{}", fd_.get());
  return ::linkat(AT_FDCWD, unnamed.data(), place.directory(), place.name(), AT_SYMLINK_FOLLOW) == 0;
}

}  // namespace clipper
