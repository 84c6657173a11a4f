#include "help_command.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"

namespace clipper {
namespace {

constexpr Option kCommand =
    with_details({"COMMAND", "The command to explain", {}, Value::words, &command_names},
                 "The name of a command, such as compare. Without COMMAND, clipper prints the help of the "
                 "command that clips. `clipper help compare` prints what `clipper compare --help` does.");
constexpr std::array kPositionals{Positional{&kCommand, Arity::optional}};
constexpr std::array<std::string_view, 1> kForms{"[COMMAND]"};
constexpr std::array kOptions{&kHelp};
constexpr std::array kGroups{OptionGroup{kGeneralTitle, kOptions}};

}  // namespace

constexpr CommandSpec kHelpSpec{
    .name = "help",
    .summary = "print the help of clipper or of a command",
    .description = "Prints the help of clipper, or of one of its commands.",
    .forms = kForms,
    .positionals = kPositionals,
    .groups = kGroups,
};

int show_help(const RawOptions& raw) {
  const CommandSpecs specs = command_specs();
  const auto named = std::ranges::find(specs, std::string_view(raw.text(kCommand)), &CommandSpec::name);
  print_help(**named, listed_commands(**named));
  return 0;
}

}  // namespace clipper
