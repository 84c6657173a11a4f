#include "npy/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "error.hpp"
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

[[noreturn]] void refuse_dtype(std::string_view descr, std::string_view type) {
  struct Row {
    std::string_view prefix;
    std::string_view meaning;
    std::string_view replacement;  // what to save instead of an array x; empty for what is no number
  };
  constexpr Row kRows[] = {{"O", "Python objects", "x.astype('f8')"},
                           {"b1", "bool", "x.astype('u1')"},
                           {"?", "bool", "x.astype('u1')"},
                           {"f16", "long double, float128", "x.astype('f8')"},
                           {"f12", "long double, float96", "x.astype('f8')"},
                           {"c", "complex numbers", "x.real"},
                           {"S", "byte strings", ""},
                           {"U", "strings", ""},
                           {"M8", "dates, datetime64", "x.view('i8')"},
                           {"m8", "durations, timedelta64", "x.view('i8')"},
                           {"V", "raw bytes", "x.view(DTYPE)"}};
  const auto* const row =
      std::ranges::find_if(kRows, [&](const Row& entry) { return type.starts_with(entry.prefix); });
  if (row == std::end(kRows)) refuse(fmt::format("dtype '{}' is not supported", excerpt(descr)));
  refuse(fmt::format("dtype '{}' (", excerpt(descr)) + Term{kTypeField, row->meaning} +
         ") is not supported; " +
         (row->replacement.empty() ? "clipper clips numbers"
                                   : fmt::format("convert it: np.save('x.npy', {})", row->replacement)));
}

/// Sets the dtype, order and opaque of `header` from a descriptor.
void read_descr(std::string_view descr, std::optional<DType> expected, Opaque opaque, Header& header) {
  const bool has_order = descr.find_first_of("<>=|") == 0;
  const std::string_view type = descr.substr(has_order ? 1 : 0);
  const auto* const row = std::ranges::find_if(
      kDTypes, [&](const DTypeTraits& dtype) { return dtype.descr == type || dtype.name == descr; });
  if (row == kDTypes.end()) refuse_dtype(descr, type);

  const bool ordered = row->size > 1 && (descr[0] == '<' || descr[0] == '>');
  header.dtype = row->dtype;
  header.order = !ordered ? kNativeOrder : descr[0] == '<' ? ByteOrder::little : ByteOrder::big;
  header.opaque = type == traits(DType::bfloat16).descr && !ordered;
  if (header.opaque && !expected && opaque == Opaque::refused) refuse(opaque_dtype(descr));
  if (expected && *expected != row->dtype)
    refuse(fmt::format("the file's dtype is '{}' ({}), but ", descr, row->name) +
           Term{"dtype", "the request says"} + " " + std::string(traits(*expected).name));
}

/// The product of the shape. As in numpy, the size limit ignores dimensions of 0: (0, 2**62, 4) is too large.
std::uint64_t count_elements(const Header& header) {
  const auto size = static_cast<std::int64_t>(traits(header.dtype).size);
  std::int64_t bytes = size;
  bool empty = false;
  for (const std::int64_t dimension : header.shape) {
    if (dimension == 0)
      empty = true;
    else if (__builtin_mul_overflow(bytes, dimension, &bytes))
      refuse(fmt::format("shape too large: {} of {}", excerpt(shape_text(header.shape)),
                         traits(header.dtype).name));
  }
  return empty ? 0 : static_cast<std::uint64_t>(bytes / size);
}

std::string descr_text(const TensorLayout& layout) {
  const DTypeTraits& dtype = traits(layout.dtype);
  if (dtype.size == 1 || layout.opaque) return fmt::format("|{}", dtype.descr);
  return fmt::format("{}{}", layout.order == ByteOrder::little ? '<' : '>', dtype.descr);
}

}  // namespace

std::uint64_t data_offset(std::span<const std::byte> start) {
  if (!can_be_npy(start)) refuse(not_npy(start));
  if (start.size() < kLengthAt + 2) refuse_truncated(kLengthAt + 2, start.size());

  if (start[kVersionAt] == kUnfinishedVersion)
    throw Error(ErrorKind::refused, "left unfinished by " + Term{"direct", "a direct change"} +
                                        "; run the same " + Term{"direct", "change"} + " again to finish it");
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

Header parse(std::span<const std::byte> bytes, std::optional<DType> dtype, Opaque opaque) {
  Header header;
  header.data_offset = data_offset(bytes);
  if (bytes.size() < header.data_offset) refuse_truncated(header.data_offset, bytes.size());

  const std::size_t text_at = text_offset(bytes);
  const std::string_view text = as_text(bytes.first(header.data_offset).subspan(text_at));
  const Python2 python2 = bytes[kVersionAt] < std::byte{3} ? Python2::yes : Python2::no;
  Fields fields = read_dict(text, text_at, python2);
  header.fortran_order = *fields.fortran_order;
  header.shape = *std::move(fields.shape);
  read_descr(*fields.descr, dtype, opaque, header);
  header.count = count_elements(header);
  return header;
}

void expect_data(const Header& header, std::uint64_t size) {
  if (size >= header.data_offset + header.data_size()) return;
  refuse(fmt::format("{} data bytes expected for {} {}, the file has {}", header.data_size(),
                     traits(header.dtype).name, shape_text(header.shape), size - header.data_offset));
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
