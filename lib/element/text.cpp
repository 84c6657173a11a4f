#include "element/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace clipper {
namespace {

constexpr std::size_t kMaxDistance = 2;
constexpr std::size_t kMinAbbreviation = 3;

/// All options begin with hyphens, which therefore say nothing about what was meant.
std::size_t size_without_hyphens(std::string_view name) {
  return name.size() - std::min(name.find_first_not_of('-'), name.size());
}

bool is_near(std::string_view typed, std::string_view name, std::size_t distance) {
  const std::size_t size = std::max(size_without_hyphens(typed), size_without_hyphens(name));
  return distance <= kMaxDistance && 2 * distance < size;
}

/// Of --output and --output-dir, --out means the first. Of --verbose and --version, --ver means neither.
std::optional<std::string_view> name_from(std::string_view beginning,
                                          std::span<const std::string_view> names) {
  std::vector<std::string_view> found;
  for (const std::string_view name : names)
    if (name.starts_with(beginning)) found.push_back(name);
  const auto shortest = std::ranges::min_element(found, {}, &std::string_view::size);
  if (shortest == found.end()) return std::nullopt;
  const auto extends = [&](std::string_view name) { return name.starts_with(*shortest); };
  return std::ranges::all_of(found, extends) ? std::optional(*shortest) : std::nullopt;
}

}  // namespace

std::size_t edit_distance(std::string_view one, std::string_view other) {
  // Distances of the first i bytes of `one` (row i and the two rows before) to the first j bytes of `other`.
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last;
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= one.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool is_swap = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
      if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row.back();
}

std::optional<std::string_view> nearest_name(std::string_view typed,
                                             std::span<const std::string_view> names) {
  if (typed.size() >= kMinAbbreviation)
    if (const auto name = name_from(typed, names)) return name;
  std::optional<std::string_view> nearest;
  std::size_t nearest_distance = kMaxDistance + 1;
  for (const std::string_view name : names) {
    if (typed.size() > name.size() + kMaxDistance) continue;  // saves time for very long words
    const std::size_t distance = edit_distance(typed, name);
    if (distance > nearest_distance || !is_near(typed, name, distance)) continue;
    nearest = distance < nearest_distance ? std::optional(name) : std::nullopt;
    nearest_distance = distance;
  }
  return nearest;
}

namespace {

constexpr std::int64_t kHundredExponent = 3;  // 100 is 0.1 * 10^3

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

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
