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
#include "files/name_for_commands.hpp"

namespace clipper {
namespace {

constexpr std::string_view kIsEmpty = "(is a shell variable empty?)";

/// Whether the value of an option is the next word: of "--output", "-o" and "-vo", but not of "-o-".
bool needs_next_word(const CommandSpec& spec, std::string_view word) {
  if (!word.starts_with('-')) return false;
  if (const Option* const option = option_named(spec, word)) return !option->type.empty();
  for (std::size_t i = 1; i < word.size(); ++i) {
    const Option* const option = option_named(spec, std::string{'-', word[i]});
    if (option == nullptr) return false;
    if (!option->type.empty()) return i + 1 == word.size();
  }
  return false;
}

[[noreturn]] void refuse_option(const CommandSpec& spec, std::string_view word) {
  const std::string_view typed = word.substr(0, word.find('='));
  std::vector<std::string_view> names;
  for (const Option* const option : spec.options) names.push_back(long_name(*option));
  if (const auto meant = nearest_name(typed, names))
    refuse(fmt::format("unknown option {}; did you mean {}?", typed, *meant));
  refuse(fmt::format("unknown option {}; {} --help lists all options", typed, title_of(spec)));
}

/// Refuses a word that is none of the positional's words: "unknown command 'inof'" for COMMAND.
void check_word(const Option& positional, std::string_view text) {
  const std::vector<std::string_view> words = positional.words();
  if (std::ranges::find(words, text) != words.end()) return;
  std::string what = fmt::format("unknown {}", positional.names);
  std::ranges::transform(what, what.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  refuse_unknown(what, text, words);
}

bool is_empty(const RawOption& typed) {
  return std::ranges::find(typed.texts, "") != typed.texts.end();
}

/// Whether a word may be the option, alone or with a value: "--output", "--output=x",
/// "-o", "-vo", "-ox".
bool may_be(std::string_view word, const Option& option) {
  if (word.size() < 2 || word[0] != '-') return false;
  if (word[1] == '-') return word.starts_with(long_name(option));
  const char letter = option.names[1];  // a dash if there is only a long name
  return letter != '-' && word.find(letter) != std::string_view::npos;
}

std::size_t help_columns() {
  constexpr std::size_t kFewest = 40;
  constexpr std::size_t kMost = 100;  // longer lines are hard to read
  return std::clamp(terminal_columns(STDOUT_FILENO), kFewest, kMost);
}

[[noreturn]] void fail_to_print() {
  throw Error(ErrorKind::io, "standard output: cannot be written");
}

}  // namespace

CommandLine::CommandLine(const CommandSpec& spec, std::span<const char* const> words) : spec_(spec) {
  for (const Option* const option : spec.options) typed_[option] = {};
  for (const Positional& positional : spec.positionals) typed_[positional.option] = {};
  split(complete_words(words));
}

/// CLI11 takes the next word, whatever it is, as the value of `--min=` and `--min`: an empty shell variable
/// would consume a file name or an option. CLI11 also takes `--json=false` for a flag that was not given.
std::vector<const char*> CommandLine::complete_words(std::span<const char* const> words) {
  const auto wrong = [&](const std::string& mistake) {
    if (incomplete_.empty()) incomplete_ = mistake;
  };
  std::vector<const char*> complete{words[0]};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") {
      complete.insert(complete.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    const std::string_view name = word.substr(0, word.find('='));
    const Option* const option = name == word ? nullptr : option_named(spec_, name);
    if (option != nullptr && option->type.empty()) {
      wrong(fmt::format("{} takes no value", name));
    } else if (option != nullptr && word.size() == name.size() + 1) {
      wrong(fmt::format("{} has no value {}", name, kIsEmpty));
    } else if (option != nullptr && name == short_name(*option) && name != long_name(*option)) {
      wrong(fmt::format("{0} takes its value without =; write {0} {1}", name,
                        name_for_commands(word.substr(name.size() + 1), option->type)));
    } else if (!needs_next_word(spec_, word)) {
      complete.push_back(words[i]);
    } else if (i + 1 == words.size()) {
      wrong(fmt::format("{} has no value", word));
    } else if (std::string_view(words[i + 1]).starts_with("--")) {
      wrong(fmt::format("{} has no value; {} follows {}", word, words[i + 1], kIsEmpty));
    } else {
      complete.insert(complete.end(), {words[i], words[i + 1]});
      ++i;
    }
  }
  return complete;
}

/// Splits options from values with CLI11. All other words are positional arguments: CLI11 would take the file
/// name "[a,b]" for the names "a" and "b".
void CommandLine::split(const std::vector<const char*>& words) {
  CLI::App app("", title_of(spec_));
  app.set_help_flag();
  app.allow_extras();
  std::map<const Option*, CLI::Option*> added;
  for (const Option* const option : spec_.options) {
    // CLI11 compares each new option with all before it. Adding all options took most of clipper's start.
    if (std::ranges::none_of(words, [&](std::string_view word) { return may_be(word, *option); })) continue;
    const std::string names(option->names);
    added[option] = option->type.empty() ? app.add_flag(names) : app.add_option(names);
    added[option]->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  app.parse(static_cast<int>(words.size()), words.data());
  for (const auto& [option, parsed] : added) {
    RawOption& typed = typed_[option];
    typed.is_given = parsed->count() > 0;
    if (!typed.is_given || option->type.empty()) continue;
    typed.texts = parsed->results();
    typed.text = typed.texts.back();
  }
  const std::vector<CLI::Option*>& order = app.parse_order();
  for (const Option* const one : spec_.options) {
    const Option* const other = option_named(spec_, one->overrides);
    if (other == nullptr || !typed_[one].is_given || !typed_[other].is_given) continue;
    const auto last_place = [&](const Option* option) {
      return std::find(order.rbegin(), order.rend(), added.at(option));
    };
    typed_[last_place(one) < last_place(other) ? other : one] = {};
  }
  take_positionals(app.remaining());
}

void CommandLine::take_positionals(const std::vector<std::string>& words) {
  auto positional = spec_.positionals.begin();
  bool options_have_ended = false;
  for (const std::string& word : words) {
    if (word == "--" && !std::exchange(options_have_ended, true)) continue;
    if (!options_have_ended && word.size() > 1 && word.starts_with('-')) {
      unknown_.push_back(word);
    } else if (positional == spec_.positionals.end()) {
      surplus_.push_back(word);
    } else {
      RawOption& typed = typed_[positional->option];
      typed.is_given = true;
      typed.texts.push_back(word);
      if (positional->arity == Arity::many) continue;
      typed.text = word;
      ++positional;
    }
  }
}

bool CommandLine::has(std::string_view name) const {
  const Option* const option = option_named(spec_, name);
  return option != nullptr && typed_.at(option).is_given;
}

void CommandLine::check() const {
  if (!incomplete_.empty()) refuse(incomplete_);
  for (const Option* const option : spec_.options)
    if (is_empty(typed_.at(option))) refuse(fmt::format("{} has no value {}", long_name(*option), kIsEmpty));
  if (!unknown_.empty()) refuse_option(spec_, unknown_.front());
  for (const auto& [positional, arity] : spec_.positionals) {
    const RawOption& typed = typed_.at(positional);
    if (is_empty(typed)) refuse(fmt::format("{} is an empty name {}", positional->names, kIsEmpty));
    if (!typed.is_given && arity == Arity::required)
      refuse(fmt::format("{} is missing; see {} --help", positional->names, title_of(spec_)));
    if (typed.is_given && positional->words != nullptr) check_word(*positional, typed.text);
  }
  if (!surplus_.empty())
    refuse(fmt::format("unexpected argument '{}'; usage: {}", surplus_.front(), usages_of(spec_).front()));
  for (const Option* const one : spec_.options)
    for (const Option* const other : spec_.options)
      if (excludes(*other, *one) && typed_.at(one).is_given && typed_.at(other).is_given)
        refuse_pair(*one, *other);
}

std::optional<RawOptions> parse(const CommandLine& line, const CommandSpecs& commands) {
  if (line.has("--help")) {
    print_help(line.spec(), commands);
    return std::nullopt;
  }
  if (line.has("--version")) {
    print(version_text());
    return std::nullopt;
  }
  line.check();
  return line.typed();
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
