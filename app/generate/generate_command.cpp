#include "generate/generate_command.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "console/terminal.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "files/input_file.hpp"

namespace clipper {
namespace {

constexpr std::string_view kMembers = "members";

/// What completes FILE:MEMBER, one in each line. Leaves out what a terminal cannot show.
std::string members_of(const std::string& path) {
  const InputFile file = InputFile::open_regular(path);
  if (!is_archive(file)) throw Error(ErrorKind::input, path + ": not an archive");
  const Container archive(file);
  std::string lines;
  for (const Entry& member : archive.entries())
    if (const std::string_view key = member.key(); key == escape_for_terminal(key))
      lines.append(key).append("\n");
  return lines;
}

struct Shell {
  std::string_view name;
  std::string (*completions)(const CommandSpecs&);
};

constexpr std::array kShells{Shell{"bash", &bash_completions}, Shell{"zsh", &zsh_completions},
                             Shell{"fish", &fish_completions}};

Words shell_names() {
  Words words;
  for (const Shell& shell : kShells) words.push_back(shell.name);
  return words;
}

Words kinds() {
  Words words = page_names();
  words.insert(words.begin(), kMembers);
  return words;
}

constexpr Option kKind{
    .names = "KIND", .words = &kinds, .help = "A page of the manual, or the members of an archive"};
constexpr Option kArchive{.names = "FILE", .help = "An archive, for members"};
constexpr std::array kPositionals{Positional{&kKind, Arity::required},
                                  Positional{&kArchive, Arity::optional}};
constexpr std::array<std::string_view, 2> kForms{"KIND", "members FILE"};
constexpr std::array kOptions{&kHelp};

// clang-format off
constexpr Option kShell{
    .names = "SHELL", .words = &shell_names,
    .help = "bash, zsh or fish",
    .details = R"(The shell for which the completions are printed.)"};
// clang-format on
constexpr std::array kShellPositionals{Positional{&kShell, Arity::required}};
constexpr std::array<std::string_view, 1> kShellForms{"SHELL"};
constexpr std::string_view kShellFooter = R"(
Examples:
  source <(clipper completion bash)                  # a line of ~/.bashrc
  clipper completion zsh >~/.zfunc/_clipper          # a directory of $fpath
  clipper completion fish >~/.config/fish/completions/clipper.fish
)";

CommandSpecs only_public(CommandSpecs commands) {
  std::erase_if(commands, [](const CommandSpec* command) { return !command->is_public; });
  return commands;
}

}  // namespace

constexpr CommandSpec kGenerateSpec{
    .name = "--generate",
    .summary = "print a file for packages",
    .description = "Prints a page of the manual, for packages, or what completes FILE:MEMBER.",
    .forms = kForms,
    .positionals = kPositionals,
    .options = kOptions,
    .is_public = false,
};

constexpr CommandSpec kCompletionSpec{
    .name = "completion",
    .summary = "print the completions for bash, zsh or fish",
    .description =
        "Prints what a shell loads to complete commands, options, their values, files and the members of "
        "archives.",
    .forms = kShellForms,
    .footer = kShellFooter,
    .positionals = kShellPositionals,
    .options = kOptions,
};

int generate_file(const RawOptions& raw, CommandSpecs commands) {
  const bool is_members = raw.text(kKind) == kMembers;
  if (is_members != raw.has(kArchive))
    throw Error(ErrorKind::usage,
                is_members ? "--generate members: FILE is missing" : "--generate: only members takes a FILE");
  if (is_members) {
    print(members_of(raw.text(kArchive)));
    return 0;
  }
  print(manual(raw.text(kKind), only_public(std::move(commands))));
  return 0;
}

int print_completions(const RawOptions& raw, CommandSpecs commands) {
  const auto* const shell = std::ranges::find(kShells, std::string_view(raw.text(kShell)), &Shell::name);
  print(shell->completions(only_public(std::move(commands))));
  return 0;
}

}  // namespace clipper
