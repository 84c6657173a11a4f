#pragma once

#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"

/// Lists of numbers as parameters (Parameter::list): `--per-axis 1 --subtract 0.485,0.456,0.406`.
namespace clipper {

[[nodiscard]] bool has_lists(const Request& request);

/// The request with an array in place of each list: a number for each index along Request::per_axis. Its
/// numbers have the tensor's dtype or 64 bits if all are whole and the tensor has integers, otherwise they
/// are float64. Error{usage} unless there is one axis, and for numbers that cannot be the parameter or have
/// no dtype in common; Error{input} unless there are as many numbers as indexes.
[[nodiscard]] Request with_lists(const Request& request, const TensorLayout& layout);

}  // namespace clipper
