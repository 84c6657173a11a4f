#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/command_spec.hpp"
#include "command_line/input_names.hpp"
#include "console/diagnostics.hpp"
#include "console/terminal.hpp"
#include "contract/profile.hpp"
#include "element/dtype.hpp"
#include "element/text.hpp"
#include "files/input_file.hpp"
#include "formats/container.hpp"
#include "formats/formats.hpp"
#include "shards/shard_files.hpp"

/// Options of several commands, and what the texts of options mean. Each function throws Error{usage}, which
/// names the option, unless it understands all of the text.
namespace clipper {

// Words that options take as values, from tables of lib.
[[nodiscard]] Words profile_names();  ///< each family before its versions
inline constexpr auto kDtypeNames = &words_in<kDTypes, &DTypeTraits::name>;
[[nodiscard]] Words type_words();  ///< of --only

// One block per option, without the indentation that clang-format gives to long texts.
// clang-format off

inline constexpr Option kHelp{
    .names = "-h,--help",
    .page = "clipper.1",
    .help = "-h: most used options; --help: all options",
    .details = R"(`-h` prints the most used options, `--help` all. `clipper help TOPIC`, or `clipper --help TOPIC`,
explains the options of a topic, such as files.)"};

inline constexpr Option kVersion{
    .names = "-V,--version",
    .help = "Print the version, SIMD level and build",
    .details = R"(Print the version and what this build and this CPU support. Include it in bug reports.)"};

inline constexpr Option kQuiet{
    .names = "-q,--quiet",
    .page = "clipper.1",
    .overrides = "--verbose",
    .help = "Print errors only",
    .details = R"(Print no warnings, no progress and no lines about results; the exit status has the result. The
last of `--quiet` and `--verbose` counts.)"};

inline constexpr Option kLogLevel{
    .names = "--log-level", .type = "LEVEL",
    .words = [] { return Words{"info", "error", "warning", "debug", "trace"}; },
    .page = "clipper.1",
    .help = "Messages: error, warning, info, debug or trace",
    .details = R"(Print messages down to this level: `error`, `warning`, `info` (default), `debug` or `trace`.
On standard error `--quiet`, `-v` and `-vv` (error, debug, trace) take precedence over it.)"};

inline constexpr Option kLogFile{
    .names = "--log-file", .type = "LOG", .value = Value::file,
    .page = "clipper.1",
    .help = "Keep messages in LOG, too, with date and level",
    .details = R"(Append messages to LOG with date, time, process and level. Each line is one write, so that runs may
share LOG. LOG has the messages of `--log-level`; without it, those that standard error has, and at least
`info`. A full disk ends the log, not the run.)"};

inline constexpr Option kThreads{
    .names = "-j,--threads", .type = "N",
    .page = "clipper.1",
    .help = "Use at most N threads (default: all available CPUs)",
    .details = R"(Use at most N threads, 1 to 1024. clipper uses fewer where more gain nothing. It never changes the
result.)"};

inline constexpr Option kNoCache{
    .names = "--no-cache",
    .group = "formats", .page = "clipper-reading.7",
    .help = "Keep inputs and outputs out of the page cache",
    .details = R"(Read and write files without filling the page cache of the kernel. An input of which half or more
is in the cache stays there (Linux 6.5 or later, and only files that you own or can write). Streams, @FILE
arrays and temporary files are cached as usual.)"};

inline constexpr Option kDtype{
    .names = "--dtype", .type = "DTYPE", .words = kDtypeNames,
    .group = "formats", .page = "clipper-reading.7",
    .help = "Read as DTYPE: bfloat16 or float8 saved as raw bytes",
    .details = R"(Read tensors as DTYPE: bfloat16 or a float8 that was saved as |V2, |V1, <V1 or, in files and
members that are named, as integers of that size. If the header names another dtype, the file is refused (3);
`--to` converts.)"};

inline constexpr Option kRaw{
    .names = "--raw", .type = "DTYPE[:SHAPE][@OFFSET]",
    .group = "formats", .page = "clipper-reading.7",
    .help = "Read files without a header",
    .details = R"(Read files that are neither .npy files, archives nor TensorProto files as elements in C order:
`float32:1,3,224,224`, `'>i2:720,-1@512'`, `uint8`. SHAPE may have one -1; without it the tensor has one axis.
See RAW AND PB FILES.)"};

inline constexpr Option kFormat{
    .names = "--format", .type = "FORMAT", .words = &format_words,
    .group = "formats", .page = "clipper-reading.7",
    .help = "Format of files without a signature: auto or pb",
    .details = R"(How to read a file whose content does not reveal its format: `auto` (default) takes the names .pb
and .onnx-tensor for ONNX TensorProto files, `pb` takes all, also standard input.)"};

inline constexpr Option kTrailing{
    .names = "--trailing", .type = "WHAT", .words = [] { return Words{"error", "ignore"}; },
    .group = "formats", .page = "clipper-reading.7",
    .help = "Data after the tensor: error (default) or ignore",
    .details = R"(With `error`, bytes after the tensor are an error (3). With `ignore` they are left unread, as by
numpy.load; in place, which would lose them, the file is refused (5). Bytes after the end of an archive are
always an error.)"};

inline constexpr Option kMember{
    .names = "--member", .type = "NAME|GLOB", .value = Value::member,
    .group = "formats", .page = "clipper-reading.7",
    .excludes = {{"--finalize --direct"}},
    .help = "Only members of this name or pattern; repeatable",
    .details = R"(Of archives, take only these members: a name, the key of numpy.load, or a pattern such as
`'layers.*'`. `*` stands for any characters, `?` for one, `[...]` for one of a set. With several archives, one
without a match is copied unchanged; it is an error (2) only if no archive has a match. See SELECTION.)"};

inline constexpr Option kExcludeMember{
    .names = "--exclude-member", .type = "NAME|GLOB", .value = Value::member,
    .group = "formats", .page = "clipper-reading.7",
    .excludes = {{"--finalize --direct"}},
    .help = "No members of this name or pattern; repeatable",
    .details = R"(Of archives, leave these members out, also if `--member` names them. One that no archive of the
run has is an error (2).)"};

inline constexpr Option kInclude{
    .names = "--include", .type = "GLOB",
    .group = "files", .page = "clipper-reading.7",
    .help = "Only files whose paths match GLOB; repeatable",
    .details = R"(Below directories, take only files whose path below the directory matches GLOB, whatever their
names end in. `*` also stands for `/`.)"};

inline constexpr Option kExclude{
    .names = "--exclude", .type = "GLOB",
    .group = "files", .page = "clipper-reading.7",
    .help = "Leave out files whose paths match; repeatable",
    .details = R"(Below directories, leave out files whose path matches GLOB, also if `--include` names them.)"};

inline constexpr Option kOnly{
    .names = "--only", .type = "KIND", .words = &type_words,
    .group = "formats", .page = "clipper-reading.7",
    .excludes = {{"--finalize"}},
    .help = "Only float, int, bool, date, all or a dtype",
    .details = R"(Of archives, lists and directories, take only tensors of this kind: `float`, `int`, `bool`,
`date`, `all` or a dtype. Repeat it for further kinds. A tensor that is named always counts. See
SELECTION.)"};

inline constexpr Option kProgress{
    .names = "--progress",
    .page = "clipper.1",
    .help = "Show progress even if stderr is not a terminal",
    .details = R"(Show how much is done, how fast and how long it will take. On a terminal that is the default after
half a second; elsewhere a line follows every 10 seconds.)"};

inline constexpr Option kNoProgress{
    .names = "--no-progress",
    .page = "clipper.1",
    .overrides = "--progress",
    .help = "Never show progress",
    .details = R"(Show no progress, not even on a terminal.)"};

inline constexpr Option kColor{
    .names = "--color", .type = "WHEN", .words = [] { return Words{"auto", "always", "never"}; },
    .page = "clipper.1",
    .help = "Use color: auto (on a terminal), always or never",
    .details = R"(Color FAIL and ok, errors, warnings and bounds. `auto` (default) does so on a terminal unless
NO_COLOR is set. JSON has no color.)"};

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
[[nodiscard]] std::optional<OrderedDType> parse_dtype(const RawOptions& raw, const Option& option);

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

/// What --quiet, -v, --log-level and --log-file ask for.
[[nodiscard]] LogLevels log_levels(const RawOptions& raw, const Option& verbose);

/// What --color asks for; automatic if the command has no such option.
[[nodiscard]] ColorWhen color_when(const CommandSpec& spec, const RawOptions& raw);

/// number_of_text() of the option's value; nothing if the option was not given.
[[nodiscard]] std::optional<Parameter> given(const RawOptions& raw, const Option& option,
                                             const Reading& file = {});

/// The same for a number of elements of any type, which may be a date, true or false.
[[nodiscard]] std::optional<Parameter> given_limit(const RawOptions& raw, const Option& option,
                                                   const Reading& file = {});

/// A file that a run reads besides its inputs.
struct ReadFile {
  std::string reader;  ///< "--min", or an input that has its elements in this file
  std::string path;
};

/// The files of the request's numbers and arrays.
[[nodiscard]] std::vector<ReadFile> number_files(const Request& request);

// What a run reads, and what it writes besides its results.

/// The files that a run reads besides its inputs: those of options, masks, and those behind all of them, see
/// files_behind(), each once.
class FilesRead {
 public:
  FilesRead(const Request& request, const Reading& reading, std::vector<ReadFile> of_options);

  void add_behind(const std::string& input) { add_behind(reading_, input, input); }
  void add_masks(const std::string& input);  ///< if each input has its own

  [[nodiscard]] const std::vector<ReadFile>& all() const noexcept { return files_; }

 private:
  void add_behind(const Reading& how, const std::string& reader, const std::string& path);

  const Request& request_;
  const Reading& reading_;
  std::vector<ReadFile> files_;
  std::set<std::string> behind_;
};

struct SideFile {
  std::string_view option;
  std::string path;
};

/// The files that options such as --report ask for, and that of --log-file, which is open already: a refusal
/// that is about it takes it back first, because it would be written there.
class SideFiles {
 public:
  /// Error{usage} if two are one file.
  explicit SideFiles(const std::vector<SideFile>& files);

  [[nodiscard]] bool empty() const noexcept { return files_.empty(); }

  /// Error{usage} if one of them is this file, of FILE:MEMBER the archive. `role` says what the run does with
  /// it: "read by --min".
  void expect_other_than(const std::string& path, std::string_view role) const;
  void expect_other_than(const std::vector<ReadFile>& files) const;

 private:
  std::vector<SideFile> files_;  ///< a pipe or a device keeps what it has: none is here
};

}  // namespace clipper
