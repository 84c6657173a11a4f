#pragma once

#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"

namespace clipper {

/// The request with words as numbers of the tensor's elements: dates as units since 1970, true as 1. For a
/// tensor of numbers, the request itself. Error{usage} for bounds that the type does not have, and for what
/// it does not take: scale, bias, conversions except another dtype for bool, and bounds from files. NaT
/// cannot be a bound.
[[nodiscard]] Request in_units(const Request& request, const TensorLayout& layout);

}  // namespace clipper
