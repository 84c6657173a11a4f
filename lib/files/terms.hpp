#pragma once

#include "error.hpp"

/// The terms of this folder's messages for the two ways to change a file under its own name.
namespace clipper {

inline constexpr Term kInPlace{"in_place", "a change in place"};
inline constexpr Term kDirect{"direct", "a direct change"};

}  // namespace clipper
