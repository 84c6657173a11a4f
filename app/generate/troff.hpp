#pragma once

#include <string>
#include <string_view>

/// Translates the markup of the manual's texts to the language of man(7). Empty lines separate blocks:
///
///     ## Title        a heading below the section's
///     = Term          the lines below it explain the term
///     * Text          an item of a list, which goes on to the next item
///         code        four spaces: an example; every line stays as it is
///     Text            a paragraph
///
/// `code` becomes bold in all blocks except examples.
namespace clipper {

/// Escapes the text: troff finds no command in it, and hyphens of the page can be copied into a shell.
[[nodiscard]] std::string escaped_for_troff(std::string_view text);

/// Escapes the text and makes `code` bold.
[[nodiscard]] std::string inline_to_troff(std::string_view text);

/// Translates blocks that follow a heading.
[[nodiscard]] std::string to_troff(std::string_view markup);

/// Escapes lines that troff must not join.
[[nodiscard]] std::string preformatted(std::string_view lines);

/// A term and its explanation. `term` must already be escaped.
[[nodiscard]] std::string item_to_troff(std::string_view term, std::string_view text);

}  // namespace clipper
