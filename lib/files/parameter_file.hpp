#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "contract/profile.hpp"
#include "npy/header.hpp"

namespace clipper {

/// Reads a parameter from an .npy file; messages quote it as "@PATH". The only element of a file becomes a
/// number. Any other number of elements becomes an array: a small one is held in memory, a large one is read
/// while it is used. Error{usage} for an array in a stream; other errors are those of InputFile.
[[nodiscard]] Given read_parameter(const std::string& path);

/// The value of the only element of an array.
[[nodiscard]] Number only_element(const TensorLayout& layout, std::span<const std::byte> element);

}  // namespace clipper
