#pragma once

#include "command_line/command_spec.hpp"

/// Options of several commands.
namespace clipper {

// Words that options take as values, from tables of lib.
[[nodiscard]] Words profile_names();  ///< each family before its versions
[[nodiscard]] Words nan_words();      ///< --nan takes numbers, too
[[nodiscard]] Words dtype_names();
[[nodiscard]] Words round_words();
[[nodiscard]] Words type_words();  ///< of --only
[[nodiscard]] Words simd_level_names();

// One block per option, without the indentation that clang-format gives to long texts.
// clang-format off

inline constexpr Option kHelp{
    .names = "-h,--help",
    .help = "Print this help",
    .details = R"(Print a summary of the command's options, with examples, and exit. `clipper compare --help`
is about compare.)"};

inline constexpr Option kVersion{
    .names = "-V,--version",
    .help = "Print the version, SIMD level and build",
    .details = R"(Print the version, then what this build and this CPU support, and exit. Include it in bug
reports.)"};

inline constexpr Option kQuiet{
    .names = "-q,--quiet", .overrides = "--verbose",
    .help = "Print errors only",
    .details = R"(Print nothing but errors: no warnings, no progress, no lines about results. The exit status
still has the result. `--verbose` after it cancels it.)"};

inline constexpr Option kThreads{
    .names = "-j,--threads", .type = "N",
    .help = "Use at most N threads (default: all available CPUs)",
    .details = R"(Use at most N threads, 1 to 1024. By default clipper uses one for each CPU that it may run
on, and fewer if the tensor is small or memory is limited. The result does not depend on it.)"};

inline constexpr Option kNoCache{
    .names = "--no-cache", .group = "Files",
    .help = "Leave inputs and outputs out of the page cache",
    .details = R"(Read and write files without filling the kernel's page cache with them: files that are
larger than the memory then displace nothing that other programs use. An input of which half or more is in the
cache already stays there, also if `--direct` changes it; of other inputs the pages are dropped. The kernel tells
only of files that the user owns or may write to whether they are in the cache, from Linux 6.5 on; other inputs
count as not cached. Standard input and output, arrays of `@FILE`, and the temporary files of large compressed
members are cached as usual. The result does not depend on it.)"};

inline constexpr Option kTrailing{
    .names = "--trailing", .type = "WHAT", .words = [] { return Words{"error", "ignore"}; },
    .group = "Operation",
    .help = "Data after the tensor in a file: error (default), or ignore, as numpy does",
    .details = R"(What to do with bytes after the tensor. `error` refuses the file (3). `ignore` reads the
tensor and leaves the rest, as numpy.load does with a file of several arrays. With `--in-place` such a file is
refused either way, because the rest would be lost. Bytes after the end of an archive are always refused, as by the
programs that write archives; `ignore` is for those after the tensor in a member of an .npz archive.)"};

inline constexpr Option kOnly{
    .names = "--only", .type = "KIND", .words = &type_words, .group = "Operation",
    .help = "In archives, lists and with -r, only float, int, bool, date, all or a dtype; may be given again",
    .details = R"(Of archives, of files below directories and of those in a LIST, only tensors of this kind: `float`,
`int`, `bool`, `date` (datetime64 and timedelta64), `all`, or the name of a dtype such as int64. Give the option
again for each further kind. Without it these are floats and integers, of archives with `--to` only floats.
SELECTION has the whole rule. A file or a member that is named on the command line (FILE, FILE:NAME, `--member`) is
taken whatever its kind.)"};

inline constexpr Option kProgress{
    .names = "--progress",
    .help = "Show progress even if stderr is not a terminal",
    .details = R"(Show how much of the work is done, how fast it goes and how long it will take. On a terminal
one line is redrawn, and what does not fit into its width is left out; clipper does this by default if the
work lasts longer than half a second. With `--progress`, standard error that is not a terminal gets a new line
every 10 seconds. `--no-progress` after it cancels it.)"};

inline constexpr Option kNoProgress{
    .names = "--no-progress", .overrides = "--progress",
    .help = "Never show progress",
    .details = R"(Show no progress, not even on a terminal. `--progress` after it cancels it.)"};

inline constexpr Option kColor{
    .names = "--color", .type = "WHEN", .words = [] { return Words{"auto", "always", "never"}; },
    .help = "Use color: auto (on a terminal), always or never",
    .details = R"(Color FAIL and ok, errors, warnings and the bounds in a histogram. `auto` uses color only on
a terminal, and not if NO_COLOR is set; `always` uses color also in files and pipes; `never` uses none. Errors
in the command line itself are colored as with `auto`. JSON has no color.)"};

// clang-format on

}  // namespace clipper
