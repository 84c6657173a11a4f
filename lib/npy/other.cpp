#include "npy/other.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "element/tensor_layout.hpp"
#include "element/text.hpp"
#include "npy/dict.hpp"

namespace clipper::npy {
namespace {

/// numpy's largest element.
constexpr std::uint64_t kMaxSize = std::numeric_limits<std::int32_t>::max();

/// The size of "S5", "U5" or "V5"; nothing if it is malformed or numpy has no such size.
std::optional<std::uint64_t> flexible_size(std::string_view type) {
  const std::string_view digits = type.substr(1);
  const bool is_canonical = digits.empty() || digits.front() >= '1' || digits == "0";
  const auto length = integer_in<std::uint64_t>(digits.empty() ? "0" : digits);
  const std::uint64_t each = type.front() == 'U' ? 4 : 1;
  return is_canonical && length && *length <= kMaxSize / each ? std::optional(*length * each) : std::nullopt;
}

/// The unit in "M8[25s]", which may be absent.
std::optional<TimeUnit> time_unit(std::string_view type) {
  const std::string_view rest = type.substr(2);
  if (rest.empty()) return TimeUnit{};
  if (!rest.starts_with('[') || !rest.ends_with(']') || rest.size() < 2) return std::nullopt;
  return parse_unit(rest.substr(1, rest.size() - 2));
}

/// The type as numpy writes it: "<f4", "|S5", "|b1", or shorter as in structured types: "S5", "?".
std::string text_of(const Scalar& type, bool is_short) {
  const std::string_view order = type.is_big ? ">" : "<";
  const bool has_order = type.kind == 'U' ||
                         (type.size > 1 && std::string_view("SVO").find(type.kind) == std::string_view::npos);
  const std::string_view shown = has_order ? order : is_short ? "" : "|";
  if (type.kind == 'O') return fmt::format("{}O", shown);
  if (type.kind == 'b' && is_short) return "?";
  const std::uint64_t size = type.kind == 'U' ? type.size / 4 : type.size;
  if (size == 0 && is_short) return fmt::format("{}{}", shown, type.kind);
  return fmt::format("{}{}{}{}", shown, type.kind, size, unit_text(type.unit));
}

/// A name as Python prints it, except that all characters beyond Latin-1 are printed as they are.
std::string repr(std::string_view name) {
  const bool is_double =
      name.find('\'') != std::string_view::npos && name.find('"') == std::string_view::npos;
  const char quote = is_double ? '"' : '\'';
  std::string text(1, quote);
  while (!name.empty()) {
    const char32_t code = take_code_point(name).value_or(U'?');
    constexpr std::string_view kEscaped = "\n\r\t";
    constexpr std::string_view kLetters = "nrt";
    const std::size_t at = code < 0x80 ? kEscaped.find(static_cast<char>(code)) : kEscaped.npos;
    if (at != kEscaped.npos)
      text += {'\\', kLetters[at]};
    else if (code < 0x20 || (code >= 0x7f && code <= 0xa0) || code == 0xad)
      text += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(code));
    else {
      if (code == U'\\' || code == static_cast<unsigned char>(quote)) text += '\\';
      append_code_point(code, text);
    }
  }
  return text + quote;
}

/// A field with a name, as numpy understands the list.
struct Field {
  const StructField* source;
  std::string type;  ///< as numpy prints it: "'<f4'"
  std::uint64_t offset;
};

std::uint64_t checked(std::uint64_t size) {
  if (size > kMaxSize) refuse(fmt::format("elements of more than {} bytes", kMaxSize));
  return size;
}

/// The size and text of a field without its shape.
OtherType type_of(const Descr& descr) {
  if (descr.is_structured) return structured(descr);
  const std::optional<Scalar> type = scalar(descr.text);
  if (!type) refuse(fmt::format("dtype '{}' is not supported", excerpt(descr.text)));
  return {fmt::format("'{}'", text_of(*type, true)), type->size, type->kind == 'O'};
}

bool is_array(const StructField& field) {
  return field.shape && !field.shape->empty();
}

/// "[('x', '<f4'), ('y', '<i2', (3,))]"
std::string list_text(const std::vector<Field>& fields) {
  std::vector<std::string> items;
  for (const Field& field : fields) {
    const StructField& source = *field.source;
    std::string name = repr(source.name);
    if (source.title) name = fmt::format("({}, {})", repr(*source.title), name);
    const std::string shape = is_array(source) ? ", " + shape_text(*source.shape) : "";
    items.push_back(fmt::format("({}, {}{})", name, field.type, shape));
  }
  return fmt::format("[{}]", joined(items, ", "));
}

/// As numpy prints fields with bytes between them that belong to none.
std::string dict_text(const std::vector<Field>& fields, std::uint64_t size) {
  std::vector<std::string> names;
  std::vector<std::string> formats;
  std::vector<std::string> offsets;
  std::vector<std::string> titles;
  bool has_titles = false;
  for (const Field& field : fields) {
    const StructField& source = *field.source;
    names.push_back(repr(source.name));
    formats.push_back(is_array(source) ? fmt::format("({}, {})", field.type, shape_text(*source.shape))
                                       : field.type);
    offsets.push_back(fmt::format("{}", field.offset));
    titles.push_back(source.title ? repr(*source.title) : "None");
    has_titles = has_titles || source.title;
  }
  return fmt::format("{{'names': [{}], 'formats': [{}], 'offsets': [{}], {}'itemsize': {}}}",
                     joined(names, ", "), joined(formats, ", "), joined(offsets, ", "),
                     has_titles ? fmt::format("'titles': [{}], ", joined(titles, ", ")) : "", size);
}

/// numpy writes bytes that belong to no field as a field without a name.
bool is_padding(const StructField& field) {
  return field.name.empty() && !field.title && !field.type.is_structured &&
         without_order(field.type.text).starts_with('V');
}

}  // namespace

