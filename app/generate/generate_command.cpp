#include "generate/generate_command.hpp"

#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "console/terminal.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "files/input_file.hpp"

namespace clipper {
namespace {

using Writer = std::string (*)(const CommandSpecs&);

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

const std::map<std::string_view, Writer>& writers() {
  static const std::map<std::string_view, Writer> rows{
      {"bash", &bash_completions}, {"fish", &fish_completions}, {"man", &manual}, {"zsh", &zsh_completions}};
  return rows;
}

std::vector<std::string_view> kinds() {
  std::vector<std::string_view> words{kMembers};
  for (const auto& [kind, writer] : writers()) words.push_back(kind);
  return words;
}

constexpr Option kKind{.names = "KIND",
                       .words = &kinds,
                       .help = "The manual (man), the completions of a shell, or the members of an archive"};
constexpr Option kArchive{.names = "FILE", .help = "An archive, for members"};
constexpr std::array kPositionals{Positional{&kKind, Arity::required},
                                  Positional{&kArchive, Arity::optional}};
constexpr std::array<std::string_view, 2> kForms{"KIND", "members FILE"};
constexpr std::array kOptions{&kHelp};

}  // namespace

constexpr CommandSpec kGenerateSpec{
    .name = "--generate",
    .summary = "print a file for packages",
    .description = "Prints the manual or a shell's completions, for packages, or what completes FILE:MEMBER.",
    .forms = kForms,
    .positionals = kPositionals,
    .options = kOptions,
    .is_public = false,
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
  std::erase_if(commands, [](const CommandSpec* command) { return !command->is_public; });
  print(writers().at(raw.text(kKind))(commands));
  return 0;
}

}  // namespace clipper
