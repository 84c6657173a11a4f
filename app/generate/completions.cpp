#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "console/terminal.hpp"
#include "element/text.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "files/formats.hpp"
#include "files/input_file.hpp"
#include "generate/generate_command.hpp"

namespace clipper {
namespace {

// The constant parts of the completions. fmt replaces names in braces, and turns two braces into one;
// with_formats() replaces names like @GLOBS@.

constexpr std::string_view kBash =
    R"text(# Completions for clipper, written by clipper completion bash.
_clipper_words() {{
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}}

# Offers directories, and files whose names match one of the patterns.
_clipper_files() {{
  local pattern
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen -d -- "$current"; for pattern; do compgen -f -X "!$pattern" -- "$current"; done)
}}

# Offers @ and a tensor. compopt -o filenames would quote the @.
_clipper_number() {{
  local pattern
  [[ $current == @* ]] || return
  mapfile -t COMPREPLY < <(for pattern in @GLOBS@; do compgen -f -X "!$pattern" -- "${{current#@}}"; done; compgen -S / -d -- "${{current#@}}")
  [[ ${{COMPREPLY[*]}} != */ ]] || compopt -o nospace
  ((${{#COMPREPLY[@]}} == 0)) || mapfile -t COMPREPLY < <(printf '@%q\n' "${{COMPREPLY[@]}}")
}}

# Offers the members of the archive if FILE.npz: or FILE.safetensors: is typed. What is completed begins after the last : or = of the member.
# Keys are compared as text and printed by %q: compgen -W would execute $(...) in them.
_clipper_members() {{
  local line=${{COMP_LINE:0:COMP_POINT}} pattern='(^|[[:blank:]])(--[a-z-]+=)?@?(([^[:blank:]\\"'"'"'`$]|\\.)+\.(@ARCHIVE_REGEX@)):(([^[:blank:]\\]|\\.)*)$'
  [[ $line =~ $pattern ]] || return
  local archive=${{BASH_REMATCH[3]//\\/}} typed=${{BASH_REMATCH[6]}} key
  local before=${{typed%"${{typed##*[:=]}}"}}
  archive=${{archive/#~\//$HOME/}}
  [[ -f $archive ]] || return
  while IFS= read -r key; do
    [[ $key != "${{typed//\\/}}"* ]] || {{ printf -v key %q "$key"; COMPREPLY+=("${{key#"$before"}}"); }}
  done < <(clipper --generate members -- "$archive" 2>/dev/null)
}}

# Offers the members of all archives on the command line.
_clipper_member_names() {{
  local word key typed=${{current//\\/}}
  for word in "${{COMP_WORDS[@]:1}}"; do
    word=${{word//\\/}}
    word=${{word/#~\//$HOME/}}
    [[ $word == *.@(@ARCHIVES@) && -f $word ]] || continue
    while IFS= read -r key; do
      [[ $key != "$typed"* ]] || {{ printf -v key %q "$key"; COMPREPLY+=("$key"); }}
    done < <(clipper --generate members -- "$word" 2>/dev/null)
  done
}}

_clipper() {{
  local IFS=$' \t\n' current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command='' ended='' word
  COMPREPLY=()
  _clipper_members && return
  # COMP_WORDBREAKS makes words of = and @. What is completed begins after =, but at @.
  if [[ $current == [=@] || $current == =@ ]]; then
    current=${{current#=}}
  elif [[ $previous == [=@] || $previous == =@ ]]; then
    current=${{previous#=}}$current
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
)text";

/// What the functions for values that are tensors call.
constexpr std::string_view kZsh = R"text(
# Offers files of tensors, and the members of the archive if FILE.npz: or FILE.safetensors: is typed.
_clipper_tensors() {
  local tensor=$PREFIX archive='*.(@ARCHIVES@):'
  if [[ $PREFIX != ${~archive}* ]]; then
    _files -g "*.(@TENSORS@)"
    return
  fi
  compset -P 1 $archive
  archive=${(Q)${tensor%:$PREFIX}}
  archive=${archive/#\~\//$HOME/}
  local -a keys=(${(f)"$(clipper --generate members -- $archive 2>/dev/null)"})
  local -a expl
  _wanted members expl member compadd -a keys
}

# Offers the members of all archives on the command line.
_clipper_member_names() {
  local -a keys expl
  local word
  for word in ${(Q)words}; do
    [[ $word != *.(@ARCHIVES@) ]] || keys+=(${(f)"$(clipper --generate members -- ${word/#\~\//$HOME/} 2>/dev/null)"})
  done
  _wanted members expl member compadd -a keys
}
)text";

constexpr std::string_view kFish =
    R"text(# Completions for clipper, written by clipper completion fish.
function __clipper_command_is --argument-names expected
    set --local words (commandline --tokenize --cut-at-cursor --current-process)
    set --local command ''
    test (count $words) -gt 1; and contains -- $words[2] {commands}; and set command $words[2]
    test "$command" = "$expected"
end

# The part of an option's value, or of a word, that was typed.
function __clipper_value
    commandline --current-token | string replace --regex '^--[^=]*=' ''
end

# Offers files of tensors, and the members of the archive if FILE.npz: or FILE.safetensors: is typed.
function __clipper_tensors --argument-names typed
    if set --local parts (string unescape -- "$typed" | string match --regex '^(.*?\.(?:@ARCHIVE_REGEX@)):')
        printf '%s\n' "$parts[2]:"(clipper --generate members -- (string replace --regex '^~/' "$HOME/" -- "$parts[2]") 2>/dev/null)
    else
        __fish_complete_suffix "$typed" .npz | string match --regex '^.*(?:\.(?:@TENSOR_REGEX@)|/)$'
    end
end

# Offers the members of all archives on the command line.
function __clipper_member_names
    for word in (string unescape -- (commandline --tokenize --current-process) | string match --regex '^.*\.(?:@ARCHIVE_REGEX@)$')
        clipper --generate members -- (string replace --regex '^~/' "$HOME/" -- "$word") 2>/dev/null
    end
end

# Offers @ and a tensor.
function __clipper_number
    set --local typed (__clipper_value)
    string match --quiet '@*' -- "$typed"; and __clipper_tensors (string sub --start 2 -- "$typed") | string replace --regex '^' '@'
end

complete --command clipper --no-files
)text";

std::string replaced(std::string text, std::string_view name, std::string_view by) {
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + by.size()))
    text.replace(at, name.size(), by);
  return text;
}

/// The text with the names of files of the formats in place of @NAME@.
std::string with_formats(std::string text) {
  std::vector<std::string> tensors;
  std::vector<std::string> archives;
  std::vector<std::string> globs;
  for (const Format& format : formats()) {
    if (format.pattern.empty()) continue;
    tensors.emplace_back(format.pattern);
    if (format.has_entries()) archives.emplace_back(format.pattern);
    globs.push_back(fmt::format("'*.{}'", format.pattern));
  }
  const auto regex = [](const std::vector<std::string>& patterns) {
    return replaced(replaced(joined(patterns, "|"), ".", "\\."), "*", "[^/:[:blank:]]*");
  };
  text = replaced(std::move(text), "@GLOBS@", joined(globs, " "));
  text = replaced(std::move(text), "@TENSORS@", joined(tensors, "|"));
  text = replaced(std::move(text), "@ARCHIVES@", joined(archives, "|"));
  text = replaced(std::move(text), "@TENSOR_REGEX@", regex(tensors));
  return replaced(std::move(text), "@ARCHIVE_REGEX@", regex(archives));
}

/// What each shell offers for a value.
struct Offer {
  std::string_view bash;
  std::string_view zsh;
  std::string_view fish;
};

Offer offer_of(Value value) {
  switch (value) {
    case Value::text: return {"", " ", "--exclusive"};
    case Value::number:
      return {"_clipper_number", "{compset -P @ && _clipper_tensors}",
              "--exclusive --arguments '(__clipper_number)'"};
    case Value::tensor:
      return {"_clipper_files @GLOBS@", "_clipper_tensors",
              "--exclusive --arguments '(__clipper_tensors (__clipper_value))'"};
    case Value::member:
      return {"_clipper_member_names", "_clipper_member_names",
              "--exclusive --arguments '(__clipper_member_names)'"};
    case Value::file: return {"_clipper_files '*'", "_files", "--require-parameter --force-files"};
    case Value::directory:
      return {"_clipper_files", "_files -/",
              "--exclusive --arguments '(__fish_complete_directories (__clipper_value))'"};
  }
  __builtin_unreachable();
}

std::string joined_words(const Option& option) {
  return joined(option.words(), " ");
}

/// The names of all commands but the first, which has none.
std::string names_after_main(const CommandSpecs& commands, std::string_view separator) {
  std::vector<std::string_view> names;
  for (const CommandSpec* const command : std::span(commands).subspan(1)) names.push_back(command->name);
  return joined(names, separator);
}

/// The positional whose values bash and fish offer for all positionals: their scripts do not count words.
const Option& positional_of(const CommandSpec& command) {
  return *command.positionals.front().option;
}

/// Inserts `escape` before each character of `special`, for text between quotes.
std::string escaped(std::string_view text, std::string_view special, std::string_view escape = "\\") {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += escape;
    result += c;
  }
  return result;
}

std::string bash_action(const Option& option) {
  return option.words == nullptr ? std::string(offer_of(option.value).bash)
                                 : fmt::format("_clipper_words '{}'", joined_words(option));
}

std::string bash_value(const CommandSpec& command, const Option& option) {
  std::vector<std::string> patterns;
  for (const std::string_view name : names_of(option))
    patterns.push_back(fmt::format("{},{}", command.name, name));
  const std::string action = bash_action(option);
  return fmt::format("    {}) {}{}return ;;\n", joined(patterns, " | "), action, action.empty() ? "" : "; ");
}

/// The names of all options that --help shows.
std::string visible_names(const CommandSpec& command) {
  std::vector<std::string_view> names;
  for (const Option* const option : command.options)
    if (option->group != kHidden)
      for (const std::string_view name : names_of(*option)) names.push_back(name);
  return joined(names, " ");
}

std::string zsh_action(const Option& option) {
  return option.words == nullptr ? std::string(offer_of(option.value).zsh)
                                 : fmt::format("({})", joined_words(option));
}

/// The names that cannot follow the option: its own, then the sorted names of the options that it excludes.
std::vector<std::string_view> names_after(const CommandSpec& command, const Option& option) {
  std::vector<std::string_view> excluded;
  for (const Option* const other : command.options)
    if (exclusion(option, *other) != nullptr || exclusion(*other, option) != nullptr)
      for (const std::string_view name : names_of(*other)) excluded.push_back(name);
  std::sort(excluded.begin(), excluded.end());
  std::vector<std::string_view> names = names_of(option);
  names.insert(names.end(), excluded.begin(), excluded.end());
  return names;
}

std::string zsh_option(const CommandSpec& command, const Option& option) {
  const bool takes_value = needs_value(option);
  std::vector<std::string> names;
  for (const std::string_view name : names_of(option))
    names.push_back(fmt::format("{}{}", name, !takes_value ? "" : name.starts_with("--") ? "=" : "+"));
  const std::string help = escaped(escaped(option.help, "\\[]"), "'", R"('\')");
  const std::string value = takes_value ? fmt::format(":{}:{}", option.type, zsh_action(option)) : "";
  return fmt::format(
      "'{}({})'{}'[{}]{}'", option.group == kHidden ? "!" : "", joined(names_after(command, option), " "),
      names.size() > 1 ? fmt::format("{{{}}}", joined(names, ",")) : names.front(), help, value);
}

std::string zsh_arguments(const CommandSpec& command) {
  std::string text = "_arguments -s -S";
  for (const Option* const option : command.options) text += " \\\n    " + zsh_option(command, *option);
  std::size_t place = 0;
  for (const auto& [option, arity] : command.positionals)
    text += fmt::format(" \\\n    '{}:{}:{}'", arity == Arity::many ? "*" : std::to_string(++place),
                        option->names, zsh_action(*option));
  return text;
}

std::string fish_value(const Option& option) {
  return option.words == nullptr ? fmt::format(" {}", offer_of(option.value).fish)
                                 : fmt::format(" --exclusive --arguments '{}'", joined_words(option));
}

std::string fish_option(const CommandSpec& command, const Option& option) {
  const std::vector<std::string_view> names = names_of(option);
  std::string text = fmt::format(
      "complete --command clipper --condition '__clipper_command_is \"{}\"{}'", command.name,
      option.group == kHidden ? fmt::format("; and __fish_prev_arg_in {}", joined(names, " ")) : "");
  for (const std::string_view name : names)
    text += name.starts_with("--") ? fmt::format(" --long-option {}", name.substr(2))
                                   : fmt::format(" --short-option {}", name.substr(1));
  return text + (needs_value(option) ? fish_value(option) : "") +
         fmt::format(" --description '{}'\n", escaped(option.help, "\\'"));
}

std::string fish_command(const CommandSpec& command) {
  std::string text;
  if (!command.name.empty())
    text += fmt::format(
        "complete --command clipper --condition 'test (count (commandline --tokenize --cut-at-cursor "
        "--current-process)) -eq 1' --arguments {} --description '{}'\n",
        command.name, escaped(command.summary, "\\'"));
  if (!command.positionals.empty())
    text += fmt::format("complete --command clipper --condition '__clipper_command_is \"{}\"'{}\n",
                        command.name, fish_value(positional_of(command)));
  for (const Option* const option : command.options) text += fish_option(command, *option);
  return text;
}

}  // namespace

std::string bash_completions(const CommandSpecs& commands) {
  std::string values;
  std::string options;
  std::string positionals;
  for (const CommandSpec* const command : commands) {
    for (const Option* const option : command->options)
      if (needs_value(*option)) values += bash_value(*command, *option);
    options += fmt::format("      '{}') _clipper_words '{}' ;;\n", command->name, visible_names(*command));
    if (!command->positionals.empty())
      positionals += fmt::format("    '{}') {} ;;\n", command->name, bash_action(positional_of(*command)));
  }
  using namespace fmt::literals;
  const std::string text = fmt::format(
      kBash, "commands"_a = names_after_main(commands, " | "), "values"_a = values, "options"_a = options,
      "positionals"_a = positionals, "command_words"_a = names_after_main(commands, " "));
  return with_formats(text);
}

std::string zsh_completions(const CommandSpecs& commands) {
  std::string cases;
  std::string rows;
  for (const CommandSpec* const command : std::span(commands).subspan(1)) {
    cases += fmt::format("  {})\n    shift words\n    (( CURRENT-- ))\n    {}\n    return\n    ;;\n",
                         command->name, zsh_arguments(*command));
    rows += fmt::format(" '{}:{}'", command->name, escaped(command->summary, "'", R"('\')"));
  }
  return with_formats(fmt::format(
      "#compdef clipper\n# Written by clipper completion zsh.\n{}\n_clipper() {{\nlocal result=1\n"
      "(( CURRENT > 2 )) && case $words[2] in\n{}esac\n"
      "if (( CURRENT == 2 )); then\n  local -a commands=({})\n"
      "  _describe -t commands command commands && result=0\nfi\n"
      "{} && result=0\nreturn result\n}}\n\n"
      "if [[ $funcstack[1] == _clipper ]]; then\n  _clipper \"$@\"\nelse\n  compdef _clipper clipper\nfi\n",
      kZsh, cases, rows, zsh_arguments(*commands.front())));
}

std::string fish_completions(const CommandSpecs& commands) {
  using namespace fmt::literals;
  std::string text = fmt::format(kFish, "commands"_a = names_after_main(commands, " "));
  for (const CommandSpec* const command : commands) text += fish_command(*command);
  return with_formats(std::move(text));
}

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
  source <(clipper completion zsh)                   # ~/.zshrc, after compinit
  clipper completion zsh >~/.zfunc/_clipper          # or a directory of $fpath
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
