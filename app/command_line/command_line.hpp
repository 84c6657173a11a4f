#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// What every command does with the words after it, and with what it prints.
namespace clipper {

class Progress;
struct CommandSpec;
struct Option;

/// What was typed of one option.
struct RawOption {
  bool is_given = false;
  std::string text;                ///< its value
  std::vector<std::string> texts;  ///< instead, those of a positional that takes many words
};

/// What was typed, not yet understood. All values are text: a parser would read 010 as octal and nothing as
/// 0. std::out_of_range for an option that is not the command's, whether it was typed or not: the first test
/// of a command sees such a mistake.
class RawOptions {
 public:
  explicit RawOptions(std::map<const Option*, RawOption> options) : options_(std::move(options)) {}

  [[nodiscard]] bool has(const Option& option) const { return options_.at(&option).is_given; }

  /// Empty unless it was given.
  [[nodiscard]] const std::string& text(const Option& option) const { return options_.at(&option).text; }
  [[nodiscard]] const std::vector<std::string>& texts(const Option& option) const {
    return options_.at(&option).texts;
  }

  /// The text, or nothing if the option was not given.
  [[nodiscard]] std::optional<std::string> value(const Option& option) const {
    return has(option) ? std::optional(text(option)) : std::nullopt;
  }

 private:
  std::map<const Option*, RawOption> options_;
};

/// The words as the command's options, words[0] being its own name; nothing if they only asked for help or
/// the version, which are printed then. Every mistake becomes Error{usage}.
[[nodiscard]] std::optional<RawOptions> parse(const CommandSpec& spec, std::span<const char* const> words);

/// Prints on standard output. Error{io} if it cannot be written.
void print(const std::string& text);

/// Prints on standard output in the place of the progress line. Error{io} if it cannot be written.
void print(const std::string& text, Progress& progress);

}  // namespace clipper
