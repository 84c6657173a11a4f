#include "console/terminal.hpp"

#include <sys/ioctl.h>

namespace clipper {

std::size_t terminal_columns(int fd) {
  constexpr std::size_t kUsual = 80;
  struct winsize size {};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : kUsual;
}

}  // namespace clipper
