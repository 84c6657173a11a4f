#pragma once

#include "command_line/choices.hpp"
#include "command_line/command_spec.hpp"

/// Options of several commands. A function makes those whose help depends on the command.
namespace clipper {

inline constexpr Option kHelp{"-h,--help", "Print this help"};
inline constexpr Option kVersion{"-V,--version", "Print the version and what this build and CPU support"};
inline constexpr Option kQuiet{"-q,--quiet", "Print errors only"};
inline constexpr Option kThreads{"-j,--threads", "Use at most N threads (default: all available CPUs)", "N",
                                 Value::text};
inline constexpr Option kTrailing{
    "--trailing", "Data after the tensor in a file: error (default), or ignore, as numpy does", "WHAT",
    Value::words, &trailing_words};
inline constexpr Option kProgress{"--progress", "Show progress even if standard error is not a terminal"};
inline constexpr Option kNoProgress{"--no-progress", "Never show progress"};
inline constexpr Option kColor{"--color", "Use color: auto (default: only on a terminal), always or never",
                               "WHEN", Value::words, &color_words};

constexpr Option json_option(std::string_view help) {
  return {"--json", help};
}

constexpr Option verbose_option(std::string_view help) {
  return {"-v,--verbose", help};
}

constexpr Option dtype_option(std::string_view help) {
  return {"--dtype", help, "DTYPE", Value::words, &dtype_names};
}

}  // namespace clipper
