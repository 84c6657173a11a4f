#pragma once

#include "command_line/choices.hpp"
#include "command_line/command_spec.hpp"

/// Options of several commands. A function makes those whose help depends on the command.
namespace clipper {

/// The option, with what the manual says of it.
constexpr Option with_details(Option option, std::string_view details) {
  option.details = details;
  return option;
}

inline constexpr Option kHelp = with_details({"-h,--help", "Print this help"},
                                             "Print a summary of the command's options, with examples, and "
                                             "exit. `clipper compare --help` is about compare.");
inline constexpr Option kVersion = with_details({"-V,--version", "Print the version, SIMD level and build"},
                                                "Print the version, then what this build and this CPU "
                                                "support, and exit. Include it in bug reports.");
inline constexpr Option kQuiet =
    with_details({"-q,--quiet", "Print errors only"},
                 "Print nothing but errors: no warnings, no progress, no lines about results. The exit "
                 "status still has the result. `--verbose` after it cancels it.");
inline constexpr Option kThreads = with_details(
    {"-j,--threads", "Use at most N threads (default: all available CPUs)", "N", Value::text},
    "Use at most N threads, 1 to 1024. By default clipper uses one for each CPU that it may run on, and "
    "fewer if the tensor is small or memory is limited. The result does not depend on it.");
inline constexpr Option kTrailing =
    with_details({"--trailing", "Data after the tensor in a file: error (default), or ignore, as numpy does",
                  "WHAT", Value::words, &trailing_words},
                 "What to do with bytes after the tensor. `error` refuses the file (3). `ignore` reads the "
                 "tensor and leaves the rest, as numpy.load does with a file of several arrays. With "
                 "`--in-place` such a file is refused either way, because the rest would be lost.");
inline constexpr Option kProgress = with_details(
    {"--progress", "Show progress even if stderr is not a terminal"},
    "Show how much of the work is done, how fast it goes and how long it will take. On a terminal one line "
    "is redrawn, and what does not fit into its width is left out; clipper does this by default if the work "
    "lasts longer than half a second. With `--progress`, standard error that is not a terminal gets a new "
    "line every 10 seconds. `--no-progress` after it cancels it.");
inline constexpr Option kNoProgress =
    with_details({"--no-progress", "Never show progress"},
                 "Show no progress, not even on a terminal. `--progress` after it cancels it.");
inline constexpr Option kColor = with_details(
    {"--color", "Use color: auto (on a terminal), always or never", "WHEN", Value::words, &color_words},
    "Color FAIL and ok, errors, warnings and the bounds in a histogram. `auto` uses color only on a "
    "terminal, and not if NO_COLOR is set; `always` uses color also in files and pipes; `never` uses none. "
    "Errors in the command line itself are colored as with `auto`. "
    "JSON has no color.");

constexpr Option json_option(std::string_view help, std::string_view details) {
  return with_details({"--json", help}, details);
}

constexpr Option verbose_option(std::string_view help, std::string_view details) {
  return with_details({"-v,--verbose", help}, details);
}

constexpr Option dtype_option(std::string_view help, std::string_view details) {
  return with_details({"--dtype", help, "DTYPE", Value::words, &dtype_names}, details);
}

}  // namespace clipper
