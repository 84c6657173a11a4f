#include "npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>
#include <utility>

#include "error.hpp"

namespace clipper::npy {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::string_view kZipMagic = "PK\x03\x04";
constexpr std::size_t kLengthAt = 8;  // behind the magic and two bytes of version

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Where the dict begins: version 1.0 has 2 bytes for its length, the later ones 4.
std::size_t text_offset(std::span<const std::byte> start) {
  return kLengthAt + (start[kVersionAt] == std::byte{1} ? 2 : 4);
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::input, message);
}

[[noreturn]] void refuse_truncated(std::size_t needed, std::size_t present) {
  refuse(fmt::format("truncated header (needs {} bytes, has {})", needed, present));
}

/// Bytes of a file as they may appear in a message: short, on one line, harmless to a terminal.
std::string excerpt(std::string_view bytes) {
  constexpr std::size_t kLongest = 48;
  std::string shown;
  for (const char c : bytes.substr(0, kLongest)) {
    const bool plain = c >= ' ' && c <= '~' && c != '\\';
    shown += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return bytes.size() > kLongest ? shown + "..." : shown;
}

/// What the dict of a header says, still as it is written there.
struct Fields {
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

/// Reads the Python dict of a header. It knows the three keys and the one form of value of each, so nothing
/// nests and nothing is evaluated.
class HeaderParser {
 public:
  /// `offset`: where `text` is in the file, for messages.
  HeaderParser(std::string_view text, std::size_t offset) : text_(text), offset_(offset) {}

  Fields parse() {
    expect("{");
    while (!take("}")) {
      entry();
      if (!take(",") && !rest().starts_with('}')) fail_expecting("',' or '}'");
    }
    skip_space();
    if (!rest().empty()) fail_expecting("nothing behind the '}'");
    if (!fields_.descr) refuse("the header has no 'descr'");
    if (!fields_.fortran_order) refuse("the header has no 'fortran_order'");
    if (!fields_.shape) refuse("the header has no 'shape'");
    return std::move(fields_);
  }

 private:
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }

  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    refuse(fmt::format("malformed header at byte {}: {}", offset_ + at, what));
  }

  [[noreturn]] void fail_expecting(std::string_view what) const {
    if (rest().empty()) fail(at_, fmt::format("expected {}, found the header's end", what));
    const std::string_view word =
        rest().substr(0, std::max<std::size_t>(rest().find_first_of(" \n,:()[]{}"), 1));
    fail(at_, fmt::format("expected {}, found '{}'", what, excerpt(word)));
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  bool take(std::string_view token) {
    skip_space();
    if (!rest().starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!take(token)) fail_expecting(fmt::format("'{}'", token));
  }

  void entry() {
    skip_space();
    const std::size_t start = at_;
    const std::string_view key = quoted("a key in quotes");
    expect(":");
    skip_space();
    if (key == "descr" && !fields_.descr)
      fields_.descr = descr();
    else if (key == "fortran_order" && !fields_.fortran_order)
      fields_.fortran_order = boolean();
    else if (key == "shape" && !fields_.shape)
      fields_.shape = shape();
    else
      fail(start, fmt::format("unknown or repeated key '{}'", excerpt(key)));
  }

  std::string_view quoted(std::string_view what) {
    const std::size_t start = at_;
    if (!rest().starts_with('\'') && !rest().starts_with('"')) fail_expecting(what);
    const std::size_t end = text_.find(text_[start], start + 1);
    if (end == std::string_view::npos) fail(start, "a string without end");
    at_ = end + 1;
    return text_.substr(start + 1, end - start - 1);
  }

  std::string_view descr() {
    const bool structured = rest().starts_with('[');
    if (structured || rest().starts_with('('))
      refuse(fmt::format("a {} dtype is not supported: {}", structured ? "structured" : "sub-array",
                         excerpt(rest())));
    return quoted("a dtype in quotes");
  }

  bool boolean() {
    if (take("True")) return true;
    if (take("False")) return false;
    fail_expecting("True or False");
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> dimensions;
    expect("(");
    while (!take(")")) {
      if (dimensions.size() == kMaxRank) refuse(fmt::format("more than {} dimensions", kMaxRank));
      dimensions.push_back(dimension());
      const bool may_end = dimensions.size() > 1;  // (7) is a number, (7,) a tuple
      if (!take(",") && !(may_end && rest().starts_with(')'))) fail_expecting(may_end ? "',' or ')'" : "','");
    }
    return dimensions;
  }

  std::int64_t dimension() {
    // numpy 2 prints its own scalars as np.int64(7), and has put them into headers (numpy issue 28334).
    const bool is_scalar = take("np.");
    if (is_scalar) {
      const std::string_view type = rest().substr(0, rest().find('('));
      const std::optional<DType> dtype = dtype_named(type);
      if (!dtype || is_floating(*dtype)) fail_expecting("an integer dtype");
      at_ += type.size();
      expect("(");
    }
    skip_space();
    const std::string_view digits = rest().substr(0, rest().find_first_not_of("0123456789"));
    if (digits.empty() || (digits.size() > 1 && digits.starts_with('0')))
      fail_expecting("a dimension, 0 or more in plain decimals");
    std::int64_t value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
      fail(at_, fmt::format("shape too large: dimension {}", excerpt(digits)));
    at_ += digits.size();
    if (is_scalar)
      expect(")");
    else if (rest().starts_with('L'))  // Python 2's mark of a long integer
      ++at_;
    return value;
  }

  std::string_view text_;
  std::size_t offset_;
  std::size_t at_ = 0;
  Fields fields_;
};

[[noreturn]] void refuse_dtype(std::string_view descr, std::string_view type) {
  constexpr std::pair<std::string_view, std::string_view> kMeanings[] = {
      {"O", "Python objects"},  {"b1", "bool"},        {"?", "bool"},
      {"c", "complex numbers"}, {"S", "byte strings"}, {"U", "strings"},
      {"M8", "dates"},          {"m8", "time spans"},  {"V", "raw bytes"}};
  const auto* const row =
      std::ranges::find_if(kMeanings, [&](const auto& meaning) { return type.starts_with(meaning.first); });
  refuse(fmt::format("dtype '{}'{} is not supported", excerpt(descr),
                     row == std::end(kMeanings) ? "" : fmt::format(" ({})", row->second)));
}

/// Sets dtype, order and opaque from a descriptor.
void read_descr(std::string_view descr, std::optional<DType> expected, Header& header) {
  const bool has_order = descr.find_first_of("<>=|") == 0;
  const std::string_view type = descr.substr(has_order ? 1 : 0);
  const auto* const row = std::ranges::find_if(
      kDTypes, [&](const DTypeInfo& dtype) { return dtype.descr == type || dtype.name == descr; });
  if (row == kDTypes.end()) refuse_dtype(descr, type);

  const bool ordered = row->size > 1 && (descr[0] == '<' || descr[0] == '>');
  header.dtype = row->dtype;
  header.order = !ordered ? kNativeOrder : descr[0] == '<' ? ByteOrder::little : ByteOrder::big;
  header.opaque = type == info(DType::bfloat16).descr && !ordered;
  if (header.opaque && !expected)
    refuse(fmt::format("dtype '{}' could be bfloat16: give --dtype bfloat16", descr));
  if (expected && *expected != row->dtype)
    refuse(fmt::format("the file's dtype is '{}' ({}), not {} as --dtype says", descr, row->name,
                       info(*expected).name));
}

/// The product of the shape. Like numpy's, the limit ignores dimensions of 0: (0, 2**62, 4) is too large.
std::uint64_t count_elements(const Header& header) {
  const auto size = static_cast<std::int64_t>(info(header.dtype).size);
  std::int64_t bytes = size;
  bool empty = false;
  for (const std::int64_t dimension : header.shape) {
    if (dimension == 0)
      empty = true;
    else if (__builtin_mul_overflow(bytes, dimension, &bytes))
      refuse(fmt::format("shape too large: {} of {}", excerpt(shape_text(header.shape)),
                         info(header.dtype).name));
  }
  return empty ? 0 : static_cast<std::uint64_t>(bytes / size);
}

std::string descr_text(const Header& header) {
  const DTypeInfo& dtype = info(header.dtype);
  if (dtype.size == 1 || header.opaque) return fmt::format("|{}", dtype.descr);
  return fmt::format("{}{}", header.order == ByteOrder::little ? '<' : '>', dtype.descr);
}

}  // namespace

