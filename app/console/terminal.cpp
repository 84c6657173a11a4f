#include "console/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace clipper {

bool is_capable_terminal(int fd) {
  const char* const name = std::getenv("TERM");
  return ::isatty(fd) != 0 && name != nullptr && std::string_view(name) != "dumb";
}

std::size_t terminal_columns(int fd) {
  constexpr std::size_t kUsual = 80;
  struct winsize size {};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : kUsual;
}

}  // namespace clipper
