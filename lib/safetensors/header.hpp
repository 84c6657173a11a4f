#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "element/dtype.hpp"

/// The safetensors format: a length, a header in JSON, and the elements of all tensors. Bytes <-> Header,
/// without I/O. The rules are those of the safetensors library (huggingface/safetensors, tensor.rs).
namespace clipper::safetensors {

/// The bytes before the header: its length, little-endian.
inline constexpr std::size_t kLengthSize = 8;

/// The longest header that the safetensors library reads.
inline constexpr std::uint64_t kMaxHeaderSize = 100'000'000;

/// A type of elements: a row of the table in header.cpp, which has the order by which the library sorts
/// tensors.
struct Type {
  std::string_view name;       ///< in headers: "BF16"
  unsigned bits;               ///< of an element
  std::optional<DType> dtype;  ///< nothing for a type that clipper does not clip
  std::string_view meaning;    ///< of such a type: "bool"
};

/// The type of tensors of this dtype; null if the format has none.
[[nodiscard]] const Type* type_of(DType dtype);

/// The type with this name in headers; null if there is none.
[[nodiscard]] const Type* type_named(std::string_view name);

struct Tensor {
  std::string name;
  const Type* type = nullptr;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< of its elements, after the header
  std::uint64_t end = 0;
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

struct Header {
  std::vector<Tensor> tensors;       ///< in the order of their elements
  std::optional<Metadata> metadata;  ///< `__metadata__`, in the header's order
};

/// Whether a file that begins with `start` can be a safetensors file: a length below 2^32, and `{`.
[[nodiscard]] bool can_be_safetensors(std::span<const std::byte> start);

/// The length of the header, from the first kLengthSize bytes of a file of `size` bytes. Error{input} if it
/// is longer than the file or than kMaxHeaderSize.
[[nodiscard]] std::uint64_t header_size(std::span<const std::byte> start, std::uint64_t size);

/// The header, from its bytes and the number of bytes after them. Error{input} for everything that the
/// library refuses and for what programs could read differently: two tensors or fields of one name, unknown
/// fields, control characters in names, elements that overlap or have gaps between or after them.
[[nodiscard]] Header parse(std::string_view text, std::uint64_t data_size);

/// Sorts the tensors as the library writes them, and sets where their elements are.
void arrange(std::vector<Tensor>& tensors);

/// The length and the header as the library writes them, for tensors in the order of their elements.
[[nodiscard]] std::string format(const Header& header);

/// What an index says: the name of each tensor, and of the file beside the index that has it, in which
/// components "." are left out.
using WeightMap = std::map<std::string, std::string>;

/// The weight_map of an index, which transformers writes as JSON beside the files of a model. Error{input}
/// for other texts, an empty map and two tensors of one name.
[[nodiscard]] WeightMap parse_index(std::string_view text);

/// The index without the tensors `dropped`, with `total_size` in its metadata if these have one. All other
/// text is the same.
[[nodiscard]] std::string changed_index(std::string_view text, const std::vector<std::string>& dropped,
                                        std::uint64_t total_size);

}  // namespace clipper::safetensors
