#include "safetensors/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "element/tensor_layout.hpp"
#include "npy/dict.hpp"
#include "npz/archive.hpp"

namespace clipper::safetensors {
namespace {

using npz::refuse;

constexpr std::string_view kMetadata = "__metadata__";

/// In the order in which a header lists its tensors, from the last on.
constexpr Type kTypes[] = {
    {"BOOL", 8, std::nullopt, "bool"},
    {"F4", 4, std::nullopt, "float4_e2m1fn"},
    {"F6_E2M3", 6, std::nullopt, "float6_e2m3fn"},
    {"F6_E3M2", 6, std::nullopt, "float6_e3m2fn"},
    {"U8", 8, DType::uint8, ""},
    {"I8", 8, DType::int8, ""},
    {"F8_E5M2", 8, DType::float8_e5m2, ""},
    {"F8_E4M3", 8, DType::float8_e4m3fn, ""},
    {"F8_E8M0", 8, DType::float8_e8m0fnu, ""},
    {"F8_E4M3FNUZ", 8, DType::float8_e4m3fnuz, ""},
    {"F8_E5M2FNUZ", 8, DType::float8_e5m2fnuz, ""},
    {"I16", 16, DType::int16, ""},
    {"U16", 16, DType::uint16, ""},
    {"F16", 16, DType::float16, ""},
    {"BF16", 16, DType::bfloat16, ""},
    {"I32", 32, DType::int32, ""},
    {"U32", 32, DType::uint32, ""},
    {"F32", 32, DType::float32, ""},
    {"C64", 64, std::nullopt, "complex numbers"},
    {"F64", 64, DType::float64, ""},
    {"I64", 64, DType::int64, ""},
    {"U64", 64, DType::uint64, ""},
};

[[noreturn]] void refuse_tensor(std::string_view name, std::string_view why) {
  refuse(fmt::format("tensor '{}': {}", npy::excerpt(name), why));
}

/// Receives what nlohmann-json reads, and refuses all that does not belong into a header. A header has three
/// levels, so nothing deeper is read.
class Reader {
 public:
  explicit Reader(Header& header) : header_(header) {}

  // The names and types are nlohmann-json's.
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  bool null() { return refuse_value(); }
  bool boolean(bool /*value*/) { return refuse_value(); }
  bool number_integer(std::int64_t /*value*/) { return refuse_value(); }
  bool number_float(double /*value*/, const std::string& /*text*/) { return refuse_value(); }
  bool binary(binary_t& /*value*/) { return refuse_value(); }

  bool number_unsigned(std::uint64_t value) {
    if (place_ != Place::numbers || value > std::numeric_limits<std::int64_t>::max()) refuse_value();
    numbers_.push_back(value);
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::metadata) {
      header_.metadata->back().second = std::move(value);
    } else if (place_ == Place::tensor && field_ == "dtype") {
      tensor().type = type_named(value);
      if (tensor().type == nullptr)
        refuse_tensor(tensor().name, fmt::format("unknown dtype '{}'", npy::excerpt(value)));
    } else {
      refuse_value();
    }
    return true;
  }

  bool start_object(std::size_t /*size*/) {
    if (place_ == Place::outside) {
      place_ = Place::header;
    } else if (place_ == Place::header && is_metadata_) {
      place_ = Place::metadata;
      header_.metadata.emplace();
    } else if (place_ == Place::header) {
      place_ = Place::tensor;
      seen_.clear();
    } else {
      refuse_value();
    }
    return true;
  }

  bool key(std::string& key) {
    if (place_ == Place::metadata) {
      header_.metadata->emplace_back(std::move(key), "");
    } else if (place_ == Place::tensor) {
      if (std::ranges::find(kFields, key) == kFields.end())
        refuse_tensor(tensor().name, fmt::format("unknown field '{}'", npy::excerpt(key)));
      if (std::ranges::find(seen_, key) != seen_.end())
        refuse_tensor(tensor().name, fmt::format("two fields '{}'", key));
      seen_.push_back(field_ = std::move(key));
    } else {
      is_metadata_ = key == kMetadata;
      if (is_metadata_ && header_.metadata) refuse(fmt::format("two fields '{}'", kMetadata));
      if (!is_metadata_) header_.tensors.emplace_back().name = std::move(key);
    }
    return true;
  }

  bool end_object() {
    if (place_ == Place::tensor && seen_.size() < kFields.size())
      refuse_tensor(tensor().name, "dtype, shape or data_offsets is missing");
    place_ = place_ == Place::header ? Place::outside : Place::header;
    return true;
  }

