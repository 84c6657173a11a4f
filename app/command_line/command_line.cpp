#include "command_line/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "command_line/command_spec.hpp"
#include "command_line/help.hpp"
#include "command_line/nearest_name.hpp"
#include "command_line/shared_options.hpp"
#include "command_line/values.hpp"
#include "command_line/version.hpp"
#include "console/progress.hpp"
#include "console/terminal.hpp"
#include "error.hpp"

namespace clipper {
namespace {

constexpr std::string_view kIsEmpty = "(is a shell variable empty?)";

/// CLI11 takes the next word, whatever it is, as the value of `--min=` and `--min`: an empty shell variable
/// would consume a file name or an option. CLI11 also takes `--json=false` for a flag that was not given.
void check_values(const CommandSpec& spec, std::span<const char* const> words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") return;
    const std::string_view name = word.substr(0, word.find('='));
    const Option* const option = option_named(spec, name);
    if (option == nullptr) continue;
    const bool takes_value = option->value != Value::none;
    if (name != word) {
      if (!takes_value) refuse(fmt::format("{} takes no value", name));
      if (word.size() == name.size() + 1) refuse(fmt::format("{} has no value {}", name, kIsEmpty));
    } else if (takes_value) {
      if (++i == words.size()) refuse(fmt::format("{} has no value", name));
      if (std::string_view(words[i]).starts_with("--"))
        refuse(fmt::format("{} has no value; {} follows {}", name, words[i], kIsEmpty));
    }
  }
}

[[noreturn]] void refuse_option(const CommandSpec& spec, std::string_view word) {
  const std::string_view typed = word.substr(0, word.find('='));
  std::vector<std::string_view> names;
  for (const Option* const option : options_of(spec)) names.push_back(long_name(*option));
  if (const auto meant = nearest_name(typed, names))
    refuse(fmt::format("unknown option {}; did you mean {}?", typed, *meant));
  refuse(fmt::format("unknown option {}; {} --help lists all options", typed, title_of(spec)));
}

/// Refuses a value that is none of the positional's words: "unknown command 'inof'" for COMMAND.
void check_word(const Option& positional, std::string_view text) {
  const std::vector<std::string_view> words = positional.words();
  if (std::ranges::find(words, text) != words.end()) return;
  std::string what = fmt::format("unknown {}", positional.names);
  std::ranges::transform(what, what.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  refuse_unknown(what, text, words);
}

/// Whether a word that begins with a dash may be the option, alone or with a value: "--output", "--output=x",
/// "-o", "-vo", "-ox".
bool may_be(std::string_view word, const Option& option) {
  if (word[1] == '-') return word.starts_with(long_name(option));
  const char letter = option.names[1];  // a dash if there is only a long name
  return letter != '-' && word.find(letter) != std::string_view::npos;
}

/// Parses options with CLI11. All other words are left to this class: as positional arguments, CLI11 would
/// take the file name "[a,b]" for the names "a" and "b".
class Parser {
 public:
  Parser(const CommandSpec& spec, std::span<const char* const> words)
      : spec_(spec), app_("", title_of(spec)) {
    app_.set_help_flag();
    app_.allow_extras();
    std::vector<std::string_view> dashed;
    for (const std::string_view word : words)
      if (word.size() > 1 && word[0] == '-') dashed.push_back(word);
    // CLI11 compares each new option with all before it. Adding all options took most of clipper's start.
    for (const Option* const option : options_of(spec)) {
      typed_[option] = {};
      if (std::ranges::any_of(dashed, [&](std::string_view word) { return may_be(word, *option); }))
        add(*option);
    }
  }

  void parse(std::span<const char* const> words) {
    try {
      app_.parse(static_cast<int>(words.size()), words.data());
    } catch (const CLI::ParseError&) {  // only one error is possible: the last option lacks its value
      refuse(fmt::format("{} has no value", words.back()));
    }
  }

  [[nodiscard]] bool has(const Option& option) const {
    const auto added = added_.find(&option);
    return added != added_.end() && added->second->count() > 0;
  }

  [[nodiscard]] RawOptions options() {
    for (const auto& [option, added] : added_) {
      RawOption& typed = typed_[option];
      typed.is_given = added->count() > 0;
      if (!typed.is_given || option->value == Value::none) continue;
      typed.texts = added->results();
      typed.text = typed.texts.back();
      if (std::ranges::find(typed.texts, "") != typed.texts.end())
        refuse(fmt::format("{} has no value {}", long_name(*option), kIsEmpty));
    }
    for (const auto& [one, other] : spec_.overrides)
      if (has(*one) && has(*other)) typed_[first_of(one, other)] = {};
    take_positionals();
    for (const auto& [one, other] : spec_.exclusions)
      if (typed_[one].is_given && typed_[other].is_given) refuse_pair(*one, *other);
    return RawOptions(std::move(typed_));
  }

 private:
  void add(const Option& option) {
    const std::string names(option.names);
    added_[&option] = option.value == Value::none ? app_.add_flag(names) : app_.add_option(names);
    added_[&option]->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }

  /// Which of two options was not typed last.
  [[nodiscard]] const Option* first_of(const Option* one, const Option* other) const {
    const std::vector<CLI::Option*>& order = app_.parse_order();
    const auto last_place = [&](const Option* option) {
      return std::find(order.rbegin(), order.rend(), added_.at(option));
    };
    return last_place(one) < last_place(other) ? other : one;
  }

  void take_positionals() {
    for (const Positional& positional : spec_.positionals) typed_[positional.option] = {};
    auto positional = spec_.positionals.begin();
    bool options_have_ended = false;
    for (const std::string& word : app_.remaining()) {
      if (word == "--" && !std::exchange(options_have_ended, true)) continue;
      if (!options_have_ended && word.size() > 1 && word.starts_with('-')) refuse_option(spec_, word);
      if (positional == spec_.positionals.end())
        refuse(fmt::format("unexpected argument '{}'; usage: {}", word, usages_of(spec_).front()));
      take(*positional, word);
      if (positional->arity != Arity::many) ++positional;
    }
    if (positional != spec_.positionals.end() && positional->arity == Arity::required)
      refuse(fmt::format("{} is missing; see {} --help", positional->option->names, title_of(spec_)));
  }

  void take(const Positional& positional, const std::string& word) {
    const Option& option = *positional.option;
    if (word.empty()) refuse(fmt::format("{} is an empty name {}", option.names, kIsEmpty));
    if (option.words != nullptr) check_word(option, word);
    RawOption& typed = typed_[&option];
    typed.is_given = true;
    if (positional.arity == Arity::many)
      typed.texts.push_back(word);
    else
      typed.text = word;
  }

  const CommandSpec& spec_;
  CLI::App app_;
  std::map<const Option*, CLI::Option*> added_;
  std::map<const Option*, RawOption> typed_;
};

std::size_t help_columns() {
  constexpr std::size_t kFewest = 40;
  constexpr std::size_t kMost = 100;  // longer lines are hard to read
  return std::clamp(terminal_columns(STDOUT_FILENO), kFewest, kMost);
}

[[noreturn]] void fail_to_print() {
  throw Error(ErrorKind::io, "standard output: cannot be written");
}

}  // namespace

std::optional<RawOptions> parse(const CommandSpec& spec, std::span<const char* const> words,
                                const CommandSpecs& commands) {
  check_values(spec, words);
  Parser parser(spec, words);
  parser.parse(words);
  if (parser.has(kHelp)) {
    print_help(spec, commands);
    return std::nullopt;
  }
  if (parser.has(kVersion)) {
    print(version_text());
    return std::nullopt;
  }
  return parser.options();
}

void print_help(const CommandSpec& spec, const CommandSpecs& commands) {
  print(help_of(spec, commands, help_columns()));
}

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) fail_to_print();
}

void print(const std::string& text, Progress& progress) {
  if (!progress.print(stdout, text)) fail_to_print();
}

}  // namespace clipper
