#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <protozero/types.hpp>
#include <protozero/varint.hpp>
#include <span>
#include <string>
#include <string_view>

#include "error.hpp"
#include "onnx/tensor_proto.hpp"

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
