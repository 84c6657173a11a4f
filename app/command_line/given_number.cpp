#include "command_line/given_number.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "command_line/command_line.hpp"
#include "command_line/command_spec.hpp"
#include "command_line/nearest_name.hpp"
#include "command_line/values.hpp"
#include "element/percentage.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "files/parameter_file.hpp"

namespace clipper {
namespace {

/// Adds the flag to errors. Keeps the library's words: what the program would advise applies to IN only.
Given read_given(std::string_view flag, const std::string& path) {
  if (path.empty()) refuse(fmt::format("{} @ has no file name (is a shell variable empty?)", flag));
  if (path == "-") refuse(fmt::format("{} @-: cannot be read from standard input; use a file", flag));
  try {
    return read_parameter(path);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{} @{}", flag, error.what()));
  }
}

bool looks_like_file(const std::string& text) {
  const TensorFormat* const format = format_named(text);
  return (format != nullptr && !format->has_entries()) || member_path(text) ||
         (!text.empty() && ::access(text.c_str(), F_OK) == 0);
}

/// "1%" as a number; nothing for texts that are not a number and a percent sign.
std::optional<Number> percentage_in(const std::string& text) {
  return text.ends_with('%') ? parse_number(std::string_view(text).substr(0, text.size() - 1)) : std::nullopt;
}

[[noreturn]] void refuse_percentage(std::string_view flag, const std::string& text) {
  const std::string_view number = std::string_view(text).substr(0, text.size() - 1);
  if (flag == "--min" || flag == "--max")
    refuse(fmt::format("{}: '{}' is not a number; clipper info --percentile {} prints that percentile", flag,
                       text, number));
  refuse(fmt::format("{}: '{}' is not a number; only --min and --max can be percentiles", flag, text));
}

}  // namespace

Given parse_bound(std::string_view flag, const std::string& text) {
  if (std::optional<Given> word = Given::word(text)) return *std::move(word);
  const std::optional<Number> percentage = percentage_in(text);
  if (!percentage) return parse_given(flag, text);
  if (!is_percentage(*percentage))
    refuse(fmt::format("{} {}: a percentile is a number from 0% to 100%", flag, text));
  Given bound = Given::percentile(*percentage);
  bound.text = text;
  return bound;
}

Given parse_given(std::string_view flag, const std::string& text) {
  if (text.starts_with('@')) return read_given(flag, text.substr(1));
  if (std::optional<Number> number = parse_number(text)) return {*std::move(number), text};
  if (percentage_in(text)) refuse_percentage(flag, text);
  if (looks_like_file(text))
    refuse(fmt::format("{0}: '{1}' is not a number; to read the number from a file, write @{1}", flag, text));
  refuse(fmt::format("{}: '{}' is not a number", flag, text));
}

Given parse_scale(std::string_view flag, const std::string& text) {
  constexpr std::string_view kReciprocal = "1/";
  if (!text.starts_with(kReciprocal)) return parse_given(flag, text);
  return Given::reciprocal(parse_given(flag, text.substr(kReciprocal.size())));
}

bool names_file(std::string_view text) {
  return text.starts_with('@') || text.starts_with("1/@");
}

std::optional<Given> given(const RawOptions& raw, const Option& option) {
  if (!raw.has(option)) return std::nullopt;
  return parse_given(long_name(option), raw.text(option));
}

std::optional<Given> given_limit(const RawOptions& raw, const Option& option) {
  if (raw.has(option))
    if (std::optional<Given> word = Given::word(raw.text(option))) return word;
  return given(raw, option);
}

OnNan parse_on_nan(const std::string& text) {
  const auto* const word = std::ranges::find(kNanWords, text);
  if (word != kNanWords.end()) return static_cast<OnNan::Action>(word - kNanWords.begin());
  std::optional<Number> number = parse_number(text);
  if (number && number->kind != Number::Kind::nan) return Given(*std::move(number), text);
  if (std::optional<Given> given = Given::word(text)) return *std::move(given);
  if (const auto meant = nearest_name(text, kNanWords))
    refuse(fmt::format("--nan: unknown value '{}'; did you mean '{}'?", text, *meant));
  refuse(fmt::format("--nan: '{}' is not keep, error, min, max or a number", text));
}

std::vector<OptionFile> number_files(const Request& request) {
  std::vector<OptionFile> files;
  const auto add = [&](std::string_view option, const std::optional<Given>& number) {
    if (number && number->dtype) files.push_back({option, number->text.substr(number->text.find('@') + 1)});
  };
  add("--min", request.min);
  add("--max", request.max);
  add("--scale", request.scale);
  add("--bias", request.bias);
  return files;
}

}  // namespace clipper
