#pragma once

#include <CLI/App.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "dtype.hpp"

/// What every command does with the words behind it, and with what it prints.
namespace clipper {

/// Lets CLI11 parse; false when that only printed help or the version. Every mistake becomes Error{usage}.
[[nodiscard]] bool parse_words(CLI::App& app, int argc, const char* const* argv);

/// What options give as text. Each throws Error{usage}, which names the option, unless all of it is
/// understood.
[[nodiscard]] std::size_t parse_count(std::string_view flag, std::string_view text, std::size_t lowest,
                                      std::size_t highest);
[[nodiscard]] DType parse_dtype(std::string_view text);       ///< of --dtype
[[nodiscard]] unsigned parse_threads(std::string_view text);  ///< of --threads

/// Error{io} if standard output does not take the text.
void print(const std::string& text);

}  // namespace clipper
