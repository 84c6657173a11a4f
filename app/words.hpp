#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

/// What every command does with the words behind it, and with what it prints.
namespace clipper {

/// What a command hands its options to, complete; it goes on if that returns true.
using Parse = std::function<bool(CLI::App&)>;

/// Lets CLI11 parse these words, argv[0] being the command's own; false when that only printed help or the
/// version. Every mistake becomes Error{usage}. The words must outlive it.
[[nodiscard]] Parse parse_words(int argc, const char* const* argv);

/// What every command has besides its own options.
void add_help(CLI::App& app);

/// Error{io} if standard output does not take the text.
void print(const std::string& text);

}  // namespace clipper
