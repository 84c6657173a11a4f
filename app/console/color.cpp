#include "console/color.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>

#include "console/terminal.hpp"

namespace clipper {
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
              (when == ColorWhen::automatic && !has_no_color() && is_capable_terminal(fd))) {}

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