std::string_view without_order(std::string_view descr) {
  return descr.substr(descr.find_first_of("<>=|") == 0 ? 1 : 0);
}

std::optional<Scalar> scalar(std::string_view descr) {
  constexpr std::array<std::string_view, 16> kFixed{"b1", "i1", "i2", "i4", "i8",  "u1", "u2",  "u4",
                                                    "u8", "f2", "f4", "f8", "f16", "c8", "c16", "c32"};
  const std::string_view type = without_order(descr);
  const char order = descr.empty() ? '=' : descr.front();
  const bool is_big = order == '>' || (order != '<' && kNativeOrder == ByteOrder::big);
  if (type == "?") return Scalar{'b', false, 1};
  if (type == "O" || type == "O8" || type == "O4") return Scalar{'O', false, sizeof(std::uint64_t)};
  if (std::ranges::find(kFixed, type) != kFixed.end()) {
    std::uint64_t size = 0;
    std::from_chars(type.data() + 1, type.data() + type.size(), size);
    return Scalar{type.front(), is_big && size > 1, size};
  }
  if (type.starts_with("M8") || type.starts_with("m8")) {
    const std::optional<TimeUnit> unit = time_unit(type);
    return unit ? std::optional(Scalar{type.front(), is_big, 8, *unit}) : std::nullopt;
  }
  if (!type.starts_with('S') && !type.starts_with('U') && !type.starts_with('V')) return std::nullopt;
  const std::optional<std::uint64_t> size = flexible_size(type);
  return size ? std::optional(Scalar{type.front(), is_big && type.front() == 'U', *size}) : std::nullopt;
}

std::string name_of(const Scalar& type) {
  switch (type.kind) {
    case 'O': return "object";
    case 'f': return fmt::format("float{}", 8 * type.size);
    case 'c': return fmt::format("complex{}", 8 * type.size);
    default: return text_of(type, false);
  }
}

OtherType structured(const Descr& descr) {
  OtherType result{"", 0, false};
  std::vector<Field> fields;
  std::set<std::string_view> names;
  bool has_gaps = false;
  for (const StructField& field : descr.fields) {
    OtherType type = type_of(field.type);
    std::uint64_t size = type.size;
    if (size == 0 && !field.type.is_structured &&
        field.shape)  // numpy: "invalid itemsize in generic type tuple"
      refuse(fmt::format("a shape after a type of 0 bytes: {}", excerpt(descr.text)));
    for (const std::int64_t extent : field.shape.value_or(std::vector<std::int64_t>{}))
      if (__builtin_mul_overflow(size, static_cast<std::uint64_t>(extent), &size)) size = kMaxSize + 1;
    if (is_padding(field)) {
      has_gaps = true;
    } else {
      const bool is_new =
          names.insert(field.name).second && (!field.title || names.insert(*field.title).second);
      if (!is_new || field.name.empty() || (field.title && field.title->empty()))
        refuse(fmt::format("a structured dtype whose fields have no, or the same, names: {}",
                           excerpt(descr.text)));
      fields.push_back({&field, std::move(type.name), result.size});
    }
    result.size = checked(result.size + checked(size));
    result.has_objects = result.has_objects || type.has_objects;
  }
  result.name = has_gaps ? dict_text(fields, result.size) : list_text(fields);
  return result;
}

