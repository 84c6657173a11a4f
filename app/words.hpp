#pragma once

#include <CLI/App.hpp>
#include <string>

/// What every command does with the words behind it, and with what it prints.
namespace clipper {

/// Lets CLI11 parse; false when that only printed help or the version. Every mistake becomes Error{usage}.
[[nodiscard]] bool parse_words(CLI::App& app, int argc, const char* const* argv);

/// Error{io} if standard output does not take the text.
void print(const std::string& text);

}  // namespace clipper
