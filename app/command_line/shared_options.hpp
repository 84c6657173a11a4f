#pragma once

#include "command_line/choices.hpp"
#include "command_line/command_spec.hpp"

/// Options of several commands. Those that are functions take what the command says of them.
namespace clipper {

inline constexpr Option kHelp{"-h,--help", "Print this help"};
inline constexpr Option kVersion{"--version", "Print the version"};
inline constexpr Option kQuiet{"-q,--quiet", "Print nothing but errors"};
inline constexpr Option kThreads{"--threads", "At most N threads (default: as many as may run)", "N",
                                 Value::text};
inline constexpr Option kTrailing{
    "--trailing", "If a file goes on after its array: error (default), or ignore, as numpy does", "WHAT",
    Value::words, &trailing_words};

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
