#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What can be typed after a command, as plain data, which the parser, --help, the manual and the completions
/// read.
namespace clipper {

/// What shells complete a value to.
enum class Value {
  none,  ///< a flag
  text,
  words,   ///< one of Option::words; some options also take other values
  number,  ///< a number, or @ and a .npy file
  tensor,  ///< a .npy file
  file,
  directory,
};

/// An option or a positional argument. Each is defined once: its address identifies it.
struct Option {
  std::string_view names;      ///< "-o,--output", the long name last; a positional has one name, in capitals
  std::string_view help;       ///< one sentence without a period, for --help and the completions
  std::string_view type = {};  ///< what --help calls the value: "FILE"; empty for flags and positionals
  Value value = Value::none;
  std::vector<std::string_view> (*words)() = nullptr;  ///< a positional takes no other values
  std::string_view details = {};                       ///< more sentences, for the manual
};

enum class Arity { optional, required, many };

struct Positional {
  const Option* option;
  Arity arity;
};

/// Options under a heading of --help.
struct OptionGroup {
  std::string_view title;
  std::span<const Option* const> options;
};

inline constexpr std::string_view kGeneralTitle = "Options";
inline constexpr std::string_view kHiddenTitle = "";  ///< not in --help

/// Two options of one command.
struct OptionPair {
  const Option* one;
  const Option* other;
};

struct CommandSpec {
  std::string_view name;     ///< the first word after "clipper"; empty for the command that clips
  std::string_view summary;  ///< one line for the list of commands
  std::string_view description;
  std::span<const std::string_view> forms = {};  ///< "[OPTIONS] IN OUT": every way to call the command
  std::string_view footer = {};
  std::span<const Positional> positionals = {};
  std::span<const OptionGroup> groups = {};
  std::span<const OptionPair> exclusions = {};  ///< an error if both are given
  std::span<const OptionPair> overrides = {};   ///< the last of the two wins
  bool is_public = true;                        ///< in the manual and the completions
};

using CommandSpecs = std::vector<const CommandSpec*>;

/// "clipper compare".
[[nodiscard]] std::string title_of(const CommandSpec& spec);

/// "clipper compare [OPTIONS] ACTUAL EXPECTED", for each of the command's forms.
[[nodiscard]] std::vector<std::string> usages_of(const CommandSpec& spec);

/// "-o", "--output".
[[nodiscard]] std::vector<std::string_view> names_of(const Option& option);

/// "--output".
[[nodiscard]] constexpr std::string_view long_name(const Option& option) {
  return option.names.substr(option.names.find(',') + 1);
}

/// "-o"; the only name if there is one.
[[nodiscard]] constexpr std::string_view short_name(const Option& option) {
  return option.names.substr(0, option.names.find(','));
}

/// Every option of the command, in the order of --help.
[[nodiscard]] std::vector<const Option*> options_of(const CommandSpec& spec);

/// The option called "-o" or "--output"; null if the command has none of this name.
[[nodiscard]] const Option* option_named(const CommandSpec& spec, std::string_view name);

}  // namespace clipper
