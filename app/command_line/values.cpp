#include "command_line/values.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "command_line/shared_options.hpp"
#include "error.hpp"

namespace clipper {

void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, message);
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

DType parse_dtype(std::string_view text) {
  if (const std::optional<DType> dtype = dtype_named(text)) return *dtype;
  refuse(fmt::format("--dtype: '{}' is not a dtype that clipper knows", text));
}

unsigned parse_threads(std::string_view text) {
  return static_cast<unsigned>(parse_count(long_name(kThreads), text, 1, 1024));
}

bool is_second_word(const Option& option, std::string_view text) {
  const std::vector<std::string_view> words = option.words();
  if (text != words.at(0) && text != words.at(1))
    refuse(fmt::format("{}: '{}' is not {} or {}", long_name(option), text, words[0], words[1]));
  return text == words[1];
}

}  // namespace clipper