namespace {

using namespace std::string_view_literals;

/// A file format, and how the user can get a .npy file from it.
struct Kind {
  std::size_t offset;        ///< of `magic` in the file
  std::string_view magic;    ///< bytes that every file of this kind has
  std::string_view content;  ///< text that is also among the first kKindSize bytes; "" for formats without
  std::string_view name;
  std::string_view advice;  ///< kFile stands for the file's name
  bool to_stdout;           ///< the advice ends in a command that writes the .npy file to standard output
};

constexpr std::string_view kFile = "FILE";
constexpr std::string_view kTorch = "a PyTorch file";
constexpr std::string_view kNpz = "an .npz archive";
constexpr std::string_view kFromTorch = "convert it in Python: np.save('x.npy', torch.load('FILE').numpy())";
constexpr std::string_view kFromPickle =
    "if you trust it, convert it in Python: np.save('x.npy', np.load('FILE', allow_pickle=True))";
constexpr std::string_view kFromSafetensors =
    "convert it in Python: np.save('x.npy', safetensors.numpy.load_file('FILE')['NAME'])";
constexpr std::string_view kFromHdf5 =
    "convert it in Python: np.save('x.npy', h5py.File('FILE')['NAME'][()])";
constexpr std::string_view kFromImage = "convert it in Python: np.save('x.npy', PIL.Image.open('FILE'))";
constexpr std::string_view kFromCsv =
    "convert it in Python: np.save('x.npy', np.loadtxt('FILE', delimiter=','))";
constexpr std::string_view kFromText = "convert it in Python: np.save('x.npy', np.loadtxt('FILE'))";

// The first row that matches is the kind. A zip archive begins with the name of its first member, which is
// NAME/data.pkl for PyTorch. Older PyTorch files are pickles of PyTorch's magic number. A pickle begins with
// its protocol and, from protocol 4 on, a frame. A safetensors file begins with a length, here below 2^32,
// and JSON.
constexpr Kind kKinds[] = {
    {0, "\x1f\x8b"sv, "", "gzip data", "decompress it first: zcat FILE", true},
    {0, "\x28\xb5\x2f\xfd"sv, "", "zstd data", "decompress it first: zstdcat FILE", true},
    {0, "\xfd\x37zXZ\0"sv, "", "xz data", "decompress it first: xzcat FILE", true},
    {4, "1AY&SY"sv, "", "bzip2 data", "decompress it first: bzcat FILE", true},
    {0, "\x04\x22\x4d\x18"sv, "", "LZ4 data", "decompress it first: lz4cat FILE", true},
    {0, "PK\3\4"sv, "data.pkl", kTorch, kFromTorch, false},
    {0, "PK\3\4"sv, ".npy", kNpz, "extract a tensor first: unzip -p FILE NAME.npy", true},
    {0, "PK\3\4"sv, "", "a zip archive", "extract a tensor first: unzip -p FILE NAME.npy", true},
    {257, "ustar"sv, "", "a tar archive", "extract a tensor first: tar -xOf FILE NAME.npy", true},
    {0, "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8"sv, "", kTorch, kFromTorch, false},
    {0, "\x80\2"sv, "", "a Python pickle", kFromPickle, false},
    {0, "\x80\3"sv, "", "a Python pickle", kFromPickle, false},
    {0, "\x80\4\x95"sv, "", "a Python pickle", kFromPickle, false},
    {0, "\x80\5\x95"sv, "", "a Python pickle", kFromPickle, false},
    {4, "\0\0\0\0{\""sv, "", "a safetensors file", kFromSafetensors, false},
    {0, "{"sv, "", "JSON", "of JSON, clipper reads only NAME.safetensors.index.json", false},
    {0, "\x89HDF\r\n\x1a\n"sv, "", "an HDF5 file", kFromHdf5, false},
    {0, "\x89PNG\r\n\x1a\n"sv, "", "a PNG image", kFromImage, false},
    {0, "\xff\xd8\xff"sv, "", "a JPEG image", kFromImage, false},
    {0, "version https://git-lfs"sv, "", "a Git LFS pointer", "fetch the file itself: git lfs pull", false},
};

constexpr Kind kCsv{0, "", ",", "text (CSV?)", kFromCsv, false};
constexpr Kind kText{0, "", "", "text", kFromText, false};

bool matches(const Kind& kind, std::string_view start) {
  return start.substr(std::min(kind.offset, start.size())).starts_with(kind.magic) &&
         start.find(kind.content) != std::string_view::npos;
}

bool is_text_character(char c) {
  return (c >= ' ' && c <= '~') || c == '\t' || c == '\n' || c == '\r';
}

const Kind* kind_of(std::string_view start) {
  const auto* const row =
      std::ranges::find_if(kKinds, [=](const Kind& kind) { return matches(kind, start); });
  if (row != std::end(kKinds)) return row;
  if (!std::ranges::all_of(start, is_text_character)) return nullptr;
  return matches(kCsv, start) ? &kCsv : &kText;
}

bool is_called(std::span<const std::byte> start, std::string_view name) {
  const Kind* const kind = kind_of(as_text(start));
  return kind != nullptr && kind->name == name;
}

constexpr std::size_t kFingerprintAt = 2;
constexpr std::size_t kFingerprintSize = kVersionAt - kFingerprintAt;

}  // namespace

