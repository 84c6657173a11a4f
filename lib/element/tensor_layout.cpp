#include "element/tensor_layout.hpp"

#include <fmt/format.h>

#include "element/joined.hpp"

namespace clipper {

Message opaque_dtype(std::string_view descr) {
  std::vector<std::string_view> names;
  for (const DTypeTraits& row : kDTypes)
    if (is_foreign(row.dtype) && descr.ends_with(fmt::format("V{}", row.size))) names.push_back(row.name);
  if (names.size() == 1)
    return fmt::format("dtype '{}' may be {}; ", descr, names[0]) + Term{"dtype", "if it is, say so"};
  const std::string last(names.back());
  names.pop_back();
  return fmt::format("dtype '{}' (", descr) + Term{kTypeField, "raw bytes"} +
         fmt::format(") may be {} or {}; ", joined(names, ", "), last) +
         Term{"dtype", "if it is, say which one"} +
         (descr.ends_with("V1")
              ? "; int4, uint4, float4 and float6 are not supported: save x.astype('i1') or x.astype('f4')"
              : "");
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
