#pragma once

#include <string>

#include "contract/profile.hpp"

namespace clipper {

/// The one element of an .npy file, as a number that messages quote as "@PATH". Error{usage} if the file has
/// more or fewer elements, and what InputFile throws.
[[nodiscard]] Given read_number(const std::string& path);

}  // namespace clipper
