#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What can be typed after a command, as plain data, which the parser, --help, the manual and the completions
/// read.
namespace clipper {

using Words = std::vector<std::string_view>;

/// What shells complete a value to, unless it is one of Option::words.
enum class Value {
  text,
  number,  ///< a number, or @ and a .npy file
  tensor,  ///< a .npy file
  member,  ///< the name of a member of the archives on the command line
  file,
  directory,
};

inline constexpr std::string_view kHidden = "";  ///< a group that is not in --help

/// Long names, separated by spaces, and why an option cannot be given with them, for the error.
struct Exclusion {
  std::string_view names = {};
  std::string_view why = {};
};

/// An option or a positional argument. Each is defined once: its address identifies it.
struct Option {
  std::string_view names;      ///< "-o,--output", the long name last; a positional has one name, in capitals
  std::string_view type = {};  ///< what --help calls the value: "FILE"; empty for flags and positionals
  std::string_view implied = {};  ///< the value of the option without one: it follows = only
  Value value = Value::text;
  Words (*words)() = nullptr;  ///< the default first if it is a word; a positional takes no other values
  std::string_view group = "running";  ///< its heading in --help of a command that has groups
  std::string_view page = {};          ///< the page of the manual that explains it: empty: its command's own
  std::string_view overrides = {};     ///< the long name of a flag: the last of the two wins
  Exclusion excludes[2] = {};          ///< an error if one of them is given, too
  std::string_view needs = {};       ///< long names: an error unless one of them is given; it names the first
  std::string_view works_with = {};  ///< long names: if there are any, an error if another option is given
  std::string_view help;             ///< one line of 80 columns with the option's names, without a period
  std::string_view details = {};     ///< sentences for the manual, in the markup of inline_to_troff()
  std::string_view more = {};        ///< those that follow, if details are also those of Python
};

/// The words of a table, or the names of its rows, for Option::words.
template <const auto& kTable, auto kName = std::identity{}>
[[nodiscard]] Words words_in() {
  Words words;
  for (const auto& row : kTable) words.push_back(std::invoke(kName, row));
  return words;
}

/// Lists of options as one.
template <std::size_t... kSizes>
[[nodiscard]] constexpr auto listed(const std::array<const Option*, kSizes>&... lists) {
  std::array<const Option*, (kSizes + ...)> all{};
  auto next = all.begin();
  ((next = std::copy(lists.begin(), lists.end(), next)), ...);
  return all;
}

class RawOptions;

enum class Arity { optional, required, many };

struct Positional {
  const Option* option;
  Arity arity;
};

struct CommandSpec {
  int (*run)(const RawOptions&) = nullptr;  ///< returns the exit status, or throws the first failure
  std::string_view name;     ///< the first word after "clipper"; empty for the command that clips
  std::string_view summary;  ///< one line for the list of commands
  std::string_view description;
  std::span<const std::string_view> forms = {};  ///< "[OPTIONS] IN OUT": every way to call the command
  std::string_view footer = {};                  ///< examples and exit statuses; see help_of()
  std::span<const Positional> positionals = {};
  std::span<const Option* const> options = {};  ///< in the order of --help
  std::span<const Option* const> common = {};   ///< what -h shows; if empty, -h prints what --help does
  bool has_groups = false;                      ///< --help has a heading for each group
  bool is_public = true;                        ///< in the manual and the completions

