#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <protozero/types.hpp>
#include <protozero/varint.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "element/dtype.hpp"
#include "element/tensor_layout.hpp"
#include "error.hpp"

/// ONNX's TensorProto, in protobuf's wire format. No I/O of its own: bytes are read by a function, in pieces,
/// so that a file takes no more memory than kMaxKept and a window. Error{input} for malformed bytes.
///
/// Every message that is accepted means the same to onnx.numpy_helper.to_array(). Refused although onnx
/// accepts it: groups, fields with another wire type than theirs, elements in two fields, elements in a field
/// of a wider type that do not fit, negative dims.
namespace clipper::onnx {

/// Reads at an offset; fewer bytes only at the end.
using ReadAt = std::function<std::size_t(std::span<std::byte> bytes, std::uint64_t offset)>;
using Write = std::function<void(std::span<const std::byte> bytes)>;

/// The most bytes of all fields together that are kept in memory: name, doc_string, dims and the like.
inline constexpr std::uint64_t kMaxKept = std::uint64_t{1} << 20;

/// The longest message of protobuf.
inline constexpr std::uint64_t kMaxMessage = (std::uint64_t{1} << 31) - 1;

/// What a result keeps of a message, as records: tag, length and bytes.
struct Kept {
  std::string name;    ///< written before the elements
  std::string fields;  ///< doc_string, metadata_props, and then unknown fields
};

/// Elements that are in a file of their own.
struct External {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

struct Tensor {
  TensorLayout layout;  ///< elements of one byte that are bool have that meaning
  Kept kept;

  /// Where the elements lie one after the other in little-endian order; nothing if write_elements() has to
  /// decode them, or if they are external.
  struct Range {
    std::uint64_t begin;
    std::uint64_t size;
  };
  std::optional<Range> elements;
  std::optional<External> external;
};

/// The tensor in a message of `size` bytes.
[[nodiscard]] Tensor parse(const ReadAt& read, std::uint64_t size);

/// The elements of a tensor that parse() has found in a field of numbers.
void write_elements(const Tensor& tensor, const ReadAt& read, std::uint64_t size, const Write& write);

/// What onnx.numpy_helper.from_array() writes before the elements of a tensor. Error{input} for what
/// TensorProto has no dtype for, for elements in another order than little-endian and C, and for what exceeds
/// kMaxMessage.
[[nodiscard]] std::string front(const TensorLayout& layout, const Kept& kept);

}  // namespace clipper::onnx

/// The fields of a message in protobuf's wire format, one after the other. Error{input} for malformed bytes.
namespace clipper::onnx {

[[noreturn]] inline void refuse(const std::string& message) {
  throw Error(ErrorKind::input, message);
}

using WireType = protozero::pbf_wire_type;

/// Bytes of the message by their offset, through a window.
class Source {
 public:
  Source(const ReadAt& read, std::uint64_t size) : read_(read), size_(size) {}

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Reads a varint that ends before `end`, and moves `at` behind it.
  std::uint64_t varint(std::uint64_t& at, std::uint64_t end) {
    const std::string_view bytes = view(at, std::min<std::uint64_t>(end - at, protozero::max_varint_length));
    const char* next = bytes.data();
    std::uint64_t value = 0;
    try {
      value = protozero::decode_varint(&next, bytes.data() + bytes.size());
    } catch (const protozero::exception&) {
      refuse(fmt::format("damaged: a number at byte {} does not end", at));
    }
    const auto length = static_cast<std::uint64_t>(next - bytes.data());
    if (length == protozero::max_varint_length && bytes[length - 1] != 1)
      refuse(fmt::format("damaged: the number at byte {} exceeds 64 bits", at));
    at += length;
    return value;
  }

  /// Up to kWindow / 2 bytes, until the next call.
  std::string_view view(std::uint64_t at, std::uint64_t size) {
    if (at < begin_ || at + size > begin_ + filled_) {
      begin_ = at;
      filled_ = read_(std::as_writable_bytes(std::span(window_)), at);
      if (filled_ < size) refuse(fmt::format("truncated: it ends at byte {}", at + filled_));
    }
    return std::string_view(window_.data() + (at - begin_), size);
  }

 private:
  static constexpr std::size_t kWindow = std::size_t{1} << 16;

  const ReadAt& read_;
  std::uint64_t size_;
  std::string window_ = std::string(kWindow, '\0');
  std::uint64_t begin_ = 0;
  std::uint64_t filled_ = 0;
};

/// A field: its record is `begin` to `end`, its contents are `at` to `end`.
struct Record {
  std::uint32_t field = 0;
  WireType type = WireType::unknown;
  std::uint64_t begin = 0;
  std::uint64_t at = 0;
  std::uint64_t end = 0;
  std::uint64_t value = 0;  ///< of a varint
};

/// The record that begins at byte `begin` of a message that ends at `end`.
inline Record next_record(Source& source, std::uint64_t begin, std::uint64_t end) {
  Record record{.begin = begin, .at = begin};
  const std::uint64_t tag = source.varint(record.at, end);
  record.field = static_cast<std::uint32_t>(tag >> 3);
  record.type = static_cast<WireType>(tag & 7);
  if (tag > std::numeric_limits<std::uint32_t>::max() || record.field == 0)
    refuse(fmt::format("damaged: no field begins at byte {}", begin));
  std::uint64_t size = 0;
  record.end = record.at;
  switch (record.type) {
    case WireType::varint: record.value = source.varint(record.end, end); return record;
    case WireType::fixed64: size = sizeof(std::uint64_t); break;
    case WireType::fixed32: size = sizeof(std::uint32_t); break;
    case WireType::length_delimited: size = source.varint(record.at, end); break;
    default:
      refuse(fmt::format("damaged: field {} at byte {} has the wire type {}", record.field, begin, tag & 7));
  }
  if (size > end - record.at)
    refuse(fmt::format("truncated: field {} at byte {} ends beyond the file", record.field, begin));
  record.end = record.at + size;
  return record;
}

}  // namespace clipper::onnx
