#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"
#include "flows/tensor_statistics.hpp"
#include "statistics/groups.hpp"

namespace clipper {

/// Request::per_axis, counted from 0. Error{input} for an axis that the tensor does not have.
[[nodiscard]] std::vector<std::size_t> axes_of(const Request& request, const TensorLayout& layout);

/// The groups of each source along Request::per_axis.
[[nodiscard]] std::vector<Groups> groups_of(const Request& request, std::span<const TensorSource> sources);

/// The shape of arrays of figures, without sizes of 1 in front.
[[nodiscard]] std::vector<std::int64_t> lengths_of_groups(const Request& request, const TensorLayout& layout);

/// What converts a bound of one of several groups as if it alone had been given.
[[nodiscard]] Request bounds_alone(const Request& request);

}  // namespace clipper
