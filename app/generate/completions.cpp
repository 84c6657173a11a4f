#include "generate/completions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace clipper {
namespace {

/// What the shells offer for a value, by the name that --help has for it; nothing for other names.
struct ValueKind {
  std::string_view value;
  std::string_view bash;
  std::string_view zsh;
  std::string_view fish;
};

constexpr ValueKind kAnything{"", "", " ", "--exclusive"};
constexpr ValueKind kTensor{
    "", "_clipper_files '*.npy'", R"(_files -g "*.npy")",
    R"(--arguments '(__fish_complete_suffix .npy | string match --regex "^.*(?:\\.npy|/)\$")')"};
constexpr std::array kValueKinds{
    ValueKind{"DIR", "_clipper_files ''", "_files -/",
              "--exclusive --arguments '(__fish_complete_directories (commandline --current-token))'"},
    ValueKind{"LIST", "_clipper_files '*'", "_files", "--require-parameter --force-files"},
};

const ValueKind& kind_of(const OptionText& option) {
  for (const ValueKind& kind : kValueKinds)
    if (kind.value == option.value) return kind;
  return kAnything;
}

/// Every shell's name for the commands behind the first.
std::string names_behind_main(const std::vector<CommandText>& commands, std::string_view separator) {
  std::vector<std::string> names;
  for (auto command = commands.begin() + 1; command != commands.end(); ++command)
    names.push_back(command->name);
  return fmt::format("{}", fmt::join(names, separator));
}

/// For use between quotes, with `escape` before every one of `special`.
std::string escaped(std::string_view text, std::string_view special, std::string_view escape = "\\") {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += escape;
    result += c;
  }
  return result;
}

std::string in_bash(const CommandText& command, const OptionText& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) patterns.push_back(fmt::format("{},{}", command.name, name));
  const std::string action = option.words.empty()
                                 ? std::string(kind_of(option).bash)
                                 : fmt::format("_clipper_words '{}'", fmt::join(option.words, " "));
  return fmt::format("    {}) {}{}return ;;\n", fmt::join(patterns, " | "), action,
                     action.empty() ? "" : "; ");
}

/// The names of all options that --help shows.
std::string visible_names(const CommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& option : command.options)
    if (!option.group.empty()) names.insert(names.end(), option.names.begin(), option.names.end());
  return fmt::format("{}", fmt::join(names, " "));
}

constexpr std::string_view kBash = R"(# Completions for clipper, written by clipper --generate bash.
_clipper_words() {{
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}}

# Directories, and the files whose names match the pattern $1.
_clipper_files() {{
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen -d -- "$current"; [[ -z $1 ]] || compgen -f -X "!$1" -- "$current")
}}

_clipper() {{
  local IFS=$' \t\n' current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command='' ended='' word
  COMPREPLY=()
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = ]]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  case ${{COMP_WORDS[1]}} in
    {commands}) ((COMP_CWORD > 1)) && command=${{COMP_WORDS[1]}} ;;
  esac
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ $word == -- ]] && ended=yes
  done
  [[ $ended ]] || case $command,$previous in
{values}  esac
  if [[ ! $ended && $current == -* ]]; then
    case $command in
{options}    esac
    return
  fi
  case $command in
{positionals}  esac
  ((COMP_CWORD > 1)) || mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -W '{command_words}' -- "$current")
}}

complete -F _clipper clipper
)";

std::string zsh_option(const OptionText& option) {
  const bool takes_value = !option.value.empty();
  std::vector<std::string> names;
  for (const std::string& name : option.names)
    names.push_back(name + (!takes_value ? "" : name.starts_with("--") ? "=" : "+"));
  std::vector<std::string> once = option.names;
  once.insert(once.end(), option.excludes.begin(), option.excludes.end());

  const std::string help = escaped(escaped(option.help, "\\[]"), "'", R"('\')");
  const std::string action = option.words.empty() ? std::string(kind_of(option).zsh)
                                                  : fmt::format("({})", fmt::join(option.words, " "));
  const std::string value = takes_value ? fmt::format(":{}:{}", option.value, action) : "";
  return fmt::format("'{}({})'{}'[{}]{}'", option.group.empty() ? "!" : "", fmt::join(once, " "),
                     names.size() > 1 ? fmt::format("{{{}}}", fmt::join(names, ",")) : names.front(), help,
                     value);
}

