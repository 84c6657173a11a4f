#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace clipper {

/// The width of the terminal that the descriptor leads to; 80 if it leads to something else.
[[nodiscard]] std::size_t terminal_columns(int fd);

/// The text on one line, harmless to a terminal: control characters and bytes that are not UTF-8, which file
/// names may hold, become \xNN.
[[nodiscard]] std::string escape_for_terminal(std::string_view text);

/// The values of --color, in the order of its words.
enum class ColorWhen : std::uint8_t {
  automatic,  ///< on a terminal, unless TERM is unset or "dumb" or NO_COLOR has a value (no-color.org)
  always,
  never,
};

/// What a colored text means.
enum class Ink : std::uint8_t { error, warning, good, bound };

/// Colors texts for one stream. Never give it names of files: escape_for_terminal() escapes color codes.
class Paint {
 public:
  Paint() = default;  ///< returns all texts unchanged
  Paint(ColorWhen when, int fd);

  [[nodiscard]] std::string operator()(Ink ink, std::string_view text) const;

 private:
  bool colors_ = false;
};

/// Sets --color for the whole process. Error lines are written by every thread and by main() after a command
/// has failed and its options are gone, so the choice cannot be passed to all of them. Until it is set:
/// automatic.
void set_color(ColorWhen when) noexcept;

/// The Paint of what is written to the descriptor, by the choice of set_color().
[[nodiscard]] Paint paint_for(int fd);

}  // namespace clipper