  const Option* begins_stage = nullptr;  ///< options after it are those of a new stage,
  bool (*is_of_stage)(const Option&) = [](const Option&) { return false; };  ///< if they belong to stages
};

using CommandSpecs = std::vector<const CommandSpec*>;

/// The command that a first word names, `clip` the one without a name; null if it names none.
[[nodiscard]] const CommandSpec* command_named(const CommandSpecs& commands, std::string_view word);

/// Options under one heading.
struct OptionGroup {
  std::string_view heading;
  std::vector<const Option*> options;
};

/// The command's options, each heading once: in the order of their first options. One group named "Options"
/// if the command has no groups.
[[nodiscard]] std::vector<OptionGroup> groups_of(const CommandSpec& spec);

/// "clipper compare".
[[nodiscard]] std::string title_of(const CommandSpec& spec);

/// "clipper compare [OPTIONS] ACTUAL EXPECTED", for each of the command's forms.
[[nodiscard]] std::vector<std::string> usages_of(const CommandSpec& spec);

/// "Files" for the group "files".
[[nodiscard]] std::string heading_text(std::string_view group);

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

/// Whether the next word is the option's value, unless = and a value follow the name.
[[nodiscard]] constexpr bool needs_value(const Option& option) {
  return !option.type.empty() && option.implied.empty();
}

/// Whether the word is one of several, which spaces separate.
[[nodiscard]] bool has_word(std::string_view words, std::string_view word);

/// " FILE", or "[=SUFFIX]" if the option has an implied value, from the option's type as it is to be printed.
[[nodiscard]] std::string value_text(const Option& option, std::string_view type);

/// Why the command line has an error if both are given; null if it has none.
[[nodiscard]] const Exclusion* exclusion(const Option& option, const Option& other);
[[nodiscard]] bool exclude_each_other(const Option& one, const Option& other);

/// All sentences about the option.
[[nodiscard]] std::string details_of(const Option& option);

/// What the option excludes and needs, in the markup of inline_to_troff(): "Excludes `--a` and `--b`. Needs
/// `--c`." Empty if any other option of the command goes with it.
[[nodiscard]] std::string rules_of(const CommandSpec& spec, const Option& option);

/// The option called "-o" or "--output"; null if the command has none of this name.
[[nodiscard]] const Option* option_named(const CommandSpec& spec, std::string_view name);

/// What `clipper COMMAND --help` prints, wrapped between words to `columns` columns. The footer, which a
/// command with groups leaves to help_of_topic(), is not wrapped. Lists `commands` unless there are none.
[[nodiscard]] std::string help_of(const CommandSpec& spec, const CommandSpecs& commands, std::size_t columns);

/// What `clipper help TOPIC` takes besides commands: "files", "examples", "status".
[[nodiscard]] Words help_topics(const CommandSpec& spec);

/// What `clipper help TOPIC` prints: what the manual says about the options below the heading of this name,
/// or the examples or exit statuses of the footer.
[[nodiscard]] std::string help_of_topic(const CommandSpec& spec, std::string_view topic, std::size_t columns);

/// What `clipper COMMAND -h` prints: at most 30 lines of 80 columns. The first sentence of the description,
/// three forms, the common options and three examples.
[[nodiscard]] std::string short_help_of(const CommandSpec& spec, const CommandSpecs& commands,
                                        std::size_t columns);

/// What --version prints: "clipper 0.1.0", and lines about this build and this CPU.
[[nodiscard]] std::string version_text();

// The commands: the first has no name.
extern const CommandSpec kClipSpec;

/// Compares two tensors, or the tensors of two directories, within a tolerance, and prints differences to
/// standard output. After a file that cannot be read, prints a line to standard error and continues with the
/// next pair. Returns the highest status of all pairs.
extern const CommandSpec kCompareSpec;

/// Prints what each file, each member of an archive, and each file of tensors below a directory contains.
/// After an error, prints a line to standard error and goes on. Returns the highest status of all.
extern const CommandSpec kInfoSpec;

/// Prints elements as numpy prints an array, and reads no others.
extern const CommandSpec kShowSpec;

/// Prints the tables of profiles, or what they make of bounds for a file.
extern const CommandSpec kProfilesSpec;

/// A line of headings and a line for each profile. The headings are those of `clipper profiles`, or STANDS
/// FOR: the name of the system.
[[nodiscard]] std::string profile_table(std::span<const std::string_view> headings);

/// `clipper help [COMMAND]`, which prints what `clipper [COMMAND] --help` prints.
extern const CommandSpec kHelpSpec;

[[nodiscard]] CommandSpecs command_specs();

/// The commands that the help of `spec` lists: for the command without a name, all others that are public.
[[nodiscard]] CommandSpecs listed_commands(const CommandSpec& spec);

/// The names of the public commands: what `clipper help` takes.
[[nodiscard]] Words command_names();

/// Runs the command that main's words name.
[[nodiscard]] int run_command(int argc, const char* const* argv);

inline constexpr std::string_view kCandidatesWord = "__complete";

/// `clipper --generate KIND` prints a page of the manual or the JSON Schema, for packages.
extern const CommandSpec kGenerateSpec;

/// `clipper completion bash|zsh|fish` prints what the shell loads: a function that asks print_candidates().
/// The one for bash does not need the package bash-completion.
extern const CommandSpec kCompletionSpec;

/// `clipper __complete BEFORE BEHIND [BREAKS]` prints what can stand in place of the last word of BEFORE, the
/// command line before the cursor. Three lines are about files: the patterns of their names, */ for
/// directories only, or none; what stands in front of a name in the word, such as --min=@; and the rest of
/// the word as it is typed. The lines below are words, each with a tab and what it means. bash gives
/// $COMP_WORDBREAKS, and gets words from the last break on that begin as the typed one. Returns 0: whoever
/// types sees no errors.
[[nodiscard]] int print_candidates(std::span<const char* const> words);

/// The text in the language of man(7), with `code` in bold.
[[nodiscard]] std::string inline_to_troff(std::string_view text);

/// The pages of the manual: "clipper.1".
[[nodiscard]] Words page_names();

inline constexpr std::string_view kSchemaName = "clipper.schema.json";

/// The JSON Schema of what --json prints: schema_template.json, filled with what the tables of fields,
/// counts, dtypes and profiles say.
[[nodiscard]] std::string json_schema(const CommandSpec& clip);

/// A page of the manual, in the language of man(7).
[[nodiscard]] std::string manual(std::string_view page, const CommandSpecs& commands);

}  // namespace clipper
