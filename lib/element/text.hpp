#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "element/number.hpp"

namespace clipper {

/// How many bytes must be inserted, deleted, replaced or swapped with their neighbour to turn one text into
/// the other, each byte at most once (the restricted Damerau-Levenshtein distance).
[[nodiscard]] std::size_t edit_distance(std::string_view one, std::string_view other);

/// The name that was probably meant by `typed`: the only one that `typed`, of at least 3 bytes, abbreviates,
/// or the only one with the smallest edit distance, which is at most 2 and less than half of the longer text
/// without its hyphens.
[[nodiscard]] std::optional<std::string_view> nearest_name(std::string_view typed,
                                                           std::span<const std::string_view> names);

/// Texts or integers with a separator between them. To compile fmt::join() takes up to a second for each
/// file.
template <class Items>
[[nodiscard]] std::string joined(const Items& items, std::string_view separator) {
  std::string text;
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) text += separator;
    is_first = false;
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(item)>>)
      text += std::to_string(item);
    else
      text += item;
  }
  return text;
}

/// The texts between the separators: one more than there are separators.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// The integer that the whole text is: decimal digits and, of a signed type, perhaps a minus in front of
/// them.
template <class Integer>
[[nodiscard]] std::optional<Integer> integer_in(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Whether the number is from 0 to 100.
[[nodiscard]] bool is_percentage(const Number& number);

/// A percentage from 0 to 100, exactly as it was typed.
class Percentage {
 public:
  /// Nothing if `text` is not a number from 0 to 100.
  [[nodiscard]] static std::optional<Percentage> parse(std::string_view text);

  /// Whether `count` is more than this percentage of `all`, without rounding. `count` is at most `all`.
  [[nodiscard]] bool is_exceeded_by(std::uint64_t count, std::uint64_t all) const;

  /// `count` as a percentage of `all`, of which it is more than this percentage, in as many digits as show
  /// that: "33.34" beside 33.33, otherwise three significant ones.
  [[nodiscard]] std::string text_of_exceeding(std::uint64_t count, std::uint64_t all) const;

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  Percentage(std::string_view text, Number number) : text_(text), number_(std::move(number)) {}

  std::string text_;
  Number number_;
};

}  // namespace clipper
