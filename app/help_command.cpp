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

// One block per option, without the indentation that clang-format gives to long texts.
// clang-format off
constexpr Option kCommand{
    .names = "COMMAND", .words = &command_names,
    .help = "The command to explain",
    .details = R"(The name of a command, such as compare. Without COMMAND, clipper prints the help of the
command that clips. `clipper help compare` prints what `clipper compare --help` does.)"};
// clang-format on
constexpr std::array kPositionals{Positional{&kCommand, Arity::optional}};
constexpr std::array<std::string_view, 1> kForms{"[COMMAND]"};
constexpr std::array kOptions{&kHelp};

}  // namespace

constexpr CommandSpec kHelpSpec{
    .name = "help",
    .summary = "print the help of clipper or of a command",
    .description = "Prints the help of clipper, or of one of its commands.",
    .forms = kForms,
    .positionals = kPositionals,
    .options = kOptions,
};

int show_help(const RawOptions& raw) {
  const CommandSpecs specs = command_specs();
  const auto named = std::ranges::find(specs, std::string_view(raw.text(kCommand)), &CommandSpec::name);
  print_help(**named, listed_commands(**named));
  return 0;
}

}  // namespace clipper
