#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "element/dtype.hpp"
#include "element/tensor_layout.hpp"

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
