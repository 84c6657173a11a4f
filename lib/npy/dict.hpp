#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "error.hpp"

namespace clipper::npy {

/// Removes the character that `text`, which is not empty, starts with in UTF-8, and returns its code point.
/// Nothing if the bytes are not UTF-8: then removes the longest part of a character that they start with, or
/// one byte, which readers replace by one U+FFFD.
inline std::optional<char32_t> take_code_point(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const auto length = static_cast<std::size_t>(std::max(1, std::countl_one(first)));
  char32_t code = length == 1 ? first : first & (0x7fU >> length);
  bool is_valid = first < 0x80 || (first >= 0xc2 && first <= 0xf4);
  std::size_t taken = 1;
  for (; is_valid && taken < length; ++taken) {
    // Others would be a longer form of a lower code point, a surrogate, or beyond U+10FFFF.
    const unsigned min = taken > 1 ? 0x80 : first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned max = taken > 1 ? 0xbf : first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    is_valid = taken < text.size() && byte(taken) >= min && byte(taken) <= max;
    if (!is_valid) break;
    code = code << 6U | (byte(taken) & 0x3fU);
  }
  text.remove_prefix(taken);
  return is_valid ? std::optional(code) : std::nullopt;
}

/// Whether the character can stand in a line for people as it is: it is no control character, does not end a
/// line, and does not embed, override or isolate a direction, which would make text after it look like
/// another.
inline bool is_printed(char32_t code) {
  const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool is_separator = code == 0x2028 || code == 0x2029;
  const bool is_of_direction = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return !is_control && !is_separator && !is_of_direction;
}

/// Appends the character in UTF-8.
inline void append_code_point(char32_t code, std::string& text) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes after the first
  text += static_cast<char>((0xf00U >> (more + 1) & 0xff) | code >> (6 * more));
  for (unsigned i = more; i-- > 0;) text += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
}

/// What commands in messages call a path: the path itself, but `otherwise` if it would need quotes, begins
/// with a dash, or has what messages print as \xNN. A colon is only taken after the letter of a drive.
inline std::string_view name_for_commands(std::string_view path, std::string_view otherwise = "FILE") {
  const auto is_letter = [](char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_shown = [&](char32_t c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           (c < 0x80 ? std::string_view("._/-+,@").find(static_cast<char>(c)) != std::string_view::npos
                     : is_printed(c));
  };
  const bool has_drive =
      path.size() > 2 && is_letter(static_cast<unsigned char>(path[0])) && path.substr(1, 2) == ":/";
  for (std::string_view rest = path.substr(has_drive ? 2 : 0); !rest.empty();)
    if (const std::optional<char32_t> c = take_code_point(rest); !c || !is_shown(*c)) return otherwise;
  return path.starts_with('-') ? otherwise : path;
}

// The text of a .npy header: a Python dict.

struct StructField;

/// The type of elements, or of a field of structured elements, as the dict has it.
struct Descr {
  std::string_view text;            ///< still text, a view of the header: "<f4", "[('x', '<f4')]"
  bool is_structured = false;       ///< `text` is a list of fields
  std::vector<StructField> fields;  ///< of a list
};

/// A field. Names are UTF-8, without Python's escapes.
struct StructField {
  std::optional<std::string> title;
  std::string name;
  Descr type;
  std::optional<std::vector<std::int64_t>> shape;  ///< of a field that is an array; () is an element
};

/// The values of the dict. read_dict() returns all three.
struct Fields {
  std::optional<Descr> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

/// Whether Python 2 may have written the header: versions 1.0 and 2.0 of the format.
enum class Python2 : bool { no, yes };

/// What read_dict() does with a list of fields: refuse it as an unsupported type, or read it.
enum class Structured : bool { refused, read };

/// Reads the dict. `offset` is the position of `text` in the file, for messages. Error{input} unless `text`
/// is a dict of the three keys. `python`: see parse().
[[nodiscard]] Fields read_dict(std::string_view text, std::size_t offset, Python2 python2,
                               Structured structured = Structured::refused, std::string_view python = "x");

/// Bytes of a file for a message: at most 48 of them, in printable ASCII with \xNN for the rest.
[[nodiscard]] std::string excerpt(std::string_view bytes);

[[nodiscard]] std::string_view as_text(std::span<const std::byte> bytes);

/// Throws Error{input}.
[[noreturn]] void refuse(const Message& message);

}  // namespace clipper::npy
