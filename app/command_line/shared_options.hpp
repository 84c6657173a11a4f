#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/command_spec.hpp"
#include "command_line/input_names.hpp"
#include "console/progress.hpp"
#include "console/terminal.hpp"
#include "contract/profile.hpp"
#include "element/percentage.hpp"
#include "files/choices.hpp"
#include "files/container.hpp"
#include "files/formats.hpp"
#include "files/input_file.hpp"
#include "shards/shard.hpp"

/// Options of several commands, and what the texts of options mean. Each function throws Error{usage}, which
/// names the option, unless it understands all of the text.
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
    .help = "-h: most used options; --help: all options",
    .details = R"(`--help`: print a summary of all options of the command, with examples, and exit. `-h`: print its first
screen, the options that most command lines use. `clipper compare --help` is about compare.)"};

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
on. It uses fewer if the tensor is small or memory is limited, and where more gain nothing: to clip from a pipe two, to
a pipe one, for many small files four. The result does not depend on it.)"};

inline constexpr Option kNoCache{
    .names = "--no-cache", .group = "Files",
    .help = "Leave inputs and outputs out of the page cache",
    .details = R"(Read and write files without filling the kernel's page cache with them: files that are
larger than the memory then displace nothing that other programs use. An input of which half or more is in the
cache already stays there (Linux 6.5 or later, and only files that you own or can write).
Standard input and output, arrays of `@FILE`, and the temporary files of large compressed members are cached as
usual.)"};

inline constexpr Option kDtype{
    .names = "--dtype", .type = "DTYPE", .words = &dtype_names, .group = "Operation",
    .help = "Read tensors as DTYPE (for bfloat16 and float8 saved as |V2, |V1 or integers)",
    .details = R"(Read tensors as DTYPE. NumPy has no bfloat16: it saves arrays of ml_dtypes.bfloat16 as
2-byte void, and a header with |V2 does not say which type this is. `--dtype bfloat16` does.
<V1 and |V1 are float8 dtypes, of which `--dtype` says which one it is. In files and members that the command
line names, integers of the same size are bfloat16 or float8, too; a clip keeps their header. If the header
does name a dtype and DTYPE is another one, the file is refused (3): `--to` of a clip converts elements.)"};

inline constexpr Option kRaw{
    .names = "--raw", .type = "DTYPE[:SHAPE][@OFFSET]", .group = "Files",
    .help = "Read files without a header: float32:1,3,224,224, '>i2:720,-1@512', uint8",
    .details = R"(Read files that are neither .npy files, archives nor TensorProto files as elements in C order
without a header. DTYPE is the name of a dtype or numpy's descriptor, such as `<f4` or `>i2`. SHAPE may have one
-1; without it the tensor has one axis with all that the file holds. The bytes before OFFSET belong to another
format: they are copied. A result is such a file, too, unless its name ends in .npy, .pb or .onnx-tensor; `--to` alone, with DTYPE, changes no
element. With `force:` in front of
DTYPE other files are read so as well. RAW AND PB FILES in clipper-formats(5) has the rules.)"};

inline constexpr Option kFormat{
    .names = "--format", .type = "FORMAT", .words = &format_words, .group = "Files",
    .help = "Format of files without a signature: auto (by the name, default) or pb (ONNX TensorProto)",
    .details = R"(How to read a file whose content does not reveal its format. `auto`: a file whose name ends in .pb or
.onnx-tensor is an ONNX TensorProto. `pb`: all are, also standard input.)"};

inline constexpr Option kTrailing{
    .names = "--trailing", .type = "WHAT", .words = [] { return Words{"error", "ignore"}; },
    .group = "Operation",
    .help = "Data after the tensor in a file: error (default), or ignore, as numpy does",
    .details = R"(What to do with bytes after the tensor. `error` refuses the file (3). `ignore` reads the
tensor and leaves the rest, as numpy.load does with a file of several arrays; a clip in place, which would lose
the rest, refuses it (5). Bytes after the end of an archive are always refused, as by the
programs that write archives; `ignore` is for those after the tensor in a member of an .npz archive.)"};

inline constexpr Option kMember{
    .names = "--member", .type = "NAME|GLOB", .value = Value::member, .group = "Operation",
    .excludes = {{"--finalize --direct"}},
    .help = "Of archives, only members of this name or pattern; may be given again",
    .details = R"(Of archives, only these members: NAME as the archive lists it, such as w.npy, or the key by which
numpy.load finds it, such as w, or a pattern GLOB for names or keys, such as `'layers.*'`. `*` stands for any characters,
`?` for one, and `[...]` for one of a set; in an archive that has a member called a[0], `a[0]` is this member only. Give
the option again for further members. With several archives, one without a match
is copied unchanged; it is an error (2) only if no archive has a match. SELECTION says which kinds a GLOB
takes.)"};

inline constexpr Option kExcludeMember{
    .names = "--exclude-member", .type = "NAME|GLOB", .value = Value::member, .group = "Operation",
    .excludes = {{"--finalize --direct"}},
    .help = "Of archives, no members of this name or pattern; may be given again",
    .details = R"(Of archives, leave these members out, also if `--member` names them. NAME and GLOB are those of
`--member`; one without a member in the whole run is an error (2).)"};

inline constexpr Option kInclude{
    .names = "--include", .type = "GLOB", .group = "Files",
    .help = "Of directories, only files whose paths match GLOB; may be given again",
    .details = R"(Below directories: take only files whose path below the directory matches GLOB, whatever
their names end in. `*` stands for any characters, also `/`; `?` for one, and `[...]` for one of a set. Give the
option again for each further pattern. FORMATS says what is taken without a pattern.)"};

