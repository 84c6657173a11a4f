#include "output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>

#include "error.hpp"

namespace clipper {
namespace {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (!real) throw_system_error(path, "cannot be resolved");
  return real.get();
}

mode_t current_umask() {
  static const mode_t mask = [] {
    const mode_t value = ::umask(0);
    ::umask(value);
    return value;
  }();
  return mask;
}

/// The temporary files on the disk, for the signal handler. A slot is claimed before its file is created, so
/// that no signal can come between the two.
struct Slot {
  std::atomic<bool> taken = false;
  std::atomic<bool> filled = false;
  std::array<char, PATH_MAX> path{};
};
constinit std::array<Slot, 256> temporaries;  // zeros of the loader: a constructor would touch every page

int register_temporary(const std::string& path) {
  if (path.size() >= PATH_MAX) throw_system_error(path, "cannot be created", ENAMETOOLONG);
  for (std::size_t i = 0; i < temporaries.size(); ++i) {
    if (temporaries[i].taken.exchange(true)) continue;
    std::memcpy(temporaries[i].path.data(), path.c_str(), path.size() + 1);
    temporaries[i].filled = true;
    return static_cast<int>(i);
  }
  throw Error(ErrorKind::io, "too many outputs at once");
}

void unregister_temporary(int registration) {
  Slot& slot = temporaries[static_cast<std::size_t>(registration)];
  slot.filled = false;
  slot.taken = false;
}

std::string random_suffix() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    throw_system_error("random number", "not available");
  return fmt::format("{:016x}", number);
}

}  // namespace

OutputFile OutputFile::create(const std::string& path, Existing existing) {
  if (path == "-") {
    if (::isatty(STDOUT_FILENO) != 0)
      throw Error(ErrorKind::usage, "standard output is a terminal; a tensor is not text");
    Descriptor copy(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (copy.get() < 0) throw_system_error("standard output", "cannot be opened");
    return {std::move(copy), "standard output"};
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) throw_system_error(path, "cannot be examined");
    if (::lstat(path.c_str(), &status) == 0)
      throw Error(ErrorKind::refused, fmt::format("{}: a symbolic link to nothing", path));
    OutputFile file({}, path);
    file.existing_ = existing;
    file.mode_ = 0666 & ~current_umask();
    file.create_temporary();
    return file;
  }
  if (S_ISDIR(status.st_mode)) throw_system_error(path, "cannot be written", EISDIR);
  if (S_ISBLK(status.st_mode)) throw Error(ErrorKind::refused, fmt::format("{}: a block device", path));
  if (!S_ISREG(status.st_mode)) {
    Descriptor fd(retry_interrupted([&] { return ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY); }));
    if (fd.get() < 0) throw_system_error(path, "cannot be opened");
    if (::isatty(fd.get()) != 0)
      throw Error(ErrorKind::usage, fmt::format("{}: a terminal; a tensor is not text", path));
    return {std::move(fd), path};
  }
  if (existing == Existing::refuse)
    throw Error(ErrorKind::refused, fmt::format("{}: exists already (--no-clobber)", path));
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0)
    throw_system_error(path, "cannot be replaced");
  OutputFile file({}, resolved(path));
  file.mode_ = status.st_mode & 0777;
  file.create_temporary();
  return file;
}

OutputFile OutputFile::create_in_place(const InputFile& input) {
  const struct stat& status = input.status();
  if (!input.is_regular())
    throw Error(ErrorKind::refused, fmt::format("{}: --in-place needs a regular file", input.path()));
  if (status.st_nlink > 1)
    throw Error(ErrorKind::refused, fmt::format("{}: has {} hard links, which --in-place would break apart",
                                                input.path(), status.st_nlink));
  if (::faccessat(AT_FDCWD, input.path().c_str(), W_OK, AT_EACCESS) != 0)
    throw Error(ErrorKind::refused, fmt::format("{}: is write-protected", input.path()));
  OutputFile file({}, resolved(input.path()));
  file.mode_ = status.st_mode & 07777;
  file.durable_ = true;
  file.create_temporary();
  struct stat created {};
  if (::fstat(file.fd_.get(), &created) != 0) throw_system_error(file.temporary_, "cannot be examined");
  if ((created.st_uid != status.st_uid || created.st_gid != status.st_gid) &&
      ::fchown(file.fd_.get(), status.st_uid, status.st_gid) != 0)
    throw Error(ErrorKind::refused,
                fmt::format("{}: cannot keep its owner {}:{}", input.path(), status.st_uid, status.st_gid));
  return file;
}

void OutputFile::create_temporary() {
  const std::size_t slash = path_.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  const std::string suffix = fmt::format(".clipper-{}", random_suffix());
  temporary_ =
      fmt::format("{}.{}{}", path_.substr(0, name), path_.substr(name, NAME_MAX - 1 - suffix.size()), suffix);
  registration_ = register_temporary(temporary_);
  fd_ = Descriptor(retry_interrupted(
      [&] { return ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600); }));
  if (fd_.get() >= 0) return;
  const int error = errno;
  unregister_temporary(std::exchange(registration_, -1));
  throw_system_error(path_, "cannot be created", error);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      registration_(std::exchange(other.registration_, -1)),
      mode_(other.mode_),
      existing_(other.existing_),
      durable_(other.durable_) {}

OutputFile::~OutputFile() {
  if (registration_ < 0) return;
  ::unlink(temporary_.c_str());
  unregister_temporary(registration_);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = retry_interrupted([&] { return ::write(fd_.get(), bytes.data(), bytes.size()); });
    if (put < 0) throw_system_error(path_, "cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void OutputFile::write_at(std::span<const std::byte> bytes, std::uint64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t put = retry_interrupted(
        [&] { return ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (put < 0) throw_system_error(path_, "cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
}

void OutputFile::commit() {
  if (!is_regular()) {
    if (::close(fd_.release()) != 0) throw_system_error(path_, "cannot be written");
    return;
  }
  if (::fchmod(fd_.get(), mode_) != 0) throw_system_error(path_, "cannot be given its mode");
  if (durable_ && ::fsync(fd_.get()) != 0) throw_system_error(path_, "cannot be written to the disk");
  if (::close(fd_.release()) != 0) throw_system_error(path_, "cannot be written");
  const unsigned flags = existing_ == Existing::refuse ? RENAME_NOREPLACE : 0;
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), flags) != 0) {
    if (errno == EEXIST)
      throw Error(ErrorKind::refused, fmt::format("{}: exists already (--no-clobber)", path_));
    throw_system_error(path_, "cannot be put in place");
  }
  unregister_temporary(std::exchange(registration_, -1));
  if (durable_) sync_directory();
}

void OutputFile::sync_directory() const {
  const Descriptor directory(::open(directory_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0 && ::fsync(directory.get()) == 0) return;
  throw Error(ErrorKind::not_durable,
              fmt::format("{}: replaced, but its directory cannot be written to the disk: {}", path_,
                          std::generic_category().message(errno)));
}

void remove_temporaries() noexcept {
  for (const Slot& slot : temporaries)
    if (slot.filled) ::unlink(slot.path.data());
}

}  // namespace clipper
