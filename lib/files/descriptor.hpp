#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace clipper {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// Throws Error{io}: "out.npy: cannot be written: No space left on device".
[[noreturn]] void throw_system_error(const std::string& path, std::string_view what, int error = errno);

/// Throws Error{io} for a file that somebody has written to or cut off: "x.npy: changed while it was read".
[[noreturn]] void throw_changed(const std::string& path, std::string_view how = "");

/// Whether a system call failed because the file system has none of its kind.
[[nodiscard]] bool is_unsupported(int error) noexcept;

/// The same of link(), whose file system may have links, but not for that file.
[[nodiscard]] bool has_no_links(int error) noexcept;

/// The result of a system call that is made again for as long as a signal interrupts it.
template <class Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// Reads at `offset` of the file; less than asked for only at its end. Callable from many threads.
[[nodiscard]] std::size_t read_at(const Descriptor& fd, std::span<std::byte> bytes, std::uint64_t offset,
                                  const std::string& path);

/// Writes all bytes at `offset` of the file. Callable from many threads.
void write_at(const Descriptor& fd, std::span<const std::byte> bytes, std::uint64_t offset,
              const std::string& path);

/// Takes the file's lock until its last descriptor is closed; false if the file system has no locks.
/// Error{refused} if another clipper has it.
[[nodiscard]] bool lock(const Descriptor& fd, const std::string& path);

/// What close() has to report (a network file system, a quota), it reports for every descriptor of the file:
/// before the last one is closed, then.
void check_close(const Descriptor& fd, const std::string& path);

/// Makes a pipe hold as much as an unprivileged process may ask for, so that both ends wait less for each
/// other. Anything else stays as it is.
void enlarge_pipe(const Descriptor& fd) noexcept;

}  // namespace clipper
