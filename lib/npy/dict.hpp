#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "error.hpp"

/// The text of a .npy header: a Python dict.
namespace clipper::npy {

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
