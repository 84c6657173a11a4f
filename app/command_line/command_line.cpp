#include "command_line/command_line.hpp"

#include <fmt/format.h>

#include <CLI/Split.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "command_line/command_spec.hpp"
#include "command_line/shared_options.hpp"
#include "console/progress.hpp"
#include "console/terminal.hpp"
#include "element/nearest_name.hpp"
#include "error.hpp"
#include "files/descriptor.hpp"
#include "npy/utf8.hpp"
#include "os/os.hpp"

namespace clipper {
namespace {

constexpr std::string_view kIsEmpty = "(is a shell variable empty?)";

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return text;
}

[[noreturn]] void refuse_option(const CommandSpec& spec, std::string_view word) {
  const std::string_view typed = word.substr(0, word.find('='));
  std::vector<std::string_view> names;
  for (const Option* const option : spec.options) names.push_back(long_name(*option));
  if (const auto meant = nearest_name(lower_case(std::string(typed)), names))
    refuse(fmt::format("unknown option {}; did you mean {}?", typed, *meant));
  refuse(fmt::format("unknown option {}; {} --help lists all options", typed, title_of(spec)));
}

/// Refuses a word that is none of the positional's words: "unknown command 'inof'" for COMMAND.
void check_word(const Option& positional, std::string_view text) {
  const std::vector<std::string_view> words = positional.words();
  if (std::ranges::find(words, text) != words.end()) return;
  refuse_unknown("unknown " + lower_case(std::string(positional.names)), text, words);
}

/// Keeps the first mistake of a kind.
void note(std::optional<std::string>& first, const std::string& mistake) {
  if (!first) first = mistake;
}

bool is_empty(const RawOption& typed) {
  return std::ranges::find(typed.texts, "") != typed.texts.end();
}

std::size_t help_columns() {
  constexpr std::size_t kMinColumns = 40;
  constexpr std::size_t kMaxColumns = 100;  // longer lines are hard to read
  return std::clamp(terminal_columns(STDOUT_FILENO), kMinColumns, kMaxColumns);
}

}  // namespace

CommandLine::CommandLine(const CommandSpec& spec, std::span<const char* const> words) : spec_(spec) {
  for (const Option* const option : spec.options) typed_[option] = {};
  for (const Positional& positional : spec.positionals) typed_[positional.option] = {};
  bool options_have_ended = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i];
    if (options_have_ended || word == "-" || !word.starts_with('-'))
      take_positional(word);
    else if (word == "--")
      options_have_ended = true;
    else if (take_options(word, i + 1 < words.size() ? words[i + 1] : nullptr))
      ++i;
  }
}

bool CommandLine::take_options(const std::string& word, const char* next) {
  std::string name;
  std::string value;
  if (CLI::detail::split_long(word, name, value)) {
    name.insert(0, "--");
    const Option* const option = option_named(spec_, name);
    if (option != nullptr && name == word) return take_option(*option, word, next);
    if (option != nullptr)
      take_value_after_equals(*option, name, value);
    else
      note(unknown_, word);
    return false;
  }
  std::string rest = word;
  for (; CLI::detail::split_short(rest, name, value); rest = "-" + value) {
    name.insert(0, "-");
    const Option* const option = option_named(spec_, name);
    if (option == nullptr) break;
    if (value.empty()) return take_option(*option, word, next);
    const bool after_equals = value.starts_with('=') && rest == word;
    if (after_equals)
      take_value_after_equals(*option, name, value.substr(1));
    else
      give(*option, word, value);
    if (after_equals || !option->type.empty()) return false;
  }
  note(unknown_, rest);
  return false;
}

bool CommandLine::take_option(const Option& option, const std::string& word, const char* next) {
  if (!needs_value(option)) {
    give(option, word, std::string(option.implied));
    return false;
  }
  const bool is_value = next != nullptr && !std::string_view(next).starts_with("--");
  if (is_value)
    give(option, word, next);
  else if (next == nullptr)
    note(incomplete_, fmt::format("{} has no value", word));
  else
    note(incomplete_, fmt::format("{} has no value; {} follows {}", word, next, kIsEmpty));
  return is_value;
}

void CommandLine::take_value_after_equals(const Option& option, const std::string& name,
                                          const std::string& value) {
  if (option.type.empty())
    note(incomplete_, fmt::format("{} takes no value", name));
  else if (value.empty())
    note(incomplete_, fmt::format("{} has no value {}", name, kIsEmpty));
  else if (!name.starts_with("--"))
    note(incomplete_, fmt::format("{0} takes its value without =; write {0} {1}", name,
                                  npy::name_for_commands(value, option.type)));
  else
    give(option, name, value);
}

void CommandLine::give(const Option& option, const std::string& word, const std::string& value) {
  for (const Option* const other : spec_.options)
    if (option.overrides == long_name(*other) || other->overrides == long_name(option)) typed_[other] = {};
  RawOption& typed = typed_[&option];
  typed.is_given = true;
  typed.by_long_name = word.starts_with("--");
  if (option.type.empty()) return;
  typed.text = value;
  typed.texts.push_back(value);
}

void CommandLine::take_positional(const std::string& word) {
  if (positionals_ == spec_.positionals.size()) {
    note(surplus_, word);
    return;
  }
  const auto& [positional, arity] = spec_.positionals[positionals_];
  RawOption& typed = typed_[positional];
  typed.is_given = true;
  typed.texts.push_back(word);
  if (arity == Arity::many) return;
  typed.text = word;
  ++positionals_;
}

bool CommandLine::has(std::string_view name) const {
  const Option* const option = option_named(spec_, name);
  return option != nullptr && typed_.at(option).is_given;
}

void CommandLine::print_help(const CommandSpecs& commands) const {
  if (typed_.at(&kHelp).by_long_name)
    clipper::print_help(spec_, commands);
  else
    print(short_help_of(spec_, commands, help_columns()));
}

void CommandLine::check() const {
  if (incomplete_) refuse(*incomplete_);
  for (const Option* const option : spec_.options)
    if (is_empty(typed_.at(option))) refuse(fmt::format("{} has no value {}", long_name(*option), kIsEmpty));
  if (unknown_) refuse_option(spec_, *unknown_);
  for (const auto& [positional, arity] : spec_.positionals) {
    const RawOption& typed = typed_.at(positional);
    if (is_empty(typed)) refuse(fmt::format("{} is an empty name {}", positional->names, kIsEmpty));
    if (!typed.is_given && arity == Arity::required)
      refuse(fmt::format("{} is missing; see {} --help", positional->names, title_of(spec_)));
    if (typed.is_given && positional->words != nullptr) check_word(*positional, typed.text);
  }
  if (surplus_)
    refuse(fmt::format("unexpected argument '{}'; usage: {}", *surplus_, usages_of(spec_).front()));
  std::vector<const Option*> given;
  for (const Option* const option : spec_.options)
    if (typed_.at(option).is_given) given.push_back(option);
  for (const Option* const one : given)
    for (const Option* const other : given)
      if (excludes(*other, *one)) refuse_pair(*one, *other);
}

std::optional<RawOptions> parse(const CommandLine& line, const CommandSpecs& commands) {
  if (line.has("--help")) {
    line.print_help(commands);
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

void fail_to_print(ErrorKind kind) {
  throw Unprintable(kind, fmt::format("standard output: cannot be written: {}", os::error_text(errno)));
}

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) fail_to_print();
}

void print_result(const std::string& text) {
  if (!print_above_progress(stdout, {text})) fail_to_print();
}

}  // namespace clipper
