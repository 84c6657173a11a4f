#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "contract/profile.hpp"

/// The words that options take as values.
namespace clipper {

[[nodiscard]] std::vector<std::string_view> profile_names();  ///< each family before its versions
[[nodiscard]] std::vector<std::string_view> nan_words();      ///< --nan takes numbers, too
[[nodiscard]] std::vector<std::string_view> min_above_max_words();
[[nodiscard]] std::vector<std::string_view> dtype_names();
[[nodiscard]] std::vector<std::string_view> simd_level_names();
[[nodiscard]] std::vector<std::string_view> trailing_words();  ///< the default first
[[nodiscard]] std::vector<std::string_view> color_words();     ///< the default first
[[nodiscard]] std::vector<std::string_view> other_words();     ///< in the order of MemberChoice::Other

[[nodiscard]] std::optional<MinAboveMax> min_above_max_named(std::string_view word);

}  // namespace clipper
