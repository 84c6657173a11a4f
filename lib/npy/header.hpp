#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "element/dtype.hpp"
#include "error.hpp"

/// The .npy file format: bytes <-> Header. Pure functions, no I/O. Every function that takes bytes from a
/// file throws Error{input} on what it refuses (Error{refused} for kUnfinishedVersion), with a message that
/// names what and where (the caller puts the path in front), and allocates nothing that is sized by those
/// bytes beyond the header itself. Bytes of the file are quoted in a message shortened and escaped: one line,
/// printable ASCII.
///
/// What is accepted, numpy accepts with the same meaning. Beyond it: bfloat16, np.int64(7) as a dimension and
/// header texts of more than 10,000 bytes. What numpy accepts is refused only if no writer makes it: Python's
/// other spellings of strings and numbers, keys that are repeated, values in further parentheses, a backslash
/// at a line's end, comments beyond ASCII, before the dict more than blanks and then empty lines, and a form
/// feed in a last line that has no end.
///
/// numpy has no bfloat16. ml_dtypes' arrays are saved as 2-byte void with a byte order, `<V2` or `>V2`, which
/// is bfloat16 here. numpy loads that as void without an order and saves it again as `|V2`, which may be
/// anything: bfloat16 if the user says so. A descriptor without a byte order means this machine's.
namespace clipper::npy {

/// Bytes to read before anything is known: magic, version and the longer of the two length fields.
inline constexpr std::size_t kPreambleSize = 12;

/// Where the major version is in a file, and which one says that the file's elements are being changed: no
/// reader accepts it.
inline constexpr std::size_t kVersionAt = 6;
inline constexpr std::byte kUnfinishedVersion{204};

/// The longest header text that is read; numpy's own are 118 bytes unless the shape is extreme.
inline constexpr std::size_t kMaxHeaderSize = std::size_t{64} * 1024;

inline constexpr std::size_t kMaxRank = 64;

/// What a file's header says.
struct Header {
  DType dtype = DType::float32;
  ByteOrder order = kNativeOrder;   ///< of the elements in the file; native if they are single bytes
  bool opaque = false;              ///< bfloat16 that was written `|V2`: it is written `|V2` again
  bool fortran_order = false;       ///< as written, also where both orders are the same (1-D, empty)
  std::vector<std::int64_t> shape;  ///< 0 to kMaxRank dimensions, each >= 0
  std::uint64_t data_offset = 0;    ///< where the elements begin in the file
  std::uint64_t count = 1;          ///< the product of the shape; count * size fits int64

  [[nodiscard]] std::uint64_t data_size() const { return count * traits(dtype).size; }
};

/// Bfloat16 that was written `|V2`, if nobody said what it is.
enum class Opaque : std::uint8_t { refused, taken };

/// Where the elements begin, from the first bytes of a file: at least kPreambleSize of them, or the whole
/// file if it is shorter. At most kPreambleSize + kMaxHeaderSize. The error for a file that is not .npy names
/// what it is: see not_npy() in file_kind.hpp.
[[nodiscard]] std::uint64_t data_offset(std::span<const std::byte> start);

/// The header of a file, from its first data_offset() bytes; bytes behind them are not looked at. `dtype` is
/// the user's word for what a 2-byte void (`|V2`) is; for every other descriptor it must agree with the file.
/// Without that word `opaque` says whether the void is refused, or taken for bfloat16.
[[nodiscard]] Header parse(std::span<const std::byte> bytes, std::optional<DType> dtype = std::nullopt,
                           Opaque opaque = Opaque::refused);

/// The header bytes that np.save writes for such an array: magic to final newline. `data_offset` and `count`
/// are not used. Where both memory orders are the same it says C, as numpy does.
[[nodiscard]] std::string format(const Header& header);

/// What is said of 2-byte void that nobody called bfloat16.
[[nodiscard]] Message opaque_dtype(std::string_view descr);

/// "(3, 4)", "(7,)", "()": a shape as Python prints it.
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);

/// Where element `position` (below count) of the file's data is in the tensor; its memory order respected.
[[nodiscard]] std::vector<std::uint64_t> index_of(const Header& header, std::uint64_t position);

/// The same as text: "[0, 17, 3]", "[]".
[[nodiscard]] std::string index_text(const Header& header, std::uint64_t position);

}  // namespace clipper::npy
