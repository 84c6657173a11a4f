#include "npy/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "error.hpp"
#include "npy/descr.hpp"
#include "npy/dict.hpp"
#include "npy/file_kind.hpp"

namespace clipper::npy {
namespace {

constexpr std::size_t kLengthAt = 8;  // after the magic and two version bytes

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Where the dict begins: its length takes 2 bytes in version 1.0 and 4 bytes in later versions.
std::size_t text_offset(std::span<const std::byte> start) {
  return kLengthAt + (start[kVersionAt] == std::byte{1} ? 2 : 4);
}

[[noreturn]] void refuse(const Message& message) {
  throw Error(ErrorKind::input, message);
}

[[noreturn]] void refuse_truncated(std::size_t needed, std::size_t present) {
  refuse(fmt::format("truncated header (needs {} bytes, has {})", needed, present));
}

/// The product of the shape. As in numpy, the size limit ignores dimensions of 0: (0, 2**62, 4) is too large.
std::uint64_t count_elements(const Header& header) {
  const std::uint64_t element = header.other ? header.other->size : header.element_size();
  const auto size = static_cast<std::int64_t>(std::max<std::uint64_t>(element, 1));
  std::int64_t bytes = size;
  bool empty = false;
  for (const std::int64_t dimension : header.shape) {
    if (dimension == 0)
      empty = true;
    else if (__builtin_mul_overflow(bytes, dimension, &bytes))
      refuse(fmt::format("shape too large: {} of {}", excerpt(shape_text(header.shape)), type_name(header)));
  }
  return empty ? 0 : static_cast<std::uint64_t>(bytes / size);
}

std::string descr_text(const TensorLayout& layout) {
  using Kind = Meaning::Kind;
  const DTypeTraits& dtype = traits(layout.dtype);
  const char order = layout.order == ByteOrder::little ? '<' : '>';
  switch (layout.meaning.kind) {
    case Kind::number: break;
    case Kind::boolean: return "|b1";
    case Kind::datetime: return fmt::format("{}M8{}", order, unit_text(layout.meaning.unit));
    case Kind::timedelta: return fmt::format("{}m8{}", order, unit_text(layout.meaning.unit));
    case Kind::complex: return fmt::format("{}c{}", order, layout.element_size());
  }
  if (!layout.stored_as.empty()) return std::string(layout.stored_as);
  const bool has_order = dtype.size > 1 || is_float8(dtype.dtype);
  if (!has_order) return fmt::format("|{}", dtype.descr);
  return fmt::format("{}{}", order, dtype.descr);
}

}  // namespace

std::uint64_t data_offset(std::span<const std::byte> start) {
  if (is_unfinished(start))
    throw Error(ErrorKind::refused, "left unfinished by " + Term{"direct", "a direct change"} +
                                        "; run the same " + Term{"direct", "change"} + " again to finish it");
  if (!can_be_npy(start)) refuse(not_npy(start));
  if (start.size() < kLengthAt + 2) refuse_truncated(kLengthAt + 2, start.size());
  if (start[kVersionAt] == kUnfinishedVersion)  // up to version 0.1.0
    throw Error(ErrorKind::refused, "left unfinished by " + Term{"direct", "a direct change"} +
                                        " of an older clipper; finish it with that version");
  const auto major = std::to_integer<int>(start[kVersionAt]);
  const auto minor = std::to_integer<int>(start[kVersionAt + 1]);
  if (major < 1 || major > 3 || minor != 0)
    refuse(fmt::format("format version {}.{} is not supported (1.0, 2.0 and 3.0 are)", major, minor));

  const std::size_t text_at = text_offset(start);
  if (start.size() < text_at) refuse_truncated(text_at, start.size());
  std::uint64_t length = 0;
  for (std::size_t i = text_at; i-- > kLengthAt;)
    length = length << 8 | std::to_integer<std::uint64_t>(start[i]);
  if (length > kMaxHeaderSize)
    refuse(fmt::format("a header of {} bytes exceeds the limit of {}", length, kMaxHeaderSize));
  return text_at + length;
}

std::string type_name(const Header& header) {
  return header.other ? header.other->name : clipper::type_name(header.layout());
}

Header parse(std::span<const std::byte> bytes, const GivenDType& dtype, Opaque opaque, Types types,
             std::string_view python) {
  Header header;
  header.data_offset = data_offset(bytes);
  if (bytes.size() < header.data_offset) refuse_truncated(header.data_offset, bytes.size());

  const std::size_t text_at = text_offset(bytes);
  const std::string_view text = as_text(bytes.first(header.data_offset).subspan(text_at));
  const Python2 python2 = bytes[kVersionAt] < std::byte{3} ? Python2::yes : Python2::no;
  const Structured structured = types == Types::all ? Structured::read : Structured::refused;
  Fields fields = read_dict(text, text_at, python2, structured, python);
  header.fortran_order = *fields.fortran_order;
  header.shape = *std::move(fields.shape);
  read_descr(*fields.descr, dtype, opaque, types, python, header);
  header.count = count_elements(header);
  return header;
}

void expect_data(const Header& header, std::uint64_t size) {
  if (header.has_objects() || size >= header.data_offset + header.data_size()) return;
  refuse(fmt::format("{} data bytes expected for {} {}, the file has {}", header.data_size(),
                     type_name(header), shape_text(header.shape), size - header.data_offset));
}

std::string format(const TensorLayout& layout) {
  // numpy checks for C order first, so it writes an array that is in both orders as C.
  const auto larger_than_one = std::ranges::count_if(layout.shape, [](std::int64_t n) { return n > 1; });
  const bool has_zero = std::ranges::find(layout.shape, 0) != layout.shape.end();
  const bool fortran_order = layout.fortran_order && larger_than_one > 1 && !has_zero;

  // Unqualified, the call could mean std::format().
  return npy::format(descr_text(layout), fortran_order, layout.shape);
}

std::string format(std::string_view descr, bool fortran_order, std::span<const std::int64_t> shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr,
                                 fortran_order ? "True" : "False", shape_text(shape));
  if (!shape.empty()) {
    // numpy leaves room for the digits of the dimension that grows when elements are appended to the file.
    constexpr std::size_t kGrowthDigits = 21;
    const std::int64_t growing = fortran_order ? shape.back() : shape.front();
    text.append(kGrowthDigits - std::to_string(growing).size(), ' ');
  }

  const auto padded = [&](std::size_t text_at) {
    return (text_at + text.size() + 1) / 64 * 64 + 64 - text_at;
  };
  const bool is_short = padded(kLengthAt + 2) <= 0xffff;
  const std::size_t length_size = is_short ? 2 : 4;
  const std::size_t length = padded(kLengthAt + length_size);
  std::string bytes(kMagic);
  bytes += {is_short ? '\1' : '\2', '\0'};
  for (std::size_t i = 0; i < length_size; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes + text + std::string(length - text.size() - 1, ' ') + '\n';
}

}  // namespace clipper::npy
