#pragma once

#include <string>

#include "cli/clipper.hpp"
#include "support/tensors.hpp"

/// Tensors of which each has a number, so that results cannot be exchanged unnoticed.
namespace clipper::testing {

inline std::string input(int number) {
  return float32_file({-1, static_cast<float>(number) / 1000, 9});
}

/// What clip() makes of it.
inline std::string output(int number) {
  return float32_file({0, static_cast<float>(number) / 1000, 6});
}

}  // namespace clipper::testing
