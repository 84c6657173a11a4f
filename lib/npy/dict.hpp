#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The text of a .npy header: a Python dict.
namespace clipper::npy {

/// The values of the dict. read_dict() returns all three; `descr` is still text, a view of the header.
struct Fields {
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

/// Whether Python 2 may have written the header: versions 1.0 and 2.0 of the format.
enum class Python2 : bool { no, yes };

/// Reads the dict. `offset` is the position of `text` in the file, for messages. Error{input} unless `text`
/// is a dict of the three keys.
[[nodiscard]] Fields read_dict(std::string_view text, std::size_t offset, Python2 python2);

/// Bytes of a file for a message: at most 48 of them, in printable ASCII with \xNN for the rest.
[[nodiscard]] std::string excerpt(std::string_view bytes);

}  // namespace clipper::npy
