#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "element/number.hpp"

namespace clipper {

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