  bool start_array(std::size_t /*size*/) {
    if (place_ != Place::tensor || field_ == "dtype") refuse_value();
    place_ = Place::numbers;
    numbers_.clear();
    return true;
  }

  bool end_array() {
    place_ = Place::tensor;
    if (field_ == "shape") {
      tensor().shape.assign(numbers_.begin(), numbers_.end());
    } else {
      if (numbers_.size() != 2) refuse_tensor(tensor().name, "data_offsets are not two numbers");
      std::tie(tensor().begin, tensor().end) = std::tie(numbers_[0], numbers_[1]);
    }
    return true;
  }

  [[noreturn]] static bool parse_error(std::size_t position, const std::string& /*token*/,
                                       const nlohmann::json::exception& /*error*/) {
    refuse(fmt::format("the header is not JSON in UTF-8, at byte {}", kLengthSize + position));
  }

 private:
  enum class Place : std::uint8_t { outside, header, metadata, tensor, numbers };

  static constexpr std::array<std::string_view, 3> kFields{"dtype", "shape", "data_offsets"};

  [[nodiscard]] Tensor& tensor() { return header_.tensors.back(); }

  bool refuse_value() {
    if (place_ == Place::outside || place_ == Place::header || place_ == Place::metadata)
      refuse("the header is not an object of tensors, with texts as __metadata__");
    refuse_tensor(tensor().name, fmt::format("malformed {}", field_));
  }

  Header& header_;
  Place place_ = Place::outside;
  bool is_metadata_ = false;  ///< the key that was read last in Place::header
  std::string field_;
  std::vector<std::string> seen_;  ///< fields of the tensor
  std::vector<std::uint64_t> numbers_;
};

/// Error{input} unless the elements have as many bytes as the shape says.
void expect_size(const Tensor& tensor) {
  std::uint64_t bits = tensor.type->bits;
  for (const std::int64_t dimension : tensor.shape)
    if (__builtin_mul_overflow(bits, static_cast<std::uint64_t>(dimension), &bits))
      refuse_tensor(tensor.name, fmt::format("shape too large: {}", npy::excerpt(shape_text(tensor.shape))));
  if (tensor.end < tensor.begin || bits % 8 != 0 || tensor.end - tensor.begin != bits / 8)
    refuse_tensor(tensor.name, fmt::format("bytes {} to {} are not {} of {}", tensor.begin, tensor.end,
                                           npy::excerpt(shape_text(tensor.shape)), tensor.type->name));
}

void expect_names(const Header& header) {
  std::vector<std::string_view> names;
  for (const Tensor& tensor : header.tensors) {
    npz::about_member(tensor.name, [&] { npz::check_name(tensor.name, true); });
    names.emplace_back(tensor.name);
  }
  std::ranges::sort(names);
  const auto same = std::ranges::adjacent_find(names);
  if (same != names.end()) refuse(fmt::format("two tensors are named '{}'", npy::excerpt(*same)));
  if (!header.metadata) return;
  Metadata sorted = *header.metadata;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted, {}, &Metadata::value_type::first);
  if (twice != sorted.end())
    refuse(fmt::format("two texts '{}' in __metadata__", npy::excerpt(twice->first)));
}

/// The JSON of an index. Its names are sorted, as transformers writes them.
nlohmann::json index_of(std::string_view text) {
  using Event = nlohmann::json::parse_event_t;
  constexpr int kMaxDepth = 100;  // nlohmann-json writes by recursion
  constexpr std::string_view kNoIndex = "is no index, which is JSON with an object weight_map of texts";
  std::set<std::string> seen;
  bool is_in_map = false;
  const auto check = [&](int depth, Event event, const nlohmann::json& value) {
    if (depth > kMaxDepth) refuse(fmt::format("the index is nested deeper than {}", kMaxDepth));
    if (event != Event::key) return true;
    if (depth == 1) is_in_map = value == "weight_map";
    if (depth == 2 && is_in_map && !seen.insert(value.get<std::string>()).second)
      refuse(fmt::format("the index has the tensor '{}' twice", npy::excerpt(value.get<std::string>())));
    return true;
  };
  try {
    if (text.find('\0') != text.npos) refuse(std::string(kNoIndex));  // taken for the end
    nlohmann::json index = nlohmann::json::parse(text, check);
    const nlohmann::json& map = index.at("weight_map");
    if (!map.is_object() || map.empty() ||
        !std::ranges::all_of(map, [](const auto& file) { return file.is_string(); }))
      refuse(std::string(kNoIndex));
    return index;
  } catch (const nlohmann::json::exception&) {
    refuse(std::string(kNoIndex));
  }
}

