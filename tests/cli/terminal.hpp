#pragma once

#include <stdlib.h>
#include <sys/ioctl.h>

#include "files/descriptor.hpp"
#include "support/skip.hpp"

namespace clipper::testing {

/// A pseudo-terminal. path() is the end that programs open.
class Terminal {
 public:
  /// Whether the system has pseudo-terminals; reports a skip if not.
  [[nodiscard]] static bool exists() {
    const bool has_any = ::access("/dev/ptmx", F_OK) == 0;
    if (!has_any) skip_without("/dev/ptmx");
    return has_any;
  }

  Terminal() : fd_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)) {
    REQUIRE(::grantpt(fd_.get()) == 0);
    REQUIRE(::unlockpt(fd_.get()) == 0);
    path_ = ::ptsname(fd_.get());
    program_end_ = Descriptor(::open(path_.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));  // prevents hangup
  }
  [[nodiscard]] const std::string& path() const { return path_; }

  void resize(unsigned short columns) const {
    const struct winsize size { 24, columns, 0, 0 };
    REQUIRE(::ioctl(fd_.get(), TIOCSWINSZ, &size) == 0);
  }

  void type(std::string_view text) const { REQUIRE(::write(fd_.get(), text.data(), text.size()) > 0); }

  /// Redirects a standard stream to the terminal, with escape sequences. For Settings::prepare.
  [[nodiscard]] std::function<void()> as(int stream) const {
    return [this, stream] {
      ::setenv("TERM", "xterm", 1);
      ::unsetenv("NO_COLOR");
      ::dup2(::open(path_.c_str(), O_RDWR | O_NOCTTY), stream);
    };
  }

  /// Everything that programs have written to the terminal.
  [[nodiscard]] const std::string& written() {
    std::array<char, 4096> bytes{};
    for (ssize_t got = 0; (got = ::read(fd_.get(), bytes.data(), bytes.size())) > 0;)
      written_.append(bytes.data(), static_cast<std::size_t>(got));
    return written_;
  }

 private:
  Descriptor fd_;
  Descriptor program_end_;
  std::string path_;
  std::string written_;
};

}  // namespace clipper::testing
