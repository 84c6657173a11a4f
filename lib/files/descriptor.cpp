#include "files/descriptor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <system_error>

#include "error.hpp"

namespace clipper {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

void throw_system_error(const std::string& path, std::string_view what, int error) {
  throw Error(ErrorKind::io, fmt::format("{}: {}: {}", path, what, std::generic_category().message(error)),
              error);
}

void throw_changed(const std::string& path, std::string_view how) {
  throw Error(ErrorKind::io, fmt::format("{}: changed while it was read{}", path, how));
}

bool is_unsupported(int error) noexcept {
  return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM;
}

bool has_no_links(int error) noexcept {
  return is_unsupported(error) || error == EMLINK;
}

bool has_no_unnamed_files(int error) noexcept {
  return is_unsupported(error) || error == EISDIR;
}

/// glibc uses faccessat2() for faccessat(), too, so the second try is the system call itself.
int check_access(int directory, const char* name, int mode) noexcept {
  if (::faccessat(directory, name, mode, AT_EACCESS) == 0) return 0;
  return is_unsupported(errno) ? static_cast<int>(::syscall(SYS_faccessat, directory, name, mode)) : -1;
}

std::array<char, 32> path_of(const Descriptor& fd) noexcept {
  std::array<char, 32> path{"/proc/self/fd/"};
  std::to_chars(path.data() + std::strlen(path.data()), path.data() + path.size() - 1, fd.get());
  return path;
}

std::size_t read_at(const Descriptor& fd, std::span<std::byte> bytes, std::uint64_t offset,
                    const std::string& path) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = retry_interrupted([&] {
      return ::pread(fd.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    });
    if (got < 0) throw_system_error(path, "cannot be read");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void write_at(const Descriptor& fd, std::span<const std::byte> bytes, std::uint64_t offset,
              const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = retry_interrupted(
        [&] { return ::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (put < 0) throw_system_error(path, "cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
}

bool lock(const Descriptor& fd, const std::string& path) {
  if (retry_interrupted([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) == 0) return true;
  if (errno == EWOULDBLOCK) refuse(path, "is locked by another program, perhaps another clipper");
  if (errno == ESTALE || errno == ENOENT)
    refuse(path, "was replaced while it was opened; try again");  // seen on GlusterFS
  if (!is_unsupported(errno) && errno != ENOLCK) throw_system_error(path, "cannot be locked");
  return false;
}

void check_close(const Descriptor& fd, const std::string& path) {
  const int copy = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || ::close(copy) != 0) throw_system_error(path, "cannot be written");
}

void enlarge_pipe(const Descriptor& fd) noexcept {
  constexpr int kMaxPipe = 1 << 20;  // default of fs.pipe-max-size
  ::fcntl(fd.get(), F_SETPIPE_SZ, kMaxPipe);
}

}  // namespace clipper
