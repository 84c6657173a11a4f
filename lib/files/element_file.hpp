#pragma once

#include <string>

#include "contract/profile.hpp"

namespace clipper {

/// Reads the only element of an .npy file as a number, which messages quote as "@PATH". Error{usage} if the
/// file has more or fewer elements; other errors are those of InputFile.
[[nodiscard]] Given read_number(const std::string& path);

}  // namespace clipper
