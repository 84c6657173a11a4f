#include "command_line/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "command_line/command_spec.hpp"
#include "command_line/help.hpp"
#include "command_line/shared_options.hpp"
#include "command_line/values.hpp"
#include "console/progress.hpp"
#include "error.hpp"

namespace clipper {
namespace {

/// CLI11 takes the next word, whatever it is, as the value of `--min=` and `--min`: an empty shell variable
/// would eat a file's name or an option.
void check_values_present(const CommandSpec& spec, std::span<const char* const> words) {
  const std::vector<const Option*> options = options_of(spec);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") return;
    if (word.size() > 3 && word.starts_with("--") && word.ends_with('='))
      refuse(fmt::format("{} has no value behind it (an empty variable?)", word));
    const bool takes_value = std::any_of(options.begin(), options.end(), [&](const Option* option) {
      return option->value != Value::none && long_name(*option) == word;
    });
    if (takes_value && i + 1 < words.size() && std::string_view(words[i + 1]).starts_with("--"))
      refuse(fmt::format("{} has no value: {} follows (an empty variable?)", word, words[i + 1]));
  }
}

/// CLI11's options, which write to the options that were typed when it parses.
class Parser {
 public:
  explicit Parser(const CommandSpec& spec) : app_("", title_of(spec)) {
    app_.set_help_flag();
    for (const Positional& positional : spec.positionals) add(positional);
    for (const OptionGroup& group : spec.groups)
      for (const Option* const option : group.options) {
        add(*option);
        added_.at(option)->group(std::string(group.title));  // CLI11's messages do not name hidden options
      }
    for (const auto& [one, other] : spec.exclusions) added_.at(one)->excludes(added_.at(other));
  }

  RawOptions parse(std::span<const char* const> words) {
    app_.parse(static_cast<int>(words.size()), words.data());
    for (const auto& [option, parsed] : added_)
      if (option->value != Value::none) typed_[option].is_given = parsed->count() > 0;
    return RawOptions(std::move(typed_));
  }

 private:
  void add(const Positional& positional) {
    RawOption& typed = typed_[positional.option];
    const std::string name(positional.option->names);
    CLI::Option* const added = positional.arity == Arity::many ? app_.add_option(name, typed.texts)
                                                               : app_.add_option(name, typed.text);
    added_[positional.option] = added->required(positional.arity == Arity::required);
    if (positional.option->words == nullptr) return;
    const std::vector<std::string_view> words = positional.option->words();
    added->check(CLI::IsMember(std::vector<std::string>(words.begin(), words.end())));
  }

  void add(const Option& option) {
    RawOption& typed = typed_[&option];
    const std::string names(option.names);
    if (&option == &kHelp)
      added_[&option] = app_.set_help_flag(names);
    else if (&option == &kVersion)
      added_[&option] = app_.set_version_flag(names, "clipper " CLIPPER_VERSION);
    else if (option.value == Value::none)
      added_[&option] = app_.add_flag(names, typed.is_given);
    else
      added_[&option] = app_.add_option(names, typed.text)->type_name(value_of(option));
  }

  /// For messages: "WHAT:{error,ignore}".
  static std::string value_of(const Option& option) {
    return option.words == nullptr ? std::string(option.type)
                                   : fmt::format("{}:{{{}}}", option.type, fmt::join(option.words(), ","));
  }

  CLI::App app_;
  std::map<const Option*, CLI::Option*> added_;
  std::map<const Option*, RawOption> typed_;
};

[[noreturn]] void fail_to_print() {
  throw Error(ErrorKind::io, "standard output: cannot be written");
}

}  // namespace

std::optional<RawOptions> parse(const CommandSpec& spec, std::span<const char* const> words) {
  Parser parser(spec);
  check_values_present(spec, words);
  try {
    return parser.parse(words);
  } catch (const CLI::CallForHelp&) {
    print(help_of(spec));
  } catch (const CLI::CallForVersion& version) {
    print(fmt::format("{}\n", version.what()));
  } catch (const CLI::ParseError& error) {
    refuse(fmt::format("{} ({} --help says more)", error.what(), title_of(spec)));
  }
  return std::nullopt;
}

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) fail_to_print();
}

void print(const std::string& text, Progress& progress) {
  if (!progress.print(stdout, text)) fail_to_print();
}

}  // namespace clipper
