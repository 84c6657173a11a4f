#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace clipper {

/// How many bytes must be inserted, deleted, replaced or swapped with their neighbour to turn one text into
/// the other, each byte at most once (the restricted Damerau-Levenshtein distance).
[[nodiscard]] std::size_t edit_distance(std::string_view one, std::string_view other);

/// The name that was probably meant by `typed`: the only one that `typed`, of at least 3 bytes, abbreviates,
/// or the only one with the smallest edit distance, which is at most 2 and less than half of the longer text
/// without its hyphens.
[[nodiscard]] std::optional<std::string_view> nearest_name(std::string_view typed,
                                                           std::span<const std::string_view> names);

}  // namespace clipper
