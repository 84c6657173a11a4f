#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "element/dtype.hpp"
#include "element/tensor_layout.hpp"

/// Raw files: elements in C order without a header, or after the header of another format. No I/O.
namespace clipper::raw {

/// What the user says that such files hold: "float32", ">i2:720,-1@512".
struct Layout {
  DType dtype = DType::float32;
  ByteOrder order = kNativeOrder;
  std::optional<std::vector<std::int64_t>> shape{};  ///< one extent may be -1; nothing: one axis with all
  std::uint64_t offset = 0;  ///< of the first element: the bytes before it are copied to a result
  bool forced = false;       ///< whether files of formats that are recognised are raw, too
  std::string text{};        ///< as it was typed
};

/// The layout in DTYPE[:SHAPE][@OFFSET] or force:DTYPE[:SHAPE][@OFFSET]. DTYPE is a word of dtype_word() or
/// numpy's descriptor in either byte order. Error{usage} for other texts.
[[nodiscard]] Layout parse(std::string_view text);

/// The tensor in a file of `size` bytes. Error{input} with both sizes and the nearest shape if it has another
/// size; `may_be_longer`: unless bytes after the tensor are permitted.
[[nodiscard]] TensorLayout tensor_in(const Layout& layout, std::uint64_t size, bool may_be_longer);

/// Whether tensor_in() finds a tensor in a file of `size` bytes.
[[nodiscard]] bool fits(const Layout& layout, std::uint64_t size);

}  // namespace clipper::raw