std::string zsh_arguments(const CommandText& command) {
  std::string text = "_arguments -s -S";
  for (const OptionText& option : command.options) text += " \\\n    " + zsh_option(option);
  for (const OptionText& positional : command.positionals)
    text += fmt::format(" \\\n    '*:{}:{}'", positional.value, kTensor.zsh);
  return text;
}

std::string fish_option(const CommandText& command, const OptionText& option) {
  std::string text = fmt::format(
      "complete --command clipper --condition '__clipper_command_is \"{}\"{}'", command.name,
      option.group.empty() ? fmt::format("; and __fish_prev_arg_in {}", fmt::join(option.names, " ")) : "");
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " --long-option " + name.substr(2) : " --short-option " + name.substr(1);
  if (!option.words.empty())
    text += fmt::format(" --exclusive --arguments '{}'", fmt::join(option.words, " "));
  else if (!option.value.empty())
    text += fmt::format(" {}", kind_of(option).fish);
  return text + fmt::format(" --description '{}'\n", escaped(option.help, "\\'"));
}

}  // namespace

std::string bash_completions(const std::vector<CommandText>& commands) {
  std::string values;
  std::string options;
  std::string positionals;
  for (const CommandText& command : commands) {
    for (const OptionText& option : command.options)
      if (!option.value.empty()) values += in_bash(command, option);
    options += fmt::format("      '{}') _clipper_words '{}' ;;\n", command.name, visible_names(command));
    if (!command.positionals.empty())
      positionals += fmt::format("    '{}') {} ;;\n", command.name, kTensor.bash);
  }
  using namespace fmt::literals;
  return fmt::format(kBash, "commands"_a = names_behind_main(commands, " | "), "values"_a = values,
                     "options"_a = options, "positionals"_a = positionals,
                     "command_words"_a = names_behind_main(commands, " "));
}

std::string zsh_completions(const std::vector<CommandText>& commands) {
  std::string cases;
  std::string rows;
  for (auto command = commands.begin() + 1; command != commands.end(); ++command) {
    cases += fmt::format("  {})\n    shift words\n    (( CURRENT-- ))\n    {}\n    return\n    ;;\n",
                         command->name, zsh_arguments(*command));
    rows += fmt::format(" '{}:{}'", command->name, escaped(command->summary, "'", R"('\')"));
  }
  return fmt::format(
      "#compdef clipper\n# Written by clipper --generate zsh.\n"
      "local result=1\n"
      "(( CURRENT > 2 )) && case $words[2] in\n{}esac\n"
      "if (( CURRENT == 2 )); then\n  local -a commands=({})\n"
      "  _describe -t commands command commands && result=0\nfi\n"
      "{} && result=0\nreturn result\n",
      cases, rows, zsh_arguments(commands.front()));
}

std::string fish_completions(const std::vector<CommandText>& commands) {
  std::string text = fmt::format(
      "# Completions for clipper, written by clipper --generate fish.\n"
      "function __clipper_command_is --argument-names expected\n"
      "    set --local words (commandline --tokenize --cut-at-cursor --current-process)\n"
      "    set --local command ''\n"
      "    test (count $words) -gt 1; and contains -- $words[2] {}; and set command $words[2]\n"
      "    test \"$command\" = \"$expected\"\n"
      "end\n\n"
      "complete --command clipper --no-files\n",
      names_behind_main(commands, " "));
  for (const CommandText& command : commands) {
    if (!command.name.empty())
      text += fmt::format(
          "complete --command clipper --condition 'test (count (commandline --tokenize --cut-at-cursor "
          "--current-process)) -eq 1' --arguments {} --description '{}'\n",
          command.name, escaped(command.summary, "\\'"));
    if (!command.positionals.empty())
      text += fmt::format("complete --command clipper --condition '__clipper_command_is \"{}\"' {}\n",
                          command.name, kTensor.fish);
    for (const OptionText& option : command.options) text += fish_option(command, option);
  }
  return text;
}

}  // namespace clipper
