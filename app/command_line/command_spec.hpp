#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What a command's users can type, as plain data: the parser, --help, the manual and the completions read
/// it.
namespace clipper {

/// What a value is, for completions.
enum class Value {
  none,  ///< a flag
  text,
  words,   ///< one of Option::words, perhaps among others
  number,  ///< or @ and a tensor's file
  tensor,  ///< a .npy file
  file,
  directory,
};

/// An option or a positional argument. Its address is what tells it from others: each is defined once.
struct Option {
  std::string_view
      names;  ///< "-o,--output", the long one last; a positional's is in capitals, without hyphens
  std::string_view help;
  std::string_view type = {};  ///< what --help calls the value: "FILE"; a flag and a positional have none
  Value value = Value::none;
  std::vector<std::string_view> (*words)() = nullptr;  ///< of a positional: no others are taken
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

/// Two options that cannot be given together.
struct Exclusion {
  const Option* one;
  const Option* other;
};

struct CommandSpec {
  std::string_view name;  ///< the first word after "clipper"; empty for what clipper does without one
  std::string_view summary;
  std::string_view description;
  std::string_view footer = {};
  std::span<const Positional> positionals = {};
  std::span<const OptionGroup> groups = {};
  std::span<const Exclusion> exclusions = {};
  bool is_public = true;  ///< in the manual and the completions
};

using CommandSpecs = std::vector<const CommandSpec*>;

/// "clipper compare".
[[nodiscard]] std::string title_of(const CommandSpec& spec);

/// "clipper compare [OPTIONS] [ACTUAL] [EXPECTED]".
[[nodiscard]] std::string usage_of(const CommandSpec& spec);

/// "-o", "--output".
[[nodiscard]] std::vector<std::string_view> names_of(const Option& option);

/// "--output".
[[nodiscard]] constexpr std::string_view long_name(const Option& option) {
  return option.names.substr(option.names.find(',') + 1);
}

/// Every option of the command, in the order of --help.
[[nodiscard]] std::vector<const Option*> options_of(const CommandSpec& spec);

}  // namespace clipper
