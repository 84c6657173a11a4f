#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "element/dtype.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// What every command does with the words behind it, and with what it prints.
namespace clipper {

/// What a command hands its options to, complete; it goes on if that returns true.
using Parse = std::function<bool(CLI::App&)>;

/// Lets CLI11 parse these words, argv[0] being the command's own; false when that only printed help or the
/// version. Every mistake becomes Error{usage}. The words must outlive it.
[[nodiscard]] Parse parse_words(int argc, const char* const* argv);

/// The words that the option's value may be, for completions; nothing is checked. In the form of
/// CLI::IsMember's description.
void suggest(CLI::Option& option, const std::vector<std::string_view>& words);

/// What every command has besides its own options.
void add_help(CLI::App& app);

/// --trailing, for a command whose options are no table.
CLI::Option& add_trailing(CLI::App& app, std::string& text);

/// What options give as text. Each throws Error{usage}, which names the option, unless all of it is
/// understood.
[[nodiscard]] std::size_t parse_count(std::string_view flag, std::string_view text, std::size_t lowest,
                                      std::size_t highest);
[[nodiscard]] DType parse_dtype(std::string_view text);       ///< of --dtype
[[nodiscard]] unsigned parse_threads(std::string_view text);  ///< of --threads
[[nodiscard]] bool parse_trailing(std::string_view text);     ///< of --trailing: whether to ignore

/// Whether it is the second word, of two.
[[nodiscard]] bool parse_choice(std::string_view flag, std::string_view text, std::string_view first,
                                std::string_view second);

/// Error{io} if standard output does not take the text.
void print(const std::string& text);

}  // namespace clipper
