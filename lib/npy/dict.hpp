#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The text of a .npy header: a Python dict.
namespace clipper::npy {

/// What the dict says, still as it is written there; all of it, once it is read.
struct Fields {
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

/// Whether Python 2 may have written it, as versions 1.0 and 2.0 of the format.
enum class Python2 : bool { no, yes };

/// Reads the dict. `offset`: where `text` is in the file, for messages. Error{input} for everything but the
/// three keys with values in their one form.
[[nodiscard]] Fields read_dict(std::string_view text, std::size_t offset, Python2 python2);

/// Bytes of a file as they may appear in a message: short, on one line, harmless to a terminal.
[[nodiscard]] std::string excerpt(std::string_view bytes);

}  // namespace clipper::npy
