#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "contract/arrays.hpp"
#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"

/// The elements of one tensor that have plans of their own: those of groups that lack figures, and those of
/// each zero point.
namespace clipper {

/// What distinguishes a plan for some of the elements.
struct Variant {
  ParameterSet missing = 0;            ///< the parameters that they lack
  std::optional<Number> zero_point{};  ///< theirs, if zero_point is an array

  friend bool operator==(const Variant&, const Variant&) = default;
};

/// Which variant each element of the tensor has: an array of uint8, elements of `keys`.
struct Variants {
  Broadcast places;
  std::vector<Variant> all;        ///< those that lack least first
  std::vector<std::uint8_t> keys;  ///< of each
};

/// Parameters are lacking that are figures which their groups do not have, and norms because of which nothing
/// is multiplied, so that 64-bit integers do not become float64. Nothing if no element lacks any, and there
/// is one zero point.
[[nodiscard]] std::optional<Variants> variants_of(const Request& request, const TensorLayout& layout);

}  // namespace clipper