Start unfinished_start(const Start& start, std::uint64_t fingerprint) noexcept {
  Start unfinished = start;
  for (std::size_t i = 0; i < kFingerprintSize; ++i)
    unfinished[kFingerprintAt + i] = static_cast<std::byte>(fingerprint >> (8 * i));
  unfinished[kVersionAt] = kUnfinishedVersion;
  unfinished[kVersionAt + 1] = start[kVersionAt];
  return unfinished;
}

bool is_unfinished(std::span<const std::byte> start) noexcept {
  return start.size() >= sizeof(Start) && as_text(start).starts_with(kMagic.substr(0, kFingerprintAt)) &&
         start[kVersionAt] == kUnfinishedVersion && start[kVersionAt + 1] >= std::byte{1} &&
         start[kVersionAt + 1] <= std::byte{3};
}

Start finished_start(const Start& unfinished) noexcept {
  Start start{};
  std::ranges::copy(std::as_bytes(std::span(kMagic)), start.begin());
  start[kVersionAt] = unfinished[kVersionAt + 1];
  return start;
}

bool can_be_npy(std::span<const std::byte> start) {
  return !start.empty() &&
         (as_text(start).starts_with(kMagic.substr(0, start.size())) || is_unfinished(start));
}

Message not_npy(std::span<const std::byte> start, std::string_view file, std::string_view expected) {
  const std::string_view text = as_text(start.first(std::min(start.size(), kKindSize)));
  if (text.empty()) return fmt::format("not {}: it is empty", expected);
  const Kind* const kind = kind_of(text);
  if (kind == nullptr)
    return fmt::format("not {}: it begins with '{}'", expected, excerpt(text.substr(0, kMagic.size()))) +
           Term{"raw", "", Says::advice};
  // Nobody keeps CSV under the name of an archive: the text is a page of an error, or a download that failed.
  if (kind == &kText && expected != "a .npy file") return fmt::format("not {} but text", expected);
  std::string advice(kind->advice);
  if (const std::size_t at = advice.find(kFile); at != advice.npos) advice.replace(at, kFile.size(), file);
  Message message = fmt::format("not {} but {}; {}", expected, kind->name, advice);
  if (kind->to_stdout) message += Term{"input", "", Says::advice};
  return message;
}

bool is_torch(std::span<const std::byte> start) {
  return is_called(start, kTorch);
}

bool is_npz(std::span<const std::byte> start) {
  return is_called(start, kNpz);
}

}  // namespace clipper::npy
