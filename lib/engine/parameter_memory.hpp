#pragma once

#include <cstddef>

#include "contract/profile.hpp"
#include "element/tensor_layout.hpp"

namespace clipper {

/// A parameter from elements in memory; see read_parameter(). They are not copied and must outlive the
/// result.
[[nodiscard]] Given parameter_in_memory(const TensorLayout& layout, const std::byte* elements);

}  // namespace clipper
