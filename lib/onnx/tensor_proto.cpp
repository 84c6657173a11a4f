#include "onnx/tensor_proto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "error.hpp"

#ifdef CLIPPER_HAS_PB
#include <protozero/pbf_writer.hpp>

#include "onnx/wire_format.hpp"
#endif

namespace clipper::onnx {
#ifndef CLIPPER_HAS_PB  // a build without protozero
namespace {

[[noreturn]] void lack() {
  throw Error(ErrorKind::input,
              "this clipper was built without pb; one configured with -DCLIPPER_FORMATS=pb has it");
}

}  // namespace

Tensor parse(const ReadAt& /*read*/, std::uint64_t /*size*/) {
  lack();
}

void write_elements(const Tensor& /*tensor*/, const ReadAt& /*read*/, std::uint64_t /*size*/,
                    const Write& /*write*/) {
  lack();
}

std::string front(const TensorLayout& /*layout*/, const Kept& /*kept*/) {
  lack();
}

#else
namespace {

/// For a message that is valid, but of a type that is not read.
[[noreturn]] void refuse_type(std::string_view type) {
  throw Error(ErrorKind::input, "has the data_type " + Term{kTypeField, type} + ", which is not read");
}

/// The number of a field of TensorProto.
using Field = std::uint32_t;
constexpr Field kDims = 1;
constexpr Field kDataType = 2;
constexpr Field kSegment = 3;
constexpr Field kFloatData = 4;
constexpr Field kInt32Data = 5;
constexpr Field kStringData = 6;
constexpr Field kInt64Data = 7;
constexpr Field kName = 8;
constexpr Field kRawData = 9;
constexpr Field kDoubleData = 10;
constexpr Field kUint64Data = 11;
constexpr Field kDocString = 12;
constexpr Field kExternalData = 13;
constexpr Field kDataLocation = 14;
constexpr Field kMetadataProps = 16;

/// What files with these bytes mostly are.
constexpr std::string_view kOther = "is it another message, such as an ONNX model or a TensorFlow graph?";

/// A dtype of TensorProto. The field is that of elements that are not in raw_data.
struct Type {
  std::int32_t code = 0;
  std::string_view name{};
  std::optional<DType> dtype{};  ///< nothing for a type that is not read
  std::uint32_t field = 0;
  LogicalType::Kind meaning = LogicalType::Kind::number;
};

constexpr std::array kOtherTypes{
    Type{8, "string"},      Type{9, "bool", DType::uint8, kInt32Data, LogicalType::Kind::boolean},
    Type{14, "complex64"},  Type{15, "complex128"},
    Type{21, "uint4"},      Type{22, "int4"},
    Type{23, "float4e2m1"}, Type{25, "uint2"},
    Type{26, "int2"},       Type{27, "float6e2m3"},
    Type{28, "float6e3m2"}};

constexpr std::uint32_t field_of(DType dtype) {
  switch (dtype) {
    case DType::float32: return kFloatData;
    case DType::float64: return kDoubleData;
    case DType::int64: return kInt64Data;
    case DType::uint32:
    case DType::uint64: return kUint64Data;
    default: return kInt32Data;
  }
}

/// Those of kDTypes and the others. A dtype that ONNX lacks has no code.
constexpr auto kTypes = [] {
  std::array<Type, kDTypes.size() + kOtherTypes.size()> types{};
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    types[i] = {kDTypeCodes[i].onnx_code, kDTypeCodes[i].onnx, kDTypes[i].dtype, field_of(kDTypes[i].dtype)};
  std::ranges::copy(kOtherTypes, types.begin() + kDTypes.size());
  return types;
}();

/// The row of a layout; the end if ONNX lacks its type.
const Type* type_of(const TensorLayout& layout) {
  return std::ranges::find_if(kTypes, [&](const Type& row) {
    return row.code != 0 && row.dtype == layout.dtype && row.meaning == layout.meaning.kind;
  });
}

/// The wire type of an element of a field that may also be packed.
std::optional<WireType> element_type(std::uint32_t field) {
  switch (field) {
    case kFloatData: return WireType::fixed32;
    case kDoubleData: return WireType::fixed64;
    case kDims:
    case kInt32Data:
    case kInt64Data:
    case kUint64Data: return WireType::varint;
    default: return std::nullopt;
  }
}

std::uint64_t size_of(WireType type) {
  return type == WireType::fixed32 ? sizeof(std::uint32_t) : sizeof(std::uint64_t);
}

/// Calls take(element) for each number of a record: varints, or the bits of floats.
template <class Take>
void for_each_number(Source& source, const Record& record, const Take& take) {
  const WireType type = *element_type(record.field);
  if (record.type == WireType::varint) return take(record.value);
  for (std::uint64_t at = record.at; at < record.end;) {
    if (type == WireType::varint) {
      take(source.varint(at, record.end));
      continue;
    }
    std::uint64_t bits = 0;
    const std::string_view bytes = source.view(at, size_of(type));
    for (std::size_t i = bytes.size(); i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
    at += bytes.size();
    take(bits);
  }
}

/// What the fields of a message say, before they are compared with each other.
class Fields {
 public:
  explicit Fields(Source& source) : source_(source) {
    for (std::uint64_t at = 0; at < source.size();) {
      const Record record = next_record(source, at, source.size());
      take(record);
      at = record.end;
    }
  }

  [[nodiscard]] Tensor tensor() const;

 private:
  void take(const Record& record);
  void expect(const Record& record, WireType type) const {
    if (record.type != type)
      refuse(fmt::format("field {} at byte {} has another wire type than in a TensorProto; {}", record.field,
                         record.begin, kOther));
  }
  void take_dims(const Record& record);
  void take_numbers(const Record& record);
  void take_external(const Record& record);
  void expect_one_place(const Type& type) const;

  /// The bytes of a record or of what is in it.
  [[nodiscard]] std::string kept(std::uint64_t begin, std::uint64_t end) {
    count_kept(end - begin);
    std::string bytes;
    constexpr std::uint64_t kPart = 1UL << 12;
    for (std::uint64_t at = begin; at < end; at += kPart)
      bytes += source_.view(at, std::min(kPart, end - at));
    return bytes;
  }
  void count_kept(std::uint64_t size) {
    kept_size_ += size;
    if (kept_size_ > kMaxKept)
      refuse(fmt::format("its fields besides the elements exceed {} bytes", kMaxKept));
  }

  Source& source_;
  std::uint64_t kept_size_ = 0;
  std::vector<std::int64_t> dims_;
  std::int32_t type_ = 0;
  bool is_external_ = false;
  std::optional<External> external_;
  std::string doc_string_;
  std::string metadata_;
  std::string unknown_;
  std::string name_;
  std::optional<Record> raw_;
  std::uint32_t field_ = 0;       ///< that has numbers
  std::uint64_t numbers_ = 0;     ///< how many
  std::uint64_t records_ = 0;     ///< in how many records
  std::optional<Record> packed_;  ///< the last one that is packed
};

void Fields::take_dims(const Record& record) {
  for_each_number(source_, record, [&](std::uint64_t extent) {
    if (dims_.size() == kMaxRank) refuse(fmt::format("has more than {} dims; {}", kMaxRank, kOther));
    dims_.push_back(static_cast<std::int64_t>(extent));
  });
}

void Fields::take_numbers(const Record& record) {
  if (record.type == WireType::length_delimited && record.at == record.end) return;
  if (field_ != 0 && field_ != record.field)
    refuse(fmt::format("has elements in the fields {} and {}", field_, record.field));
  field_ = record.field;
  ++records_;
  const WireType type = *element_type(field_);
  if (record.type != WireType::length_delimited) {
    ++numbers_;
  } else if (type == WireType::varint) {
    for_each_number(source_, record, [&](std::uint64_t /*number*/) { ++numbers_; });
  } else {
    packed_ = record;
    if ((record.end - record.at) % size_of(type) != 0)
      refuse(fmt::format("damaged: field {} at byte {} ends in an element", field_, record.begin));
    numbers_ += (record.end - record.at) / size_of(type);
  }
}

/// A StringStringEntryProto.
struct StringEntry {
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::string unknown;  ///< records of other fields
};

StringEntry entry_of(const std::string& bytes) {
  StringEntry entry;
  const ReadAt read = [&](std::span<std::byte> to, std::uint64_t offset) {
    return bytes.copy(reinterpret_cast<char*>(to.data()), to.size(),
                      std::min<std::uint64_t>(offset, bytes.size()));
  };
  Source source(read, bytes.size());
  for (std::uint64_t at = 0; at < bytes.size();) {
    const Record record = next_record(source, at, bytes.size());
    at = record.end;
    if (record.field > 2) {
      entry.unknown += bytes.substr(record.begin, record.end - record.begin);
      continue;
    }
    if (record.type != WireType::length_delimited) refuse("damaged: a text has another wire type");
    (record.field == 1 ? entry.key : entry.value) = bytes.substr(record.at, record.end - record.at);
  }
  return entry;
}

/// A field as protobuf writes it.
std::string written(Field field, const std::string& bytes) {
  std::string text;
  protozero::pbf_writer(text).add_bytes(field, bytes);
  return text;
}

std::string written(const StringEntry& entry) {
  std::string text;
  protozero::pbf_writer writer(text);
  if (entry.key) writer.add_bytes(1, *entry.key);
  if (entry.value) writer.add_bytes(2, *entry.value);
  return text + entry.unknown;
}

std::uint64_t number_in(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    refuse("the offset or length of its external data is no number");
  return value;
}

void Fields::take_external(const Record& record) {
  const StringEntry entry = entry_of(kept(record.at, record.end));
  const std::string key = entry.key.value_or("");
  const std::string value = entry.value.value_or("");
  if (!external_) external_.emplace();
  if (key == "location")
    external_->location = value;
  else if (key == "offset")
    external_->offset = number_in(value);
  else if (key == "length")
    external_->length = number_in(value);
}

void Fields::take(const Record& record) {
  if (const std::optional<WireType> element = element_type(record.field)) {
    if (record.type != WireType::length_delimited) expect(record, *element);
    if (record.field == kDims)
      take_dims(record);
    else
      take_numbers(record);
    return;
  }
  const bool is_number = record.field == kDataType || record.field == kDataLocation;
  if (is_number) expect(record, WireType::varint);
  const bool is_known = record.field <= kExternalData || record.field == kMetadataProps;
  if (!is_number && is_known) expect(record, WireType::length_delimited);
  switch (record.field) {
    case kDataType: type_ = static_cast<std::int32_t>(record.value); break;
    case kSegment:
      refuse("is a segment of a tensor, or a SequenceProto or OptionalProto, which are not read");
    case kStringData: refuse_type("strings");
    case kName: name_ = written(kName, kept(record.at, record.end)); break;
    case kRawData: raw_ = record; break;
    case kDocString: doc_string_ = written(kDocString, kept(record.at, record.end)); break;
    case kExternalData: take_external(record); break;
    case kDataLocation:
      if (record.value > 1) refuse(fmt::format("has the data_location {}", record.value));
      is_external_ = record.value == 1;
      break;
    case kMetadataProps:
      metadata_ += written(kMetadataProps, written(entry_of(kept(record.at, record.end))));
      break;
    default: unknown_ += kept(record.begin, record.end);
  }
}

const Type& type_of(std::int32_t code) {
  const auto* const row = std::ranges::find(kTypes, code, &Type::code);
  if (code == 0) refuse(fmt::format("has no data_type; {}", kOther));
  if (row == std::end(kTypes)) refuse(fmt::format("has the data_type {}, which is not known", code));
  if (!row->dtype) refuse_type(row->name);
  return *row;
}

/// The product of the dims, where it and its bytes fit as in a .npy header.
std::uint64_t count_of(const std::vector<std::int64_t>& dims, std::size_t element_size) {
  auto bytes = static_cast<std::int64_t>(element_size);
  bool is_empty = false;
  for (const std::int64_t extent : dims) {
    if (extent < 0) refuse(fmt::format("has the dims {}", shape_text(dims)));
    is_empty = is_empty || extent == 0;
    if (extent != 0 && __builtin_mul_overflow(bytes, extent, &bytes))
      refuse(fmt::format("dims too large: {}", shape_text(dims)));
  }
  return is_empty ? 0 : static_cast<std::uint64_t>(bytes) / element_size;
}

/// Error{input} unless the elements are in one field, and that of the type.
void Fields::expect_one_place(const Type& type) const {
  if (raw_ && numbers_ != 0) refuse(fmt::format("has elements in raw_data and in field {}", field_));
  if (is_external_ && (raw_ || numbers_ != 0)) refuse("has external data and elements of its own");
  if (is_external_ && (!external_ || external_->location.empty()))
    refuse("has external data without a location");
  if (is_external_ && external_->length && *external_->length == 0) refuse("has external data of length 0");
  if (field_ != 0 && field_ != type.field)
    refuse(fmt::format("has elements in field {}, where {} has none", field_, type.name));
}

Tensor Fields::tensor() const {
  const Type& type = type_of(type_);
  expect_one_place(type);
  const std::size_t size = traits(*type.dtype).size;
  Tensor tensor;
  tensor.layout.dtype = *type.dtype;
  tensor.layout.meaning.kind = type.meaning;
  tensor.layout.order = size == 1 ? kNativeOrder : ByteOrder::little;
  tensor.layout.shape = dims_;
  tensor.layout.count = count_of(dims_, size);
  tensor.kept = {name_, doc_string_ + metadata_ + unknown_};
  const std::uint64_t needed = tensor.layout.data_size();
  if (is_external_) {
    tensor.external = external_;
    return tensor;
  }
  const std::uint64_t present = raw_ ? raw_->end - raw_->at : numbers_ * size;
  if (present != needed)
    refuse(fmt::format("{} data bytes expected for {} {}, the file has {}", needed, type.name,
                       shape_text(dims_), present));
  if (raw_)
    tensor.elements = {raw_->at, needed};
  else if (packed_ && records_ == 1)
    tensor.elements = {packed_->at, needed};
  else if (needed == 0)
    tensor.elements = {0, 0};
  return tensor;
}

/// An element of int32_data or uint64_data, in which a narrower type may not have it.
std::uint64_t narrowed(const Type& type, std::uint64_t number) {
  const DTypeTraits& dtype = traits(*type.dtype);
  const std::size_t bits = 8 * dtype.size;
  const bool is_int32 = type.field == kInt32Data;
  const std::int64_t value =
      is_int32 ? std::int64_t{static_cast<std::int32_t>(number)} : static_cast<std::int64_t>(number);
  if (bits == 64 || (is_int32 && bits == 32)) return number;
  const bool is_signed = dtype.kind == NumberKind::signed_integer;
  const std::int64_t lowest = is_signed ? -(std::int64_t{1} << (bits - 1)) : 0;
  const std::int64_t highest =
      type.meaning == LogicalType::Kind::boolean ? 1 : (std::int64_t{1} << (bits - (is_signed ? 1 : 0))) - 1;
  if (value < lowest || value > highest) refuse(fmt::format("has an element {}, no {}", value, type.name));
  return number;
}

}  // namespace

Tensor parse(const ReadAt& read, std::uint64_t size) {
  if (size > kMaxMessage) refuse(fmt::format("{} bytes exceed the limit of protobuf, 2 GiB", size));
  Source source(read, size);
  return Fields(source).tensor();
}

void write_elements(const Tensor& tensor, const ReadAt& read, std::uint64_t size, const Write& write) {
  constexpr std::size_t kBuffer = 1UL << 16;
  const Type& type = *type_of(tensor.layout);
  const std::size_t element_size = traits(*type.dtype).size;
  Source source(read, size);
  std::vector<std::byte> bytes;
  for (std::uint64_t at = 0; at < size;) {
    const Record record = next_record(source, at, size);
    at = record.end;
    if (record.field != type.field) continue;
    const auto append = [&](std::uint64_t number) {
      number = narrowed(type, number);
      for (std::size_t i = 0; i < element_size; ++i)
        bytes.push_back(static_cast<std::byte>(number >> (8 * i)));
      if (bytes.size() < kBuffer) return;
      write(bytes);
      bytes.clear();
    };
    for_each_number(source, record, append);
  }
  write(bytes);
}

std::string front(const TensorLayout& layout, const Kept& kept) {
  const Type* const type = type_of(layout);
  if (type == std::end(kTypes)) refuse(fmt::format("TensorProto has no {}", type_name(layout)));
  if (layout.order == ByteOrder::big && traits(layout.dtype).size > 1)
    refuse(
        "is big-endian, and a TensorProto is little-endian; write OUT.npy, or convert it in Python: "
        "x.astype(x.dtype.newbyteorder('<'))");
  std::string text;
  protozero::pbf_writer writer(text);
  for (const std::int64_t extent : layout.shape) writer.add_int64(kDims, extent);
  writer.add_int32(kDataType, type->code);
  text += kept.name;
  const std::uint64_t size = layout.data_size();
  if (size + text.size() + kept.fields.size() + 2UL * protozero::max_varint_length > kMaxMessage)
    refuse(fmt::format("{} bytes of elements exceed the limit of protobuf, 2 GiB; write OUT.npy", size));
  constexpr auto kRawDataTag = static_cast<char>(kRawData << 3 | 2);
  text += kRawDataTag;
  protozero::add_varint_to_buffer(&text, size);
  return text;
}

#endif
}  // namespace clipper::onnx
