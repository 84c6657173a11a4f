#pragma once

#include "error.hpp"

/// What messages of this folder call the two ways of changing a file under its own name.
namespace clipper {

inline constexpr Term kInPlace{"in_place", "a change in place"};
inline constexpr Term kDirect{"direct", "a direct change"};

}  // namespace clipper