/// A path without its components ".".
std::string without_dots(std::string_view path) {
  std::string result;
  for (bool has_part = false;;) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (part != ".") result.append(std::exchange(has_part, true) ? "/" : "").append(part);
    if (end == path.size()) return result;
    path.remove_prefix(end + 1);
  }
}

/// Where a member of an object is in a text of JSON.
struct MemberText {
  std::string key;
  std::size_t begin;  ///< of the key
  std::size_t value;
  std::size_t end;
};

/// Goes through a text that is valid JSON.
class JsonText {
 public:
  explicit JsonText(std::string_view text) : text_(text) {}

  /// The members of the object that begins at or after `at`, where only blanks or a byte order mark are.
  [[nodiscard]] std::vector<MemberText> members(std::size_t at) const {
    std::vector<MemberText> result;
    for (at = text_.find('{', at) + 1; text_[at = skip_blanks(at)] != '}'; at += text_[at] == ',' ? 1 : 0) {
      const std::size_t key_end = end_of_string(at);
      const std::string_view key = text_.substr(at, key_end - at);
      const std::size_t value = skip_blanks(text_.find(':', key_end) + 1);
      result.push_back({nlohmann::json::parse(key).get<std::string>(), at, value, end_of_value(value)});
      at = skip_blanks(result.back().end);
    }
    return result;
  }

 private:
  [[nodiscard]] std::size_t skip_blanks(std::size_t at) const {
    return text_.find_first_not_of(" \t\r\n", at);
  }

  [[nodiscard]] std::size_t end_of_string(std::size_t quote) const {
    std::size_t at = quote + 1;
    while (text_[at] != '"') at += text_[at] == '\\' ? 2 : 1;
    return at + 1;
  }

  [[nodiscard]] std::size_t end_of_value(std::size_t at) const {
    std::size_t depth = 0;
    do {
      const char next = text_[at];
      depth += next == '{' || next == '[' ? 1 : 0;
      depth -= next == '}' || next == ']' ? 1 : 0;
      at = next == '"' ? end_of_string(at)
           : std::string_view("{}[],:").find(next) != std::string_view::npos
               ? at + 1
               : std::min(text_.find_first_of("{}[],: \t\r\n\"", at), text_.size());
      if (depth != 0) at = skip_blanks(at);
    } while (depth != 0);
    return at;
  }

  std::string_view text_;
};

/// The last member with this key, which counts; null if there is none.
const MemberText* last_named(const std::vector<MemberText>& members, std::string_view key) {
  const auto found = std::find_if(members.rbegin(), members.rend(),
                                  [&](const MemberText& member) { return member.key == key; });
  return found == members.rend() ? nullptr : &*found;
}

/// The text of an object's members, from the first key to the last value, without some of them.
std::string without_members(std::string_view text, const std::vector<MemberText>& members,
                            const std::vector<std::string>& dropped) {
  const std::set<std::string_view> gone(dropped.begin(), dropped.end());
  std::string result;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& [key, begin, value, end] = members[i];
    if (gone.contains(key)) continue;
    if (!result.empty()) result += text.substr(members[i - 1].end, begin - members[i - 1].end);
    result += text.substr(begin, end - begin);
  }
  return result;
}

/// The text as a string of JSON.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump();
}

}  // namespace

bool can_be_safetensors(std::span<const std::byte> start) {
  constexpr std::string_view kAfterLength("\0\0\0\0{", 5);  // of a length below 2^32
  const std::string_view bytes(reinterpret_cast<const char*>(start.data()), start.size());
  return bytes.substr(std::min<std::size_t>(4, bytes.size())).starts_with(kAfterLength);
}

const Type* type_of(DType dtype) {
  const auto* const row = std::ranges::find(kTypes, std::optional(dtype), &Type::dtype);
  return row == std::end(kTypes) ? nullptr : row;
}

const Type* type_named(std::string_view name) {
  const auto* const row = std::ranges::find(kTypes, name, &Type::name);
  return row == std::end(kTypes) ? nullptr : row;
}

