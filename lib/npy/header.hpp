#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "element/dtype.hpp"
#include "element/tensor_layout.hpp"
#include "error.hpp"
#include "npy/other.hpp"

/// The .npy file format: bytes <-> Header. Pure functions, no I/O. Functions that read bytes of a file throw
/// Error{input} for malformed bytes and Error{refused} for unfinished_start(). The message says what is wrong
/// and where (the caller adds the path) and quotes bytes of the file by excerpt(). A size in those bytes
/// never causes an allocation larger than the header.
///
/// Every header that is accepted means the same to numpy. Accepted although numpy refuses it: bfloat16,
/// np.int64(7) as a dimension, header texts of more than 10,000 bytes. Refused although numpy accepts it,
/// because no program writes it: Python's other spellings of strings and numbers, repeated keys, values in
/// parentheses, a backslash at the end of a line, comments beyond ASCII, anything but blanks and then empty
/// lines before the dict, and a form feed in a last line without newline.
///
/// numpy has no bfloat16. It saves arrays of ml_dtypes' bfloat16 as 2-byte void with a byte order, `<V2` or
/// `>V2`, which is bfloat16 here. numpy loads them as void without byte order and saves those as `|V2`, which
/// may be any 2-byte type; the user must say that it is bfloat16. A descriptor without byte order means this
/// machine's. Of its types of one byte, ml_dtypes saves float8_e5m2 as `<f1`, which numpy cannot load, and
/// all others as `<V1`: the user must say which it is.
namespace clipper::npy {

/// The first bytes to read: magic, version and the longer of the two length fields.
inline constexpr std::size_t kPreambleSize = 12;

/// The longest header text that is read. numpy writes 118 bytes unless the shape is extreme.
inline constexpr std::size_t kMaxHeaderSize = std::size_t{64} * 1024;

/// What a file's header says.
struct Header : TensorLayout {
  std::uint64_t data_offset = 0;   ///< where the elements begin in the file
  std::optional<OtherType> other;  ///< in place of `dtype` and `meaning`

  [[nodiscard]] const TensorLayout& layout() const { return *this; }
  [[nodiscard]] std::uint64_t data_size() const {
    return other ? count * other->size : TensorLayout::data_size();
  }
  [[nodiscard]] bool has_objects() const { return other && other->has_objects; }
};

/// The type as numpy prints it.
[[nodiscard]] std::string type_name(const Header& header);

/// Which types parse() accepts: those of DType; also bool, dates and durations, whose elements have an order;
/// also complex numbers, which can be equal; all that numpy reads.
enum class Types : std::uint8_t { dtypes, clipped, comparable, all };

/// What the user says that a file or a member holds. The dtype makes `|V2` bfloat16 and `<V1` a float8, and
/// must agree with every other descriptor.
struct GivenDType {
  GivenDType() = default;
  template <std::convertible_to<std::optional<OrderedDType>> T>
  GivenDType(T given) : dtype(given) {}  // NOLINT(google-explicit-constructor): it loses nothing

  std::optional<OrderedDType> dtype;

  /// Whether integers of the same size are bfloat16 or a float8, too. Only where the user names the file or
  /// the member: among many others there are real integers.
  bool takes_integers = false;
};

/// What parse() does with `|V2`, `<V1` and `|V1` if the caller gives no dtype: refuse them, or take them for
/// the first dtype that is saved so.
enum class Opaque : std::uint8_t { refused, taken };

/// Where the elements begin, from the first bytes of a file: at least kPreambleSize of them, or the whole
/// file if it is shorter. At most kPreambleSize + kMaxHeaderSize. The error for a file that is not .npy names
/// what it is: see not_npy() in other.hpp.
[[nodiscard]] std::uint64_t data_offset(std::span<const std::byte> start);

/// The header of a file, from its first data_offset() bytes; later bytes are ignored. Types::all takes `|V2`
/// and `<V1` for what numpy does: raw bytes. `python` is the array in the Python that messages advise:
/// "np.load('x.npy')".
[[nodiscard]] Header parse(std::span<const std::byte> bytes, const GivenDType& dtype = {},
                           Opaque opaque = Opaque::refused, Types types = Types::dtypes,
                           std::string_view python = "x");

/// Error{input} if a file of `size` bytes, at least data_offset, ends before the last element. The length of
/// pickled objects is unknown.
void expect_data(const Header& header, std::uint64_t size);

/// The header bytes that np.save writes for such an array: magic to final newline. Ignores `count`. An array
/// that is in both memory orders is written as C order, as by numpy.
[[nodiscard]] std::string format(const TensorLayout& layout);

/// The same for any descriptor, which parse() may refuse.
[[nodiscard]] std::string format(std::string_view descr, bool fortran_order,
                                 std::span<const std::int64_t> shape);

/// What parse() makes of a header that says this layout: for a tensor of which another format says it.
/// Error{input} for what parse() refuses.
[[nodiscard]] Header accepted(const TensorLayout& layout, const GivenDType& dtype, Types types,
                              std::string_view python = "x");

}  // namespace clipper::npy
