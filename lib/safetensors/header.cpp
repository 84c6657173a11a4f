#include "safetensors/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "element/tensor_layout.hpp"
#include "npy/dict.hpp"
#include "npz/member_name.hpp"
#include "npz/refuse.hpp"
#include "safetensors/json.hpp"

namespace clipper::safetensors {
namespace {

using npz::refuse;

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

}  // namespace

void refuse_tensor(std::string_view name, std::string_view why) {
  refuse(fmt::format("tensor '{}': {}", npy::excerpt(name), why));
}

bool can_be_safetensors(std::span<const std::byte> start) {
  constexpr std::string_view kAfterLength("\0\0\0\0{", 5);  // of a length below 2^32
  const std::string_view bytes(reinterpret_cast<const char*>(start.data()), start.size());
  return is_supported() && bytes.substr(std::min<std::size_t>(4, bytes.size())).starts_with(kAfterLength);
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
  read_json(text, header);
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

}  // namespace clipper::safetensors