std::uint64_t header_size(std::span<const std::byte> start, std::uint64_t size) {
  if (start.size() < kLengthSize) refuse("truncated: a safetensors file has at least 8 bytes");
  std::uint64_t length = 0;
  for (std::size_t i = kLengthSize; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(start[i]);
  if (length > kMaxHeaderSize)
    refuse(fmt::format("a header of {} bytes exceeds the limit of {}", length, kMaxHeaderSize));
  if (length > size - kLengthSize)
    refuse(fmt::format("truncated: the header has {} bytes, the file has {}", length, size));
  return length;
}

Header parse(std::string_view text, std::uint64_t data_size) {
  Header header;
  // nlohmann-json skips a byte order mark, and takes a zero byte for the end.
  if (!text.starts_with('{')) refuse("the header does not begin with {");
  if (const std::size_t zero = text.find('\0'); zero != text.npos)
    refuse(fmt::format("the header is not JSON in UTF-8, at byte {}", kLengthSize + zero + 1));
  Reader reader(header);
  nlohmann::json::sax_parse(text, &reader);
  expect_names(header);
  std::ranges::stable_sort(header.tensors, {},
                           [](const Tensor& tensor) { return std::pair(tensor.begin, tensor.end); });
  std::uint64_t end = 0;
  for (const Tensor& tensor : header.tensors) {
    expect_size(tensor);
    if (tensor.begin != end)
      refuse_tensor(
          tensor.name,
          fmt::format("its elements begin at byte {} of the data, not after {}: a gap or two tensors in "
                      "one place",
                      tensor.begin, end));
    end = tensor.end;
  }
  if (end < data_size)
    refuse(fmt::format(
        "{} byte{} after the last tensor; no reader of safetensors ignores them, and neither does "
        "clipper",
        data_size - end, data_size - end == 1 ? "" : "s"));
  if (end != data_size) refuse(fmt::format("{} bytes of elements expected, the file has {}", end, data_size));
  return header;
}

void arrange(std::vector<Tensor>& tensors) {
  std::ranges::sort(tensors, [](const Tensor& a, const Tensor& b) {
    return std::tie(b.type, a.name) < std::tie(a.type, b.name);  // types are in one table
  });
  std::uint64_t end = 0;
  for (Tensor& tensor : tensors) {
    const std::uint64_t size = tensor.end - tensor.begin;
    tensor.begin = end;
    tensor.end = end += size;
  }
}

std::string format(const Header& header) {
  std::string text = "{";
  const auto separate = [&] {
    if (text.size() > 1) text += ',';
  };
  if (header.metadata) {
    text += fmt::format("\"{}\":{{", kMetadata);
    for (const auto& [key, value] : *header.metadata)
      text += fmt::format("{}{}:{}", &key == &header.metadata->front().first ? "" : ",", quoted(key),
                          quoted(value));
    text += '}';
  }
  for (const Tensor& tensor : header.tensors) {
    separate();
    text += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", quoted(tensor.name),
                        tensor.type->name, fmt::join(tensor.shape, ","), tensor.begin, tensor.end);
  }
  text += '}';
  text.append((kLengthSize - text.size() % kLengthSize) % kLengthSize, ' ');
  std::string bytes;
  for (std::size_t i = 0; i < kLengthSize; ++i) bytes += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return bytes + text;
}

WeightMap parse_index(std::string_view text) {
  auto map = index_of(text).at("weight_map").get<WeightMap>();
  for (auto& [tensor, file] : map) file = without_dots(file);
  return map;
}

std::string changed_index(std::string_view text, const std::vector<std::string>& dropped,
                          std::uint64_t total_size) {
  const nlohmann::json index = index_of(text);
  const nlohmann::json::json_pointer total("/metadata/total_size");
  const JsonText json(text);
  const std::vector<MemberText> root = json.members(0);
  std::map<std::size_t, std::pair<std::size_t, std::string>> changes;  // from, to, text
  if (index.contains(total) && index[total] != total_size) {
    const std::vector<MemberText> metadata = json.members(last_named(root, "metadata")->value);
    const MemberText& old = *last_named(metadata, "total_size");
    changes[old.value] = {old.end, fmt::to_string(total_size)};
  }
  if (!dropped.empty()) {
    const std::vector<MemberText> map = json.members(last_named(root, "weight_map")->value);
    changes[map.front().begin] = {map.back().end, without_members(text, map, dropped)};
  }
  std::string result;
  std::size_t at = 0;
  for (const auto& [from, change] : changes) {
    result.append(text.substr(at, from - at)).append(change.second);
    at = change.first;
  }
  return result.append(text.substr(at));
}

}  // namespace clipper::safetensors
