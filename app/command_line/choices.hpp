#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "contract/profile.hpp"

/// The words that the values of options may be.
namespace clipper {

/// Of --trailing, the default first.
inline constexpr std::array<std::string_view, 2> kTrailingWords{"error", "ignore"};
inline constexpr const char* kTrailingHelp =
    "If a file goes on after its array: error (default), or ignore, as numpy does";

[[nodiscard]] std::vector<std::string_view> profile_names();  ///< each family before its versions
[[nodiscard]] std::vector<std::string_view> nan_words();      ///< besides numbers
[[nodiscard]] std::vector<std::string_view> min_above_max_words();
[[nodiscard]] std::vector<std::string_view> dtype_names();
[[nodiscard]] std::vector<std::string_view> simd_level_names();
[[nodiscard]] std::vector<std::string_view> trailing_words();

[[nodiscard]] std::optional<MinAboveMax> min_above_max_named(std::string_view word);

}  // namespace clipper
