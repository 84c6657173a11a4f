#include "command_line/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/nearest_name.hpp"
#include "command_line/shared_options.hpp"
#include "element/joined.hpp"
#include "error.hpp"

namespace clipper {

void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, message);
}

void refuse_unknown(std::string_view what, std::string_view text, std::span<const std::string_view> words) {
  if (const auto meant = nearest_name(text, words))
    refuse(fmt::format("{} '{}'; did you mean '{}'?", what, text, *meant));
  refuse(fmt::format("{} '{}'; expected one of: {}", what, text, joined(words, ", ")));
}

void refuse_word(const Option& option, std::string_view text) {
  refuse_unknown(fmt::format("{}: unknown value", long_name(option)), text, option.words());
}

void refuse_pair(const Option& one, const Option& other) {
  refuse(fmt::format("{} and {} cannot be used together", long_name(one), long_name(other)));
}

std::size_t parse_count(std::string_view flag, std::string_view text, std::size_t lowest,
                        std::size_t highest) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < lowest || value > highest)
    refuse(fmt::format("{}: '{}' is not a whole number from {} to {}", flag, text, lowest, highest));
  return value;
}

Percentage parse_percentage(std::string_view flag, std::string_view text) {
  const std::string_view number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  if (std::optional<Percentage> percentage = Percentage::parse(number)) return *std::move(percentage);
  refuse(fmt::format("{}: '{}' is not a percentage from 0 to 100", flag, text));
}

unsigned parse_threads(std::string_view text) {
  return static_cast<unsigned>(parse_count(long_name(kThreads), text, 1, 1024));
}

std::size_t word_of(const RawOptions& raw, const Option& option) {
  if (!raw.has(option)) return 0;
  const Words words = option.words();
  const auto word = std::ranges::find(words, raw.text(option));
  if (word == words.end()) refuse_word(option, raw.text(option));
  return static_cast<std::size_t>(word - words.begin());
}

Progress::When progress_when(const RawOptions& raw) {
  if (raw.has(kNoProgress)) return Progress::When::never;
  return raw.has(kProgress) ? Progress::When::always : Progress::When::automatic;
}

ColorWhen color_when(const CommandSpec& spec, const RawOptions& raw) {
  const bool has_color = std::ranges::find(spec.options, &kColor) != spec.options.end();
  return has_color ? static_cast<ColorWhen>(word_of(raw, kColor)) : ColorWhen::automatic;
}

}  // namespace clipper
