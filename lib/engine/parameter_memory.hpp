#pragma once

#include <cstddef>

#include "contract/profile.hpp"
#include "npy/header.hpp"

namespace clipper {

/// A parameter from elements in memory; see read_parameter(). They are not copied and must outlive the
/// result.
[[nodiscard]] Given parameter_in_memory(const npy::Header& header, const std::byte* elements);

}  // namespace clipper
