#pragma once

#include <string>
#include <string_view>

/// From the markup of the manual's texts to the language of man(7). Empty lines separate blocks:
///
///     ## Title        a heading below the section's
///     = Term          the lines below it explain the term
///     * Text          an item of a list, which goes on to the next item
///         code        four spaces: an example; every line stays as it is
///     Text            a paragraph
///
/// `code` is bold, in all blocks but examples.
namespace clipper {

/// The text as people will read it: nothing in it is a command to troff, and every hyphen can be copied into
/// a shell.
[[nodiscard]] std::string escaped_for_troff(std::string_view text);

/// Escaped, and `code` bold.
[[nodiscard]] std::string inline_to_troff(std::string_view text);

/// Blocks, after a heading.
[[nodiscard]] std::string to_troff(std::string_view markup);

/// Lines that stay as they are.
[[nodiscard]] std::string preformatted(std::string_view lines);

/// A term and its explanation. The term is troff already.
[[nodiscard]] std::string item_to_troff(std::string_view term, std::string_view text);

}  // namespace clipper
