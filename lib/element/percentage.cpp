#include "element/percentage.hpp"

#include <fmt/format.h>

namespace clipper {
namespace {

constexpr std::int64_t kHundredExponent = 3;  // 100 is 0.1 * 10^3

}  // namespace

bool is_percentage(const Number& number) {
  return number.kind == Number::Kind::finite && number >= Number{} && number <= 100;
}

std::optional<Percentage> Percentage::parse(std::string_view text) {
  std::optional<Number> number = parse_number(text);
  if (!number || !is_percentage(*number)) return std::nullopt;
  return Percentage(text, *std::move(number));
}

/// Compares the digits of count / all, by long division, with those of the percentage.
bool Percentage::is_exceeded_by(std::uint64_t count, std::uint64_t all) const {
  if (count == 0 || number_.exponent == kHundredExponent) return false;
  UInt128 rest = count;
  for (std::int64_t zeros = number_.exponent - (kHundredExponent - 1); zeros < 0; ++zeros) {
    rest *= 10;
    if (rest >= all) return true;
  }
  for (const char digit : number_.digits) {
    rest *= 10;
    const auto own = static_cast<std::int64_t>(rest / all);
    if (own != digit - '0') return own > digit - '0';
    rest %= all;
  }
  return rest != 0;
}

std::string Percentage::text_of_exceeding(std::uint64_t count, std::uint64_t all) const {
  const auto exceeds = [&](const std::string& text) { return parse_number(text).value() > number_; };
  std::string text = fmt::format("{:.3g}", 100 * static_cast<double>(count) / static_cast<double>(all));
  if (exceeds(text)) return text;
  UInt128 rest = UInt128{count} * 100;
  text = fmt::format("{}.", static_cast<std::uint64_t>(rest / all));
  while (text.back() == '.' || !exceeds(text)) {
    rest = rest % all * 10;
    text += static_cast<char>('0' + static_cast<int>(rest / all));
  }
  return text;
}

}  // namespace clipper
