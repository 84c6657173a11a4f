#pragma once

#include "cli/clipper.hpp"

/// Tensors that contain a number each: a test notices if two results are exchanged.
namespace clipper::testing {

inline std::string input(int number) {
  return float32_file({-1, static_cast<float>(number) / 1000, 9});
}

/// The result of clip() for input(number).
inline std::string output(int number) {
  return float32_file({0, static_cast<float>(number) / 1000, 6});
}

}  // namespace clipper::testing
