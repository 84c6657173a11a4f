#pragma once

#include <optional>

#include "contract/profile.hpp"
#include "element/dtype.hpp"

namespace clipper {

/// Gives a number or an array from a file of another dtype the dtype of the tensor, if that is a float dtype
/// and has each of the numbers exactly. Otherwise, and for an array that is not held in memory, leaves it as
/// it is and returns false.
bool give_dtype_if_exact(std::optional<Given>& given, DType dtype);

}  // namespace clipper
