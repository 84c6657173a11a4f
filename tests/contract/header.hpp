#pragma once

#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"
#include "support/catch.hpp"

namespace clipper {

/// The header of a little-endian tensor in C order.
inline TensorLayout header(DType dtype, std::vector<std::int64_t> shape = {2, 3}) {
  TensorLayout result;
  result.dtype = dtype;
  result.order = ByteOrder::little;
  result.shape = std::move(shape);
  for (const std::int64_t extent : result.shape) result.count *= static_cast<std::uint64_t>(extent);
  return result;
}

inline const Profile& profile(std::string_view name) {
  const Profile* const found = profile_named(name);
  INFO(name);
  REQUIRE(found != nullptr);
  return *found;
}

}  // namespace clipper
