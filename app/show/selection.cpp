#include "show/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "command_line/values.hpp"
#include "element/tensor_layout.hpp"

namespace clipper {
namespace {

constexpr std::string_view kEllipsis = "...";

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

/// Refuses one index: "--at: '7' is out of range for axis 0 of shape (3, 4)".
[[noreturn]] void refuse_index(std::string_view index, std::string_view why) {
  refuse(fmt::format("--at: '{}' {}", index, why));
}

std::int64_t number(std::string_view text, std::string_view index) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;  // sums with an extent do not overflow
  if (error != std::errc{} || end != text.data() + text.size() || value <= -kLimit || value >= kLimit)
    refuse_index(index, "is not an index; write numbers and slices, such as 0, :5 or ..., ::2");
  return value;
}

/// The selection of an axis by "7" or "begin:end:step", where each number may be absent.
AxisSelection axis_selection(std::string_view text, std::int64_t extent, const std::string& place) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() > 3) refuse_index(text, "has too many colons");
  if (parts.size() == 1) {
    const std::int64_t value = number(text, text);
    if (value >= extent || value < -extent) refuse_index(text, "is out of range for " + place);
    return {value < 0 ? value + extent : value, 1, 1, true};
  }
  const std::int64_t step = parts.size() == 3 && !parts[2].empty() ? number(parts[2], text) : 1;
  if (step == 0) refuse_index(text, "has the step 0");
  const auto bound = [&](std::string_view part, std::int64_t absent) {
    if (part.empty()) return absent;
    const std::int64_t value = number(part, text);
    const std::int64_t from_begin = value < 0 ? value + extent : value;
    return std::clamp(from_begin, step > 0 ? std::int64_t{0} : std::int64_t{-1},
                      step > 0 ? extent : extent - 1);
  };
  if (!parts[0].empty() && extent != 0 &&
      (number(parts[0], text) >= extent || number(parts[0], text) < -extent))
    refuse_index(text, "begins out of range for " + place);
  const std::int64_t begin = bound(parts[0], step > 0 ? 0 : extent - 1);
  const std::int64_t end = bound(parts[1], step > 0 ? extent : -1);
  const std::int64_t length = step > 0 ? end - begin : begin - end;
  const std::int64_t stride = step > 0 ? step : -step;
  return {begin, step, length <= 0 ? 0 : (length - 1) / stride + 1, false};
}

}  // namespace

std::vector<AxisSelection> parse_selection(std::string_view text, std::span<const std::int64_t> shape) {
  std::vector<std::string_view> parts;
  if (!trimmed(text).empty()) parts = split(text, ',');
  if (!parts.empty() && parts.back().empty()) parts.pop_back();  // "0," as in Python
  const auto ellipses = std::ranges::count(parts, kEllipsis);
  const std::size_t given = parts.size() - static_cast<std::size_t>(ellipses);
  if (ellipses > 1) refuse_index(text, "has more than one ...");
  if (given > shape.size())
    refuse_index(text, fmt::format("has {} indexes, too many for shape {}", given,
                                   shape_text({shape.begin(), shape.end()})));
  auto rest = std::ranges::find(parts, kEllipsis);
  if (rest != parts.end()) rest = parts.erase(rest);
  parts.insert(rest, shape.size() - given, ":");
  std::vector<AxisSelection> selection;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    selection.push_back(
        axis_selection(parts[axis], shape[axis],
                       fmt::format("axis {} of shape {}", axis, shape_text({shape.begin(), shape.end()}))));
  return selection;
}

}  // namespace clipper
