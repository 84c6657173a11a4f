#include "npy/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "npy/dict.hpp"

namespace clipper::npy {
namespace {

/// Advice that ends in ", allow_pickle=True)" where np.load needs that.
std::string loaded(std::string_view python, bool has_objects) {
  std::string text(python);
  if (has_objects && text.ends_with(')')) text.insert(text.size() - 1, ", allow_pickle=True");
  return text;
}

[[noreturn]] void refuse_dtype(std::string_view descr, std::string_view python) {
  struct Row {
    std::string_view prefix;
    std::string_view meaning;
    std::string_view replacement;  // of the array, what to save instead; empty for what is no number
  };
  constexpr Row kRows[] = {{"O", "Python objects", ".astype('f8')"},
                           {"b1", "bool", ".astype('u1')"},
                           {"?", "bool", ".astype('u1')"},
                           {"f16", "long double, float128", ".astype('f8')"},
                           {"f12", "long double, float96", ".astype('f8')"},
                           {"c", "complex numbers", ".real"},
                           {"S", "byte strings", ""},
                           {"U", "strings", ""},
                           {"M8", "dates, datetime64", ".view('i8')"},
                           {"m8", "durations, timedelta64", ".view('i8')"},
                           {"V", "raw bytes", ".view(DTYPE)"}};
  const std::string_view type = without_order(descr);
  const auto* const row =
      std::ranges::find_if(kRows, [&](const Row& entry) { return type.starts_with(entry.prefix); });
  if (row == std::end(kRows)) refuse(fmt::format("dtype '{}' is not supported", excerpt(descr)));
  refuse(fmt::format("dtype '{}' (", excerpt(descr)) + Term{kTypeField, row->meaning} +
         ") is not supported; " +
         (row->replacement.empty() ? "clipper clips numbers"
                                   : fmt::format("convert it in Python: np.save('x.npy', {}{})",
                                                 loaded(python, row->prefix == "O"), row->replacement)));
}

/// The type of ml_dtypes that have one byte and no letter of their own.
constexpr std::string_view kRawByte = "V1";

/// The descriptor of elements that are stored as those of another dtype: TensorLayout::stored_as. `mark` is
/// the first character of the file's descriptor.
std::string_view kept_descr(const DTypeTraits& stored, bool has_order, char mark, ByteOrder order) {
  constexpr std::array<std::string_view, 12> kDescrs{"|V2", "|V1", "<V1", ">V1", "|f1", ">f1",
                                                     "|u1", "|i1", "<u2", ">u2", "<i2", ">i2"};
  if (!has_order || (stored.size == 1 && stored.kind != NumberKind::floating))
    mark = '|';
  else if (stored.size > 1)
    mark = order == ByteOrder::little ? '<' : '>';
  return *std::ranges::find(kDescrs, fmt::format("{}{}", mark, stored.descr));
}

/// What a type means that is stored as a dtype, and with which Types it is accepted.
struct Stored {
  Types types;
  DType dtype;
  LogicalType meaning;
};

std::optional<Stored> stored(const Scalar& type) {
  using Kind = LogicalType::Kind;
  switch (type.kind) {
    case 'b': return Stored{Types::clipped, DType::uint8, {Kind::boolean}};
    case 'M': return Stored{Types::clipped, DType::int64, {Kind::datetime, type.unit}};
    case 'm': return Stored{Types::clipped, DType::int64, {Kind::timedelta, type.unit}};
    case 'c':
      if (type.size == 8) return Stored{Types::comparable, DType::float32, {Kind::complex}};
      if (type.size == 16) return Stored{Types::comparable, DType::float64, {Kind::complex}};
      break;
    default: break;
  }
  return std::nullopt;
}

/// A type that is no dtype.
void read_other(std::string_view descr, Types types, std::string_view python, Header& header) {
  const std::optional<Scalar> type = scalar(descr);
  if (!type) refuse_dtype(descr, python);
  const std::optional<Stored> found = stored(*type);
  if ((found ? found->types : Types::all) > types) refuse_dtype(descr, python);
  header.order = type->is_big ? ByteOrder::big : type->size > 1 ? ByteOrder::little : kNativeOrder;
  if (found) {
    header.dtype = found->dtype;
    header.meaning = found->meaning;
  } else {
    header.other = OtherType{name_of(*type), type->size, type->kind == 'O'};
  }
}

/// Error{input} if the user has given another dtype.
void expect_given(const std::optional<OrderedDType>& expected, std::string_view descr, const Header& header) {
  const bool is_other = header.other || header.meaning != LogicalType{};
  if (expected &&
      (is_other || expected->dtype != header.dtype || expected->order.value_or(header.order) != header.order))
    refuse(fmt::format("the file's dtype is '{}' ({}), but ", excerpt(descr), type_name(header)) +
           Term{"dtype", "the request"} + " says " + text_of(*expected) + Term{"convert", "", Says::advice});
}

/// Sets what the descriptor says in the header: dtype, byte order, meaning, `stored_as` or `other`. The other
/// parameters are those of parse().
void read_descr(const Descr& descr, const GivenDType& given, Opaque opaque, Types types,
                std::string_view python, Header& header) {
  const std::optional<OrderedDType> expected = given.dtype;
  if (descr.is_structured) {
    header.other = structured(descr);
  } else {
    const std::string_view type = without_order(descr.text);
    const auto* row = std::ranges::find_if(
        kDTypes, [&](const DTypeTraits& dtype) { return dtype.descr == type || dtype.name == descr.text; });
    const bool is_void = type == traits(DType::bfloat16).descr || type == kRawByte;
    const bool ordered = type != descr.text && (descr.text[0] == '<' || descr.text[0] == '>');
    const bool is_raw = is_void && (!ordered || type == kRawByte) && !expected;
    if (row == kDTypes.end() || (is_raw && types == Types::all)) {
      read_other(descr.text, types, python, header);
    } else {
      header.order = !ordered || row->size == 1 ? kNativeOrder
                     : descr.text[0] == '<'     ? ByteOrder::little
                                                : ByteOrder::big;
      const DTypeTraits& stored = *row;
      const bool is_integer = row->kind != NumberKind::floating;
      if (expected && is_foreign(*expected) && traits(*expected).size == row->size &&
          (is_void || (is_integer && given.takes_integers)))
        row = &traits(*expected);
      header.dtype = row->dtype;
      const bool is_odd = row->size == 1 && descr.text[0] == '>';  // a byte has no order, so '<' is written
      const bool is_kept =
          is_integer || (type == stored.descr && (!ordered || is_odd || stored.descr != row->descr));
      if (is_raw || (is_foreign(row->dtype) && is_kept))
        header.stored_as = kept_descr(stored, ordered || is_integer, descr.text[0], header.order);
      if (is_raw && opaque == Opaque::refused) refuse(opaque_dtype(descr.text));
    }
  }
  expect_given(expected, descr.text, header);
}

constexpr std::size_t kLengthAt = 8;  // after the magic and two version bytes

/// Where the dict begins: its length takes 2 bytes in version 1.0 and 4 bytes in later versions.
std::size_t text_offset(std::span<const std::byte> start) {
  return kLengthAt + (start[kVersionAt] == std::byte{1} ? 2 : 4);
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
  using Kind = LogicalType::Kind;
  const DTypeTraits& dtype = traits(layout.dtype);
  const char order = layout.order == ByteOrder::little || dtype.size == 1 ? '<' : '>';
  switch (layout.meaning.kind) {
    case Kind::number: break;
    case Kind::boolean: return "|b1";
    case Kind::datetime: return fmt::format("{}M8{}", order, unit_text(layout.meaning.unit));
    case Kind::timedelta: return fmt::format("{}m8{}", order, unit_text(layout.meaning.unit));
    case Kind::complex: return fmt::format("{}c{}", order, layout.element_size());
  }
  if (!layout.stored_as.empty()) return std::string(layout.stored_as);
  const bool has_order = dtype.size > 1 || is_foreign(dtype.dtype);
  if (!has_order) return fmt::format("|{}", dtype.descr);
  return fmt::format("{}{}", order, dtype.descr);
}

}  // namespace

std::uint64_t data_offset(std::span<const std::byte> start) {
  if (is_unfinished(start))
    throw Error(ErrorKind::refused, "left unfinished by " + Term{"direct", "a direct change"} +
                                        "; run the same " + Term{"direct", "change", Says::advice} +
                                        " again to finish it");
  if (!can_be_npy(start)) refuse(not_npy(start));
  if (start.size() < kLengthAt + 2) refuse_truncated(kLengthAt + 2, start.size());
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

Header accepted(const TensorLayout& layout, const GivenDType& given, Types types, std::string_view python) {
  Header header;
  static_cast<TensorLayout&>(header) = layout;
  const DTypeTraits& stored = traits(layout.dtype);
  const std::string descr =
      !has_kernels(layout.dtype) && layout.stored_as.empty() ? std::string(stored.name) : descr_text(layout);
  const bool is_number = layout.meaning == LogicalType{};
  if (!is_number && types < (layout.meaning.is_complex() ? Types::comparable : Types::clipped))
    refuse_dtype(descr, python);
  const bool is_integer = is_number && stored.kind != NumberKind::floating;
  if (is_integer && given.takes_integers && given.dtype && is_foreign(*given.dtype) &&
      traits(*given.dtype).size == stored.size) {
    header.dtype = *given.dtype;
    header.stored_as = kept_descr(stored, true, '|', layout.order);
  }
  if (header.element_size() == 1) header.order = kNativeOrder;
  expect_given(given.dtype, descr, header);
  header.count = count_elements(header);
  return header;
}

}  // namespace clipper::npy
