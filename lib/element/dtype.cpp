#include "element/dtype.hpp"

namespace clipper {

static_assert(
    [] {
      for (std::size_t i = 0; i < kDTypes.size(); ++i) {
        const DTypeTraits& row = kDTypes[i];
        if (static_cast<std::size_t>(row.dtype) != i) return false;
        if (has_kernels(row.dtype) && with_type(row.dtype, []<class T>() { return sizeof(T); }) != row.size)
          return false;
      }
      return true;
    }(),
    "kDTypes has one row for each DType, in its order");

std::optional<DType> dtype_named(std::string_view name) noexcept {
  for (const DTypeTraits& row : kDTypes)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

}  // namespace clipper
