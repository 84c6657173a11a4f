#include "element/tensor_layout.hpp"

#include <fmt/format.h>

#include "element/joined.hpp"

namespace clipper {

Message opaque_dtype(std::string_view descr) {
  if (descr.ends_with("V1"))
    return fmt::format("dtype '{}' (", descr) + Term{kTypeField, "raw bytes"} +
           ") may be float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e4m3b11fnuz or "
           "float8_e8m0fnu; " +
           Term{"dtype", "if it is, say which one"} +
           "; int4, uint4, float4 and float6 are not supported: save x.astype('i1') or x.astype('f4')";
  return fmt::format("dtype '{}' may be bfloat16; ", descr) + Term{"dtype", "if it is, say so"};
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("({}{})", joined(shape, ", "), shape.size() == 1 ? "," : "");
}

std::vector<std::uint64_t> index_of(const TensorLayout& layout, std::uint64_t position) {
  const std::size_t rank = layout.shape.size();
  std::vector<std::uint64_t> index(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = layout.fortran_order ? i : rank - 1 - i;
    const auto extent = static_cast<std::uint64_t>(layout.shape[axis]);
    index[axis] = position % extent;
    position /= extent;
  }
  return index;
}

std::string index_text(const TensorLayout& layout, std::uint64_t position) {
  return fmt::format("[{}]", joined(index_of(layout, position), ", "));
}

}  // namespace clipper