std::uint64_t data_offset(std::span<const std::byte> start) {
  const std::string_view text = as_text(start);
  if (text.starts_with(kZipMagic)) refuse("an .npz archive (a zip of .npy files); extract the tensor first");
  if (!text.starts_with(kMagic.substr(0, text.size()))) refuse("not an .npy file");
  if (start.size() < kLengthAt + 2) refuse_truncated(kLengthAt + 2, start.size());

  if (start[kVersionAt] == kUnfinishedVersion)
    throw Error(ErrorKind::refused, "left unfinished by --in-place --direct; the same command finishes it");
  const auto major = std::to_integer<int>(start[kVersionAt]);
  const auto minor = std::to_integer<int>(start[kVersionAt + 1]);
  if (major < 1 || major > 3 || minor != 0)
    refuse(fmt::format("version {}.{} is not supported", major, minor));

  const std::size_t text_at = text_offset(start);
  if (start.size() < text_at) refuse_truncated(text_at, start.size());
  std::uint64_t length = 0;
  for (std::size_t i = text_at; i-- > kLengthAt;)
    length = length << 8 | std::to_integer<std::uint64_t>(start[i]);
  if (length > kMaxHeaderSize)
    refuse(fmt::format("a header of {} bytes; the limit is {}", length, kMaxHeaderSize));
  return text_at + length;
}

