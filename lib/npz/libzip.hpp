#pragma once

#include <cstdint>

#include "npz/archive.hpp"

namespace clipper::npz {

/// Opens the archive with libzip. Error{input} unless libzip finds the members of the list.
/// `has_descriptors`: whether a member has a data descriptor.
void compare_with_libzip(const ReadAt& read, std::uint64_t size, bool has_descriptors);

}  // namespace clipper::npz