inline constexpr Option kExclude{
    .names = "--exclude", .type = "GLOB", .group = "Files",
    .help = "Of directories, leave out files whose paths match GLOB; may be given again",
    .details = R"(Below directories: leave out files whose path below the directory matches GLOB, a pattern
as `--include` takes, also if `--include` names them.)"};

inline constexpr Option kOnly{
    .names = "--only", .type = "KIND", .words = &type_words, .group = "Operation",
    .excludes = {{"--finalize"}},
    .help = "Of archives and directories, only float, int, bool, date, all or a dtype; may be given again",
    .details = R"(Of archives, of files below directories and of those in a LIST, only tensors of this kind: `float`,
`int`, `bool`, `date` (datetime64 and timedelta64), `all`, or the name of a dtype such as int64. Give the option
again for each further kind. Without it a clip takes floats and integers, of archives with `--to` only floats, and other
commands take all. SELECTION has the whole rule. A file or a member that is named on the command line (FILE, FILE:NAME, `--member`
with its name) is taken whatever its kind.)"};

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

/// How files are read, and which tensors of them: options of all commands that read tensors.
inline constexpr std::array kReadingOptions{&kDtype,  &kTrailing,      &kRaw,  &kFormat,
                                            &kMember, &kExcludeMember, &kOnly, &kNoCache};
inline constexpr std::array kWalkOptions{&kInclude, &kExclude};

class RawOptions;

[[noreturn]] void refuse(const std::string& message);  ///< throws Error{usage}

/// Refuses `text`, which is none of `words`, and names the nearest of them, or all. `what` begins the
/// message: "unknown command".
[[noreturn]] void refuse_unknown(std::string_view what, std::string_view text,
                                 std::span<const std::string_view> words);

[[noreturn]] void refuse_word(const Option& option, std::string_view text);  ///< none of the option's words

/// Both cannot be given. `why` may be empty.
[[noreturn]] void refuse_pair(const Option& one, const Option& other, std::string_view why = {});

[[nodiscard]] std::size_t parse_count(std::string_view flag, std::string_view text, std::size_t lowest,
                                      std::size_t highest);
[[nodiscard]] std::size_t parse_bytes(std::string_view flag, std::string_view text, std::size_t lowest,
                                      std::size_t highest);  ///< "1048576", "1M" or "1MiB"
[[nodiscard]] Percentage parse_percentage(std::string_view flag, std::string_view text);  ///< "10" or "10%"
[[nodiscard]] Percentage parse_share(std::string_view flag, std::string_view text);       ///< "10%" or "0"
[[nodiscard]] unsigned parse_threads(std::string_view text);                              ///< of --threads

/// The shard that --shard names: "K/N", or "auto", which takes K and N from the variables of Open MPI, PMI or
/// Slurm, in this order. The variables of Slurm's array jobs do not count: the number of tasks changes if
/// only the failed tasks run again. Throws Error{usage} also if no launcher set its variables.
[[nodiscard]] Shard parse_shard(std::string_view text);

/// The place of the option's value among its words: 0, the place of the default, if the option was not given.
[[nodiscard]] std::size_t word_of(const RawOptions& raw, const Option& option);

/// The dtype that the option's value means, see dtype_word(); nothing if the option was not given.
[[nodiscard]] std::optional<DType> parse_dtype(const RawOptions& raw, const Option& option);

/// The tensors of files and archives that --member, --exclude-member and --only choose, for commands that
/// only read. A clip has Selection.
struct TensorChoice {
  NameChoice members;
  std::optional<TypeChoice> only;

  [[nodiscard]] bool takes_all() const;

  /// For each member whether it is chosen. A member that cannot be read is, so that its error is reported.
  [[nodiscard]] std::vector<bool> of(const Container& archive, const npy::GivenDType& dtype) const;

  /// Whether a file of one tensor is chosen. `is_named`: by its name on the command line.
  [[nodiscard]] bool has(InputFile& input, const npy::GivenDType& dtype, bool is_named) const;
};

/// What kReadingOptions say, which must be options of the command. `is_many`: whether the command line may
/// stand for several files.
[[nodiscard]] Reading parse_reading(const RawOptions& raw);
[[nodiscard]] TensorChoice parse_choice(const RawOptions& raw, bool is_many);

/// What kWalkOptions say.
[[nodiscard]] TensorWalk parse_walk(const RawOptions& raw);

/// What --progress and --no-progress ask for. Both must be options of the command.
[[nodiscard]] Progress::When progress_when(const RawOptions& raw);

/// What --color asks for; automatic if the command has no such option.
[[nodiscard]] ColorWhen color_when(const CommandSpec& spec, const RawOptions& raw);

class RawOptions;
struct Option;

/// number_of_text() of the option's value; nothing if the option was not given.
[[nodiscard]] std::optional<Given> given(const RawOptions& raw, const Option& option,
                                         const Reading& file = {});

/// The same for a number of elements of any type, which may be a date, true or false.
[[nodiscard]] std::optional<Given> given_limit(const RawOptions& raw, const Option& option,
                                               const Reading& file = {});

/// A file that a run reads besides its inputs.
struct ReadFile {
  std::string reader;  ///< "--min", or an input that has its elements in this file
  std::string path;
};

/// The files of the request's numbers and arrays.
[[nodiscard]] std::vector<ReadFile> number_files(const Request& request);

}  // namespace clipper
