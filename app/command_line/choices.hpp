#pragma once

#include "command_line/command_spec.hpp"

/// Words that options take as values, from tables of lib.
namespace clipper {

[[nodiscard]] Words profile_names();  ///< each family before its versions
[[nodiscard]] Words nan_words();      ///< --nan takes numbers, too
[[nodiscard]] Words dtype_names();
[[nodiscard]] Words simd_level_names();

}  // namespace clipper
