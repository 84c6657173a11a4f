#pragma once

#include <cstdint>

#include "npz/archive.hpp"

namespace clipper::npz {

/// Opens the same archive with libzip. Error{input} unless libzip finds the same members.
void compare_with_libzip(const ReadAt& read, std::uint64_t size, const Archive& archive);

}  // namespace clipper::npz
