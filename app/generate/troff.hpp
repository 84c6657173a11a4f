#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Texts of the program in the language of man(7).
namespace clipper {

[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

/// Escapes the text: troff finds no command in it, and hyphens of the page can be copied into a shell.
[[nodiscard]] std::string escaped_for_troff(std::string_view text);

/// Escapes the text and makes `code` bold.
[[nodiscard]] std::string inline_to_troff(std::string_view text);

/// Escapes lines that troff must not join.
[[nodiscard]] std::string preformatted(std::string_view lines);

/// A term and its explanation, one line. `term` must already be escaped.
[[nodiscard]] std::string item_to_troff(std::string_view term, std::string_view text);

}  // namespace clipper
