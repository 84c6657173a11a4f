#include "console/terminal.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "npy/dict.hpp"
#include "os/os.hpp"

namespace clipper {

std::size_t terminal_columns(int fd) {
  constexpr std::size_t kUsual = 80;
  const std::size_t columns = os::columns(fd);
  return columns != 0 ? columns : kUsual;
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

namespace {

std::atomic<ColorWhen> chosen = ColorWhen::automatic;

/// SGR parameters (ECMA-48) of each Ink.
constexpr std::array<std::string_view, 4> kParameters{
    "1;31",  // bold red
    "1;33",  // bold yellow
    "32",    // green
    "36",    // cyan
};

bool has_no_color() {
  const char* const value = std::getenv("NO_COLOR");
  return value != nullptr && *value != '\0';
}

}  // namespace

Paint::Paint(ColorWhen when, int fd)
    : colors_(when == ColorWhen::always ||
              (when == ColorWhen::automatic && !has_no_color() && os::is_capable_terminal(fd))) {}

std::string Paint::operator()(Ink ink, std::string_view text) const {
  if (!colors_) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", kParameters.at(static_cast<std::size_t>(ink)), text);
}

void set_color(ColorWhen when) noexcept {
  chosen = when;
}

Paint paint_for(int fd) {
  return {chosen, fd};
}

}  // namespace clipper
