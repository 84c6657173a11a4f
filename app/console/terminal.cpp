#include "console/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "npy/utf8.hpp"

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

std::string escape_for_terminal(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    std::string_view rest = text;
    const bool is_printed = npy::is_printed(npy::take_code_point(rest).value_or(0));
    const std::size_t length = is_printed ? text.size() - rest.size() : 1;
    if (is_printed)
      line += text.substr(0, length);
    else
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    text.remove_prefix(length);
  }
  return line;
}

}  // namespace clipper