Header parse(std::span<const std::byte> bytes, std::optional<DType> dtype) {
  Header header;
  header.data_offset = data_offset(bytes);
  if (bytes.size() < header.data_offset) refuse_truncated(header.data_offset, bytes.size());

  const std::size_t text_at = text_offset(bytes);
  const std::string_view text = as_text(bytes.first(header.data_offset).subspan(text_at));
  Fields fields = HeaderParser(text, text_at).parse();
  header.fortran_order = *fields.fortran_order;
  header.shape = *std::move(fields.shape);
  read_descr(*fields.descr, dtype, header);
  header.count = count_elements(header);
  return header;
}

std::string format(const Header& header) {
  // numpy asks for C order first, and an array that is both is written as C.
  const auto larger_than_one = std::ranges::count_if(header.shape, [](std::int64_t n) { return n > 1; });
  const bool has_zero = std::ranges::find(header.shape, 0) != header.shape.end();
  const bool fortran_order = header.fortran_order && larger_than_one > 1 && !has_zero;

  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr_text(header),
                                 fortran_order ? "True" : "False", shape_text(header.shape));
  if (!header.shape.empty()) {
    // Room for the dimension that grows when elements are appended to the file.
    constexpr std::size_t kGrowthDigits = 21;
    const std::int64_t growing = fortran_order ? header.shape.back() : header.shape.front();
    text.append(kGrowthDigits - fmt::formatted_size("{}", growing), ' ');
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

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::string index_text(const Header& header, std::uint64_t position) {
  const std::size_t rank = header.shape.size();
  std::vector<std::uint64_t> index(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = header.fortran_order ? i : rank - 1 - i;
    const auto extent = static_cast<std::uint64_t>(header.shape[axis]);
    const bool slowest = i + 1 == rank;  // of a slab that begins elsewhere it has indexes beyond the extent
    index[axis] = slowest ? position : position % extent;
    position /= extent;
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

}  // namespace clipper::npy
