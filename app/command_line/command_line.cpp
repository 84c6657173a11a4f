#include "command_line/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "command_line/choices.hpp"
#include "error.hpp"

namespace clipper {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, message);
}

/// CLI11's help without what the usage line and the texts say already.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(28); }

  [[nodiscard]] std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return type.empty() ? "" : " " + type.substr(0, type.find(':'));
  }

  [[nodiscard]] std::string make_group(std::string group, bool is_positional,
                                       std::vector<const CLI::Option*> options) const override {
    std::string text = fmt::format("\n{}:\n", group);
    for (const CLI::Option* option : options) text += make_option(option, is_positional);
    text.pop_back();
    return text;
  }
};

/// CLI11 takes the next word, whatever it is, as the value of `--min=` and `--min`: an empty shell variable
/// would eat a file's name or an option.
void check_values_present(const CLI::App& app, std::span<const char* const> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") return;
    if (word.size() > 3 && word.starts_with("--") && word.ends_with('='))
      refuse(fmt::format("{} has no value behind it (an empty variable?)", word));
    const CLI::Option* const option = app.get_option_no_throw(std::string(word));
    const bool takes_value =
        option != nullptr && word.starts_with("--") && option->get_items_expected_min() > 0;
    if (takes_value && i + 1 < words.size() && std::string_view(words[i + 1]).starts_with("--"))
      refuse(fmt::format("{} has no value: {} follows (an empty variable?)", word, words[i + 1]));
  }
}

bool parse(CLI::App& app, int argc, const char* const* argv) {
  add_help(app);
  check_values_present(app, std::span(argv, static_cast<std::size_t>(argc)));
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::CallForHelp&) {
    print(app.help());
  } catch (const CLI::CallForVersion& version) {
    print(fmt::format("{}\n", version.what()));
  } catch (const CLI::ParseError& error) {
    refuse(fmt::format("{} ({} --help says more)", error.what(), app.get_name()));
  }
  return false;
}

}  // namespace

std::size_t parse_count(std::string_view flag, std::string_view text, std::size_t lowest,
                        std::size_t highest) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < lowest || value > highest)
    refuse(fmt::format("{}: '{}' is not a whole number from {} to {}", flag, text, lowest, highest));
  return value;
}

DType parse_dtype(std::string_view text) {
  if (const std::optional<DType> dtype = dtype_named(text)) return *dtype;
  refuse(fmt::format("--dtype: '{}' is not a dtype that clipper knows", text));
}

unsigned parse_threads(std::string_view text) {
  return static_cast<unsigned>(parse_count("--threads", text, 1, 1024));
}

bool parse_choice(std::string_view flag, std::string_view text, std::string_view first,
                  std::string_view second) {
  if (text != first && text != second)
    refuse(fmt::format("{}: '{}' is not {} or {}", flag, text, first, second));
  return text == second;
}

bool parse_trailing(std::string_view text) {
  return parse_choice("--trailing", text, kTrailingWords[0], kTrailingWords[1]);
}

void suggest(CLI::Option& option, const std::vector<std::string_view>& words) {
  option.check(CLI::Validator(fmt::format("{{{}}}", fmt::join(words, ","))));
}

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    throw Error(ErrorKind::io, "standard output: cannot be written");
}

void add_help(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "Print this help");
}

CLI::Option& add_trailing(CLI::App& app, std::string& text) {
  CLI::Option* const option = app.add_option("--trailing", text, kTrailingHelp);
  option->type_name("WHAT");
  suggest(*option, trailing_words());
  return *option;
}

Parse parse_words(int argc, const char* const* argv) {
  return [=](CLI::App& app) { return parse(app, argc, argv); };
}

}  // namespace clipper
