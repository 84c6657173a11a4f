#pragma once

#include <cerrno>
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

/// The result of a system call that is made again for as long as a signal interrupts it.
template <class Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// Makes a pipe hold as much as an unprivileged process may ask for, so that both ends wait less for each
/// other. Anything else stays as it is.
void enlarge_pipe(const Descriptor& fd) noexcept;

}  // namespace clipper
