#include "generate/generate_command.hpp"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "generate/completions.hpp"
#include "generate/manual.hpp"

namespace clipper {
namespace {

using Writer = std::string (*)(const CommandSpecs&);

const std::map<std::string_view, Writer>& writers() {
  static const std::map<std::string_view, Writer> rows{
      {"bash", &bash_completions}, {"fish", &fish_completions}, {"man", &manual}, {"zsh", &zsh_completions}};
  return rows;
}

std::vector<std::string_view> kinds() {
  std::vector<std::string_view> words;
  for (const auto& [kind, writer] : writers()) words.push_back(kind);
  return words;
}

constexpr Option kKind{"KIND", "The manual (man), or the completions of a shell", {}, Value::words, &kinds};
constexpr std::array kPositionals{Positional{&kKind, Arity::required}};
constexpr std::array<std::string_view, 1> kForms{"KIND"};
constexpr std::array kOptions{&kHelp};
constexpr std::array kGroups{OptionGroup{kGeneralTitle, kOptions}};

}  // namespace

constexpr CommandSpec kGenerateSpec{
    .name = "--generate",
    .summary = "print a file for packages",
    .description = "Prints the manual or a shell's completions, for packages.",
    .forms = kForms,
    .positionals = kPositionals,
    .groups = kGroups,
    .is_public = false,
};

int generate_file(const RawOptions& raw, CommandSpecs commands) {
  std::erase_if(commands, [](const CommandSpec* command) { return !command->is_public; });
  print(writers().at(raw.text(kKind))(commands));
  return 0;
}

}  // namespace clipper
