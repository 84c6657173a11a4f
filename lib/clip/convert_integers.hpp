#pragma once

#include <cstddef>

#include "clip/convert.hpp"

namespace clipper {

/// convert() for Arithmetic::integer, whose results may need 129 bits.
[[nodiscard]] Converted convert_integers(const Conversion& conversion, const Operation& operation,
                                         const ParameterVectors* vectors, const std::byte* in, std::byte* out,
                                         std::size_t count) noexcept;

}  // namespace clipper
