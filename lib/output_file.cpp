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

#include "attributes.hpp"
#include "directory.hpp"
#include "error.hpp"
#include "temporaries.hpp"

namespace clipper {
namespace {

/// What a file must be at least for fallocate() to be worth a call.
constexpr std::uint64_t kReserved = 1 << 20;

mode_t current_umask() {
  static const mode_t mask = [] {
    const mode_t value = ::umask(0);
    ::umask(value);
    return value;
  }();
  return mask;
}

enum class Target : std::uint8_t { standard_output, new_file, stream, file };

/// What is there; `status` is that of a stream or a file. Error for what cannot be written.
Target examine(const std::string& path, OutputFile::Existing existing, struct stat& status) {
  if (path == "-") {
    if (::isatty(STDOUT_FILENO) != 0)
      throw Error(ErrorKind::usage, "standard output is a terminal; a tensor is not text");
    return Target::standard_output;
  }
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) throw_system_error(path, "cannot be examined");
    return Target::new_file;
  }
  if (S_ISLNK(status.st_mode) && ::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) throw_system_error(path, "cannot be examined");
    throw Error(ErrorKind::refused, fmt::format("{}: a symbolic link to nothing", path));
  }
  if (S_ISDIR(status.st_mode)) throw_system_error(path, "cannot be written", EISDIR);
  if (S_ISBLK(status.st_mode)) throw Error(ErrorKind::refused, fmt::format("{}: a block device", path));
  if (!S_ISREG(status.st_mode)) return Target::stream;
  if (existing == OutputFile::Existing::refuse)
    throw Error(ErrorKind::refused, fmt::format("{}: exists already (--no-clobber)", path));
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0)
    throw_system_error(path, "cannot be replaced");
  return Target::file;
}

}  // namespace

void OutputFile::check(const std::string& path, Existing existing) {
  struct stat status {};
  if (examine(path, existing, status) != Target::new_file) return;
  if (::faccessat(AT_FDCWD, directory_of(path).c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    throw_system_error(path, "cannot be created");
}

OutputFile OutputFile::create(const std::string& path, Existing existing, Durability durability) {
  struct stat status {};
  const Target target = examine(path, existing, status);
  if (target == Target::standard_output) {
    Descriptor copy(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (copy.get() < 0) throw_system_error("standard output", "cannot be opened");
    enlarge_pipe(copy);
    return {std::move(copy), "standard output", durability};
  }
  if (target == Target::new_file) {
    OutputFile file({}, path, durability);
    file.existing_ = existing;
    file.create_temporary();
    return file;
  }
  if (target == Target::stream) {
    Descriptor fd(retry_interrupted([&] { return ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY); }));
    if (fd.get() < 0) throw_system_error(path, "cannot be opened");
    if (::isatty(fd.get()) != 0)
      throw Error(ErrorKind::usage, fmt::format("{}: a terminal; a tensor is not text", path));
    enlarge_pipe(fd);
    return {std::move(fd), path, durability};
  }
  OutputFile file({}, resolved(path), durability);
  file.mode_ = status.st_mode & 0777;
  file.create_temporary();
  if (!keep_access_list(path, file.fd_)) throw_system_error(path, "its access control list cannot be kept");
  return file;
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
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::refused, fmt::format("{}: {}", input.path(), why));
  };
  if (status.st_nlink > 1)
    refuse(
        fmt::format("has {} hard links, which --in-place would break apart (--in-place --direct would not)",
                    status.st_nlink));
  if (const std::uint64_t space = space_beside(input); space < input.size())
    refuse(
        fmt::format("--in-place needs {} bytes for the result, {} are free (--in-place --direct needs few)",
                    input.size(), space));
  OutputFile file({}, resolved(input.path()), Durability::on_disk);
  file.mode_ = status.st_mode & 07777;
  file.create_temporary();
  keep_attributes(input, file.fd_);
  return file;
}

/// Without a name where the file system can do that: then nothing is left whatever happens, and nobody can
/// open it before it is complete.
void OutputFile::create_temporary() {
  regular_ = true;
  const std::string directory = directory_of(path_);
  const mode_t mode = mode_ ? 0600 : 0666;
  static const bool can_be_named = ::access("/proc/self/fd", X_OK) == 0;
  if (!can_be_named) return create_named_temporary();
  fd_ = Descriptor(
      retry_interrupted([&] { return ::open(directory.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, mode); }));
  if (fd_.get() >= 0) return;
  if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) return create_named_temporary();
  throw_system_error(path_, "cannot be created");
}

void OutputFile::create_named_temporary() {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const bool created = name_temporary([&](const char* name) {
    fd_ = Descriptor(retry_interrupted([&] { return ::open(name, kFlags, 0600); }));
    return fd_.get() >= 0;
  });
  if (!created) throw_system_error(path_, "cannot be created");
}

/// Gives the file a name that nothing has.
bool OutputFile::name_temporary(const std::function<bool(const char*)>& create) {
  temporary_ = beside(path_, fmt::format(".clipper-{}", random_suffix()), true);
  registration_ = register_temporary(temporary_, [&] { return create(temporary_.c_str()); });
  return registration_ >= 0;
}

void OutputFile::forget_temporary() noexcept {
  unregister_temporary(std::exchange(registration_, -1));
  temporary_.clear();
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::move(other.fd_)),
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
  ::unlink(temporary_.c_str());
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
  const bool has_mode = !mode_ && temporary_.empty();
  if (!has_mode && ::fchmod(fd_.get(), mode_.value_or(0666 & ~current_umask())) != 0)
    throw_system_error(path_, "cannot be given its mode");
}

void OutputFile::commit() {
  if (!is_regular()) return commit_stream();
  complete();
  const bool on_disk = durability_ == Durability::on_disk;
  if (on_disk && ::fsync(fd_.get()) != 0) throw_system_error(path_, "cannot be written to the disk");
  check_close(fd_, path_);
  // What needs memory or a descriptor comes before: a failure after it would not mean what it says.
  const Descriptor directory = on_disk ? open_directory_of(path_) : Descriptor();
  put_in_place();
  if (on_disk && ::fsync(directory.get()) != 0) throw_not_durable(path_, errno);
}

/// A pipe or a device has no disk: fsync() says EINVAL.
void OutputFile::commit_stream() {
  if (durability_ == Durability::on_disk && ::fsync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS)
    throw_system_error(path_, "cannot be written to the disk");
  if (::close(fd_.release()) != 0) throw_system_error(path_, "cannot be written");
}

void OutputFile::put_in_place() {
  const auto refuse_existing = [&] {
    if (existing_ == Existing::refuse && errno == EEXIST)
      throw Error(ErrorKind::refused, fmt::format("{}: exists already (--no-clobber)", path_));
  };
  if (temporary_.empty()) {
    if (!mode_ && link_as(path_.c_str())) return;
    refuse_existing();
    // A link cannot replace a file, a rename can.
    if (!name_temporary([&](const char* name) { return link_as(name); }))
      throw_system_error(path_, "cannot be put in place");
  }
  const unsigned flags = existing_ == Existing::refuse ? RENAME_NOREPLACE : 0;
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), flags) != 0) {
    refuse_existing();
    throw_system_error(path_, "cannot be put in place");
  }
  forget_temporary();
}

bool OutputFile::link_as(const char* path) const {
  const std::string unnamed = fmt::format("/proc/self/fd/{}", fd_.get());
  return ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

}  // namespace clipper
