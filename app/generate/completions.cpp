#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/command_spec.hpp"
#include "command_line/shared_options.hpp"
#include "console/terminal.hpp"
#include "element/text.hpp"
#include "error.hpp"
#include "files/input_file.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"

namespace clipper {
namespace {

// Each script calls `clipper __complete` with the line before and behind the cursor: see print_candidates().

constexpr std::string_view kBash =
    R"text(# Completions for clipper, written by clipper completion bash.
_clipper() {
  local IFS=$' \t\n' lines patterns pattern word
  mapfile -t lines < <(clipper __complete "${COMP_LINE:0:COMP_POINT}" "${COMP_LINE:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
  read -ra patterns <<<"${lines[0]}"
  COMPREPLY=()
  if ((${#patterns[@]})); then
    mapfile -t COMPREPLY < <(compgen -d ${lines[1]:+-S /} -- "${lines[2]}"; for pattern in "${patterns[@]}"; do compgen -f -X "!$pattern" -- "${lines[2]}"; done)
    if [[ ${lines[1]} ]]; then  # compopt -o filenames would quote the @
      [[ ${COMPREPLY[*]} != */ ]] || compopt -o nospace
      ((${#COMPREPLY[@]} == 0)) || mapfile -t COMPREPLY < <(printf -- "${lines[1]}%q\n" "${COMPREPLY[@]}")
    else
      compopt -o filenames
    fi
  fi
  for word in "${lines[@]:3}"; do printf -v word %q "${word%%$'\t'*}"; COMPREPLY+=("$word"); done
}
complete -F _clipper clipper
)text";

constexpr std::string_view kZsh = R"text(#compdef clipper
# Written by clipper completion zsh.
_clipper() {
  local -a candidates lines=("${(@f)$(clipper __complete "$words[1,CURRENT-1] $QIPREFIX$PREFIX" "$SUFFIX$QISUFFIX $words[CURRENT+1,-1]" 2>/dev/null)}")
  local line result=1
  for line in $lines[4,-1]; do
    candidates+=("${${${line%%$'\t'*}//\\/\\\\}//:/\\:}:${line#*$'\t'}")
  done
  (( $#candidates )) && _describe -t values value candidates && result=0
  [[ -n $lines[1] ]] || return result
  compset -p $#lines[2]
  if [[ $lines[1] == '*/' ]]; then _files -/; else _files -g $lines[1]; fi && result=0
  return result
}
if [[ $funcstack[1] == _clipper ]]; then _clipper "$@"; else compdef _clipper clipper; fi
)text";

constexpr std::string_view kFish = R"text(# Completions for clipper, written by clipper completion fish.
function __clipper
    set --local before (commandline --current-process --cut-at-cursor | string collect)
    set --local all (commandline --current-process | string collect)
    set --local behind (string sub --start (math 1 + (string length -- "$before")) -- "$all" | string collect)
    set --local lines (clipper __complete "$before" "$behind" 2>/dev/null)
    set --query lines[4]; and printf '%s\n' $lines[4..-1]
    test -n "$lines[1]"; and set --local files (complete --do-complete "__fish_command_without_completions $lines[3]")
    set --query files[1]; or return
    for pattern in '*/' (string split ' ' -- $lines[1])
        string match -- $pattern $files | string replace --regex -- '^' "$lines[2]"
    end
end
complete --command clipper --no-files --arguments '(__clipper)'
)text";

/// A word as a shell reads it.
struct Word {
  std::string raw{};     ///< as it is typed
  std::string text{};    ///< without the quotes
  std::size_t cut = 0;   ///< where in `text` what the shell replaces begins
  bool is_open = false;  ///< a quote is not closed
};

/// The words of a line. The last one, which may be empty, has no end yet. bash completes what comes after the
/// last of `breaks` ($COMP_WORDBREAKS) in a word, but from an @ on.
std::vector<Word> words_of(std::string_view line, std::string_view breaks = "") {
  constexpr std::string_view kBetween = " \t\n<>";
  std::vector<Word> words(1);
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '\0' && kBetween.find(c) != kBetween.npos) {
      if (!words.back().raw.empty()) words.emplace_back();
      continue;
    }
    Word& word = words.back();
    word.raw += c;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      word.raw += line[++i];
      word.text += line[i];
    } else {
      word.text += c;
      if (quote == '\0' && breaks.find(c) != breaks.npos) word.cut = word.text.size() - (c == '@' ? 1 : 0);
    }
    word.is_open = quote != '\0';
  }
  return words;
}

/// What a shell is told: see print_candidates().
class Answer {
 public:
  Answer(const Word& typed, bool is_bash) : typed_(typed), is_bash_(is_bash) {}

  /// Offers a word in place of the typed one, unless a terminal cannot show it. bash does not compare the
  /// two.
  void add(const std::string& word, std::string_view help = "") {
    if (word != escape_for_terminal(word)) return;
    if (is_bash_ && (typed_.is_open || word.size() == typed_.cut || !word.starts_with(typed_.text))) return;
    words_ += fmt::format("{}\t{}\n", word.substr(typed_.cut), help);
  }

  /// Offers files, whose names begin at `begin` of the typed word.
  void add_files(std::size_t begin, std::string patterns) {
    const std::string before = typed_.text.substr(0, begin);
    if (typed_.cut > begin || !typed_.raw.starts_with(before) || typed_.raw.find('\n') != std::string::npos)
      return;
    patterns_ = std::move(patterns);
    before_ = before.substr(typed_.cut);
    file_ = typed_.raw.substr(begin);
  }

  [[nodiscard]] std::string text() const {
    return fmt::format("{}\n{}\n{}\n{}", patterns_, before_, file_, words_);
  }

 private:
  const Word& typed_;
  bool is_bash_;
  std::string patterns_;
  std::string before_;
  std::string file_;
  std::string words_;
};

std::string tensor_patterns() {
  std::vector<std::string> patterns;
  for (const Format& format : formats())
    if (!format.pattern.empty()) patterns.push_back(fmt::format("*.{}", format.pattern));
  return joined(patterns, " ");
}

/// The path with the user's directory in place of ~.
std::string with_home(const std::string& path) {
  const char* const home = std::getenv("HOME");
  return home != nullptr && path.starts_with("~/") ? home + path.substr(1) : path;
}

/// Offers the members of an archive behind `before`; none of other files.
void add_members(Answer& answer, const std::string& before, const std::string& path) try {
  const Format* const format = format_named(path);
  if (format == nullptr || !format->has_entries()) return;
  const InputFile file = InputFile::open_regular(path);
  if (!is_archive(file)) return;
  const Container archive(file);
  for (const Entry& member : archive.entries()) answer.add(before + std::string(member.key()));
} catch (const Error&) {
}

/// Offers files of tensors or, if FILE: is typed, the members of this archive.
void add_tensors(Answer& answer, const std::string& typed, std::size_t begin) {
  const auto parts = member_path(with_home(typed.substr(begin)));
  if (!parts) return answer.add_files(begin, tensor_patterns());
  add_members(answer, typed.substr(0, typed.size() - parts->member.size()), parts->archive);
}

/// Offers what can stand from `begin` of the typed word on, the value of `option`.
void add_values(Answer& answer, const Option& option, const std::string& typed, std::size_t begin,
                const std::vector<std::string>& others) {
  const std::string before = typed.substr(0, begin);
  if (option.words != nullptr) {
    for (const std::string_view word : option.words()) answer.add(before + std::string(word));
    return;
  }
  switch (option.value) {
    case Value::text: return;
    case Value::number: return typed.substr(begin, 1) == "@" ? add_tensors(answer, typed, begin + 1) : void();
    case Value::tensor: return add_tensors(answer, typed, begin);
    case Value::member:
      for (const std::string& other : others) add_members(answer, before, with_home(other));
      return;
    case Value::file: return answer.add_files(begin, "*");
    case Value::directory: return answer.add_files(begin, "*/");
  }
}

/// Offers the options that --help shows, without those that do not go with the `given` ones.
void add_options(Answer& answer, const CommandSpec& spec, const std::vector<const Option*>& given) {
  for (const Option* const option : spec.options) {
    const auto excludes = [&](const Option* other) { return exclude_each_other(*option, *other); };
    if (option->group == kHidden || std::ranges::any_of(given, excludes)) continue;
    for (const std::string_view name : names_of(*option)) answer.add(std::string(name), option->help);
  }
}

/// Where the value begins in a word that begins with a dash; nowhere in the name of an option.
std::size_t value_begin(const CommandSpec& spec, const std::string& word) {
  if (word.starts_with("--")) return word.find('=') == word.npos ? word.npos : word.find('=') + 1;
  const Option* const option = option_named(spec, word.substr(0, 2));
  return word.size() > 2 && option != nullptr && needs_value(*option) ? 2 : word.npos;
}

/// The parser says what the typed word is: in place of it stands a word that nobody types.
std::string answer_to(std::string_view line, std::string_view behind, std::string_view breaks,
                      const CommandSpecs& commands) {
  constexpr std::string_view kHere = "\x1f";
  const std::vector<Word> words = words_of(line, breaks);
  if (words.size() < 2) return "";
  const Word& typed = words.back();
  std::vector<std::string> texts;
  for (const Word& word : std::span(words).first(words.size() - 1)) texts.push_back(word.text);
  const CommandSpec* const named = texts.size() > 1 ? command_named(commands, texts[1]) : nullptr;
  const CommandSpec& spec = named != nullptr ? *named : *commands.front();
  if (named != nullptr) texts.erase(texts.begin());
  const bool is_dashed = typed.text.starts_with('-') && std::ranges::find(texts, "--") == texts.end();
  const std::size_t begin = is_dashed ? value_begin(spec, typed.text) : 0;
  if (begin != typed.text.npos) texts.push_back(typed.text.substr(0, begin).append(kHere));
  for (const Word& word : words_of(behind.substr(std::min(behind.find(' '), behind.size()))))
    if (!word.raw.empty()) texts.push_back(word.text);
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  const RawOptions raw = CommandLine(spec, pointers).typed();
  Answer answer(typed, !breaks.empty());
  if (begin == typed.text.npos) add_options(answer, spec, raw.given());
  std::vector<const Option*> all(spec.options.begin(), spec.options.end());
  for (const Positional& positional : spec.positionals) all.push_back(positional.option);
  for (const Option* const option : all)
    if (std::ranges::find(raw.texts(*option), kHere) != raw.texts(*option).end())
      add_values(answer, *option, typed.text, begin, texts);
  if (words.size() == 2 && !is_dashed)
    for (const CommandSpec* const command : std::span(commands).subspan(1))
      answer.add(std::string(command->name), command->summary);
  return answer.text();
}

struct Shell {
  std::string_view name;
  std::string_view script;
};

constexpr std::array kShells{Shell{"bash", kBash}, Shell{"zsh", kZsh}, Shell{"fish", kFish}};

Words file_names() {
  Words names = page_names();
  names.push_back(kSchemaName);
  return names;
}

constexpr Option kKind{.names = "KIND", .words = &file_names, .help = "A page of the manual, or the schema"};
constexpr std::array kPositionals{Positional{&kKind, Arity::required}};
constexpr std::array<std::string_view, 1> kForms{"KIND"};
constexpr std::array kOptions{&kHelp};

// clang-format off
constexpr Option kShell{
    .names = "SHELL", .words = &words_in<kShells, &Shell::name>,
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

CommandSpecs public_commands() {
  CommandSpecs commands = command_specs();
  std::erase_if(commands, [](const CommandSpec* command) { return !command->is_public; });
  return commands;
}

int generate_file(const RawOptions& raw) {
  const std::string& name = raw.text(kKind);
  print(name == kSchemaName ? json_schema(kClipSpec) : manual(name, public_commands()));
  return 0;
}

int print_completions(const RawOptions& raw) {
  print(std::string(std::ranges::find(kShells, std::string_view(raw.text(kShell)), &Shell::name)->script));
  return 0;
}

}  // namespace

constexpr CommandSpec kGenerateSpec{
    .run = &generate_file,
    .name = "--generate",
    .summary = "print a file for packages",
    .description = "Prints a page of the manual or the JSON Schema, for packages.",
    .forms = kForms,
    .positionals = kPositionals,
    .options = kOptions,
    .is_public = false,
};

constexpr CommandSpec kCompletionSpec{
    .run = &print_completions,
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

int print_candidates(std::span<const char* const> words) try {
  const auto word = [&](std::size_t i) { return std::string_view(i < words.size() ? words[i] : ""); };
  print(answer_to(word(0), word(1), word(2), public_commands()));
  return 0;
} catch (const std::exception&) {
  return 0;
}

}  // namespace clipper
