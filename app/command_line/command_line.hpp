#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "command_line/command_spec.hpp"

/// Parses the words of a command line, and prints to standard output.
namespace clipper {

class Progress;

/// What was typed for one option or positional argument.
struct RawOption {
  bool is_given = false;
  std::string text;                ///< the value; of a repeated option, the last one
  std::vector<std::string> texts;  ///< all values; `text` is empty for a positional that takes many words
};

/// What was typed, with all values as text: CLI11 would read 010 as an octal number and "" as 0. All
/// functions throw std::out_of_range for an option that the command does not have, whether it was typed or
/// not: the first test of a command finds this mistake.
class RawOptions {
 public:
  explicit RawOptions(std::map<const Option*, RawOption> options) : options_(std::move(options)) {}

  [[nodiscard]] bool has(const Option& option) const { return options_.at(&option).is_given; }

  /// Empty if the option was not given.
  [[nodiscard]] const std::string& text(const Option& option) const { return options_.at(&option).text; }
  [[nodiscard]] const std::vector<std::string>& texts(const Option& option) const {
    return options_.at(&option).texts;
  }

  /// Nothing if the option was not given.
  [[nodiscard]] std::optional<std::string> value(const Option& option) const {
    return has(option) ? std::optional(text(option)) : std::nullopt;
  }

 private:
  std::map<const Option*, RawOption> options_;
};

/// Parses the words of a command; words[0] is the command's own name. If an option is repeated, or if two
/// options override each other, the last counts. Returns nothing if it printed the version, or the help with
/// a list of `commands` (no list if empty). Throws Error{usage} for any mistake, including an empty value.
[[nodiscard]] std::optional<RawOptions> parse(const CommandSpec& spec, std::span<const char* const> words,
                                              const CommandSpecs& commands = {});

/// Prints the help, as wide as the terminal.
void print_help(const CommandSpec& spec, const CommandSpecs& commands);

/// Prints to standard output. Throws Error{io} if the text cannot be written.
void print(const std::string& text);

/// Prints to standard output in place of the progress line. Throws Error{io} if the text cannot be written.
void print(const std::string& text, Progress& progress);

}  // namespace clipper
