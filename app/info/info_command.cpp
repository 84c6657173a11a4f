#include "info/info_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/input_names.hpp"
#include "command_line/shared_options.hpp"
#include "console/diagnostics.hpp"
#include "console/progress.hpp"
#include "console/table.hpp"
#include "console/terminal.hpp"
#include "engine/engine.hpp"
#include "error.hpp"
#include "files/container.hpp"
#include "files/foreign.hpp"
#include "files/output_file.hpp"
#include "flows/tensor_statistics.hpp"
#include "info/info_report.hpp"
#include "os/os.hpp"
#include "request_text.hpp"
#include "statistics/percentiles.hpp"

namespace clipper {
namespace {

constexpr std::string_view kDescription =
    "Prints dtype, shape, memory order and size of .npy tensors and of the members of archives (.npz, "
    "safetensors); of several files in a table. With --stats, --percentile, --min or --max it also reads the "
    "elements and prints their range, mean, standard deviation, median, NaN count and a histogram.";

constexpr std::array<std::string_view, 1> kForms{"[OPTIONS] FILE..."};

constexpr std::string_view kFooter = R"(
Examples:
  clipper info x.npy
  clipper info --stats *.npy
  clipper info --min 0 --max 6 x.npy
  clipper info --percentile 1,50,99 x.npy
  clipper info --min 0 --max 6 --histogram-svg x.svg x.npy
  clipper info weights.npz
  clipper info --stats weights.npz:bias
  clipper info --json tensors/

Exit status:
  0          every file and every member was read
  2 or more  the highest error of all; see the exit status of clipper
)";

// One block per option, without the indentation that clang-format gives to long texts.
// clang-format off

constexpr Option kFiles{
    .names = "FILE", .value = Value::tensor,
    .help = "A .npy file, an archive, a member ARCHIVE.npz:NAME, or a directory: all such files below "
            "it; - is standard input",
    .details = R"(A .npy file, an archive, or a member of one: ARCHIVE.npz:NAME or
FILE.safetensors:NAME. A directory stands for all .npy and .npz files below it, and `-` is standard input. A
file or a member that cannot be read is a line on standard error, and the others are still shown.)"};

constexpr Option kRecursive{
    .names = "-r,--recursive",
    .help = "Describe the files below directories, as without this option",
    .details = R"(Accepted because other commands need it: info always takes a directory for the files below it.)"};

constexpr Option kStats{
    .names = "--stats",
    .help = "Read the elements; print range, mean, std, median, NaN count and a histogram",
    .details = R"(Read all elements and print the smallest and the largest, the mean and the population
standard deviation (std) of the finite elements, the median of the elements that are not NaN, how many are
NaN, inf and -inf, and a histogram. All of these are exact, except for one rounding: mean and std are
calculated without rounding, then rounded once to float64, and a median between two elements is rounded once
to a float of the dtype, or of integers the fraction is cut off. Each row of the histogram is as wide as a
power of two and contains exactly the elements in its range. The median needs up to four more passes over the
file. A stream can be read only once, so clipper prints no median for a stream.)"};

constexpr Option kPercentile{
    .names = "--percentile", .type = "PERCENTS",
    .help = "Print percentiles of the elements, such as 1,50,99; implies --stats",
    .details = R"(Also print percentiles: the values below which these percentages of the elements lie.
PERCENTS are numbers from 0 to 100 with at most 16 decimal places, separated by commas, with or without a
percent sign: `1,50,99.9` or `1%,99%`. NaN elements do not count. A percentile is linear between its two
neighbours in sorted order, as by default in numpy.percentile, but its position is exact. It is rounded once
to a float of the dtype; of integers the fraction is cut off. The input must be a file, not a stream, because
it is read several times. Implies `--stats`.)"};

constexpr Option kHistogramSvg{
    .names = "--histogram-svg", .type = "FILE.svg", .value = Value::file,
    .help = "Write the histogram of one tensor as a picture; implies --stats",
    .details = R"(Write the histogram to FILE.svg, a name that must end so, as a picture: lines mark `--min` and `--max`,
and what lies beyond them has another color. The bar in which a bound lies is divided at the bound. The picture is complete or
not there. Takes one tensor: a file, or FILE:NAME of an archive. Implies `--stats`.)"};

constexpr Option kMin{
    .names = "--min", .type = "X", .value = Value::number,
    .help = "Count the elements less than X, a number or @FILE.npy; implies --stats",
    .details = R"(Also count the elements that are less than X and mark X in the histogram: this is how many a
clip with this bound would raise. X is compared exactly as it is typed; it is not converted to the dtype. An
array in @FILE.npy has a bound for each element, and no mark in the histogram. Implies `--stats`.)"};

constexpr Option kMax{
    .names = "--max", .type = "X", .value = Value::number,
    .help = "Count the elements greater than X, a number or @FILE.npy; implies --stats",
    .details = R"(Also count the elements that are greater than X and mark X in the histogram: this is how
many a clip with this bound would lower. X is compared exactly as it is typed; it is not converted to the
dtype. An array in @FILE.npy has a bound for each element, and no mark in the histogram. Implies
`--stats`.)"};

constexpr Option kNodata{
    .names = "--nodata", .type = "V", .value = Value::number,
    .help = "Leave out the elements that equal V; may be given again; implies --stats",
    .details = R"(Leave the elements that equal V out of all statistics, percentiles and the histogram, and print how
many there are. V is rounded to the dtype, as by the command that clips; `nan` is every NaN. Not for bool and
dates. Implies `--stats`.)"};

constexpr Option kJson{
    .names = "--json",
    .help = "Print one line of JSON per file",
    .details = R"(Print one JSON object in one line for every file instead of text. JSON OUTPUT lists the
members.)"};

constexpr Option kDtype{
    .names = "--dtype", .type = "DTYPE", .words = &dtype_names,
    .help = "Read tensors as DTYPE (for bfloat16 and float8 saved as |V2, |V1 or integers)",
    .details = R"(Read the tensor as DTYPE. Needed for bfloat16 and float8 whose header does not name
them: |V2, |V1 and, in files that the command line names, integers of the same size.)"};

// clang-format on

constexpr std::array kPositionals{Positional{&kFiles, Arity::many}};
constexpr std::array kOptions{&kRecursive, &kInclude,    &kExclude,      &kMember, &kExcludeMember, &kOnly,
                              &kStats,     &kPercentile, &kHistogramSvg, &kMin,    &kMax,           &kNodata,
                              &kDtype,     &kTrailing,   &kRaw,          &kFormat, &kNoCache,       &kThreads,
                              &kJson,      &kProgress,   &kNoProgress,   &kColor,  &kHelp};

constexpr std::array kCommon{
    CommonOption{&kStats, "Range, mean, std, median, NaN count, histogram"},
    CommonOption{&kPercentile, "Print percentiles, such as 1,50,99"},
    CommonOption{&kMin, "Count the elements less than X"},
    CommonOption{&kMax, "Count the elements greater than X"},
    CommonOption{&kDtype, "Read as DTYPE: bfloat16, float8 saved as |V2, |V1"},
    CommonOption{&kJson, "Print one line of JSON per file"},
};

/// The numbers of "1,50%,99.9".
std::vector<Number> parse_percentages(std::string_view text) {
  std::vector<Number> result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const Percentage percentage = parse_percentage(long_name(kPercentile), text.substr(begin, end - begin));
    result.push_back(*parse_number(percentage.text()));
    if (!is_percentile(result.back()))
      refuse(fmt::format("--percentile: {} has more than 16 decimal places", percentage.text()));
    begin = end + 1;
  }
  return result;
}

}  // namespace

constexpr CommandSpec kInfoSpec{
    .name = "info",
    .summary = "print dtype, shape, range and histogram of tensors",
    .description = kDescription,
    .forms = kForms,
    .footer = kFooter,
    .positionals = kPositionals,
    .options = kOptions,
    .common = kCommon,
};

InfoCommand validate_info(const RawOptions& raw) {
  InfoCommand command;
  if (raw.texts(kFiles).empty()) refuse("FILE is missing; see clipper info --help");
  command.inputs = raw.texts(kFiles);
  const bool is_many = command.inputs.size() > 1 || std::ranges::any_of(command.inputs, is_directory);
  command.include = raw.texts(kInclude);
  command.exclude = raw.texts(kExclude);
  command.choice = parse_choice(raw, is_many);
  command.json = raw.has(kJson);
  take_layout(raw, command.dtype);
  command.bounds.min = given_limit(raw, kMin, command.dtype);
  command.bounds.max = given_limit(raw, kMax, command.dtype);
  if (raw.has(kPercentile)) command.percentages = parse_percentages(raw.text(kPercentile));
  for (const std::string& text : raw.texts(kNodata))
    command.bounds.nodata.push_back(typed_number_of_text("nodata", text));
  command.svg = raw.value(kHistogramSvg);
  if (command.svg && !command.svg->ends_with(".svg"))
    refuse(fmt::format("--histogram-svg: '{}' does not end in .svg", *command.svg));
  command.statistics = command.svg || raw.has(kStats) || raw.has(kPercentile) || command.bounds.min ||
                       command.bounds.max || raw.has(kNodata);
  command.dtype.dtype = parse_dtype(raw, kDtype);
  command.dtype.over_integers = true;
  command.ignore_trailing = word_of(raw, kTrailing) != 0;
  if (raw.has(kNoCache)) command.caching = Caching::dropped;
  if (raw.has(kThreads)) command.engine.threads = parse_threads(raw.text(kThreads));
  if (command.statistics) command.progress = progress_when(raw);
  return command;
}

namespace {

void add_header(npy::Header header, const std::vector<std::byte>& bytes, TensorInfo& tensor) {
  tensor.header = std::move(header);
  tensor.version_major = std::to_integer<int>(bytes[npy::kVersionAt]);
  tensor.version_minor = std::to_integer<int>(bytes[npy::kVersionAt + 1]);
}

/// Reads the median and the percentiles that the command asks for, of a file.
void add_percentiles(const InfoCommand& command, Engine& engine, InputFile& input, const Nodata& nodata,
                     TensorInfo& tensor) {
  std::vector<Number> percentages{50};
  percentages.insert(percentages.end(), command.percentages.begin(), command.percentages.end());
  const auto values =
      as_elements(tensor.header.dtype, read_percentiles(engine, input, tensor.header, percentages, nodata));
  tensor.median = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) tensor.percentiles.push_back({percentages[i], values[i]});
}

void add_statistics(const InfoCommand& command, Engine& engine, InputFile& input, TensorInfo& tensor) {
  const npy::Header& header = tensor.header;
  // As for a clip, bounds of a whole archive are those of its numbers.
  const bool has_bounds = tensor.member == nullptr || header.meaning.kind == Meaning::Kind::number;
  Nodata nodata;
  if (has_bounds)
    with_path(input.path(), [&] {
      static_cast<void>(in_units({.nodata = command.bounds.nodata}, header));
      nodata = nodata_of(command.bounds, header.dtype);
      tensor.min = min_limit(command.bounds, header);
      tensor.max = max_limit(command.bounds, header);
    });
  tensor.is_file = input.is_regular();
  if (tensor.is_file)
    add_percentiles(command, engine, input, nodata, tensor);
  else if (!command.percentages.empty())
    throw Error(ErrorKind::usage,
                input.path() + ": must be a file, not a stream: for --percentile it needs to be read twice");
  tensor.statistics = read_statistics(engine, input, header, tensor.min, tensor.max, nodata);
  if (!command.bounds.nodata.empty()) tensor.nodata = header.count - tensor.statistics->count;
}

/// Whether the elements have an order.
bool has_statistics(const TensorInfo& tensor) {
  return tensor.other.empty() && !tensor.header.other && !tensor.header.meaning.is_complex();
}

/// Reads the member's header into `tensor`, or what the member is instead of a tensor.
void add_member_header(const InfoCommand& command, const Container& archive, const Entry& member,
                       TensorInfo& tensor) {
  const Trailing trailing = command.ignore_trailing ? Trailing::ignored : Trailing::refused;
  EntryHeader read = archive.header(member, command.dtype.dtype, trailing, npy::Types::all);
  tensor.other = read.other;
  if (read.header) add_header(*std::move(read.header), read.bytes, tensor);
}

/// What info prints about a file, whose name on the command line was `name`. Reads the elements if the
/// command asks for statistics, and tells the tally how many bytes they have.
TensorInfo inspect(const InfoCommand& command, Engine& engine, InputFile& input, const std::string& name,
                   FileTally& tally) {
  if (command.ignore_trailing) input.ignore_trailing();
  TensorInfo tensor;
  tensor.input = name;
  tensor.path = input.path();
  std::vector<std::byte> bytes;
  npy::Header header =
      read_header(input, command.dtype, &bytes, std::nullopt, npy::Opaque::refused, npy::Types::all);
  add_header(std::move(header), bytes, tensor);
  tensor.has_npy_header = input.foreign() == nullptr;
  if (!command.statistics || !has_statistics(tensor)) return tensor;
  tally.expect(tensor.header.data_size());
  add_statistics(command, engine, input, tensor);
  return tensor;
}

/// The same for a member of an archive. Without statistics, reads only the start of the member.
TensorInfo inspect_member(const InfoCommand& command, Engine& engine, const Container& archive,
                          const Entry& member) {
  TensorInfo tensor;
  tensor.input = archive.file().path();
  tensor.path = archive.path_of(member);
  tensor.member = &member;
  add_member_header(command, archive, member, tensor);
  if (!command.statistics || !has_statistics(tensor)) return tensor;
  InputFile input = archive.open(member);
  input.set_data_begin(tensor.header.data_offset);
  if (command.ignore_trailing) input.ignore_trailing();
  add_statistics(command, engine, input, tensor);
  return tensor;
}

std::vector<std::uint64_t> sizes_of(const InfoCommand& command) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& path : command.inputs)
    sizes.push_back(command.statistics ? expected_bytes(path) : 0);
  return sizes;
}

/// The bytes of all members.
std::uint64_t contents_of(const Container& archive) {
  std::uint64_t bytes = 0;
  for (const Entry& member : archive.entries()) bytes += member.contents.size;
  return bytes;
}

/// Whether a file below a directory is shown. A file that cannot be read is, so that its error is printed.
bool is_chosen(const InfoCommand& command, const std::string& path) {
  if (command.choice.takes_all()) return true;
  try {
    InputFile input = InputFile::open_regular(path, command.caching);
    return is_archive(input) || command.choice.has(input, command.dtype, false);
  } catch (const Error&) {
    return true;
  }
}

/// Replaces each directory among the inputs by the .npy and .npz files below it, sorted by path, except those
/// that are not chosen. Returns the exit status of directories that cannot be read.
int expand_directories(InfoCommand& command) {
  int status = 0;
  TensorWalk walk;
  walk.include = command.include;
  walk.exclude = command.exclude;
  walk.failed = [&](const std::string& path) {
    const Failure failure = explained(std::current_exception());
    status = std::max(status, static_cast<int>(failure.kind));
    print_error(failure);
    if (command.json) print(as_json(path, nullptr, failure));
  };
  std::vector<std::string> files;
  for (const std::string& input : command.inputs) {
    const auto first = static_cast<std::ptrdiff_t>(files.size());
    if (input == "-" || !is_directory(input))
      files.push_back(input);
    else
      for_each_tensor(input, walk, [&](const std::string& path) {
        if (is_chosen(command, path)) files.push_back(path);
      });
    std::sort(files.begin() + first, files.end());
  }
  command.inputs = std::move(files);
  return status;
}

/// Shows one file after the other.
class Display {
 public:
  explicit Display(const InfoCommand& command)
      : command_(command),
        is_list_(!command.json && !command.statistics && command.inputs.size() > 1),
        engine_(command.engine),
        tally_(engine_.done(), sizes_of(command)),
        progress_(command.progress, [this] { return tally_.extent(); }) {}

  void show(const std::string& path) {
    attempt(path, nullptr, [&] {
      InputFile input = InputFile::open(path, command_.caching);
      if (command_.ignore_trailing) input.ignore_trailing();
      take_foreign(input, command_.dtype);
      if (is_archive(input))
        show_archive(Container(input, Records::dropped));
      else if (command_.choice.has(input, command_.dtype, true))
        show_tensor(input, path);
      else
        throw Error(ErrorKind::usage, path + ": --member needs an archive");
    });
    tally_.next();
  }

  /// Prints the table of several files, when the widths of all its cells are known.
  void end() {
    if (is_list_) list_.print("", [&](const std::string& part) { print_result(part); });
  }

  /// The highest exit status of all files and members.
  [[nodiscard]] int status() const { return status_; }

 private:
  /// Prints the error if the work fails.
  template <class Work>
  void attempt(const std::string& path, const Entry* member, Work work) {
    Failure failure{};
    try {
      work();
      return;
    } catch (const Unprintable&) {
      throw;
    } catch (...) {
      failure = explained(std::current_exception());
    }
    status_ = std::max(status_, static_cast<int>(failure.kind));
    print_error(failure);
    if (command_.json) print_result(as_json(path, member, failure));
  }

  void show_tensor(InputFile& input, const std::string& path) {
    const TensorInfo tensor = inspect(command_, engine_, input, path, tally_);
    print_tensor(tensor);
    if (!command_.svg) return;
    if (!tensor.statistics) throw Error(ErrorKind::input, tensor.path + ": its elements have no histogram");
    OutputFile file =
        OutputFile::create(*command_.svg, OutputFile::Existing::replace, OutputFile::Durability::none);
    const std::string picture = histogram_svg(tensor);
    file.write(std::as_bytes(std::span(picture)));
    file.commit();
  }

  void print_tensor(const TensorInfo& tensor) {
    if (command_.json)
      print_result(as_json(tensor));
    else if (is_list_)
      list_.add(as_row(tensor));
    else
      print_block(as_text(tensor, width_, paint_));
  }

  void print_block(const std::string& text) {
    print_result((is_first_ ? "" : "\n") + text);
    is_first_ = false;
  }

  /// Without statistics, shows a table; it is printed when the widths of all its cells are known.
  void show_archive(const Container& archive) {
    if (command_.svg)
      throw Error(ErrorKind::usage, archive.file().path() +
                                        ": is an archive; --histogram-svg takes one tensor, "
                                        "FILE:NAME");
    const bool is_table = !command_.json && !command_.statistics && !is_list_;
    Table table = member_table();
    if (command_.statistics) tally_.expect(contents_of(archive));
    const std::vector<bool> chosen = command_.choice.of(archive, command_.dtype);
    for (const Entry& member : archive.entries()) {
      if (!chosen[archive.index_of(member)]) continue;
      attempt(archive.file().path(), &member, [&] {
        const TensorInfo tensor = inspect_member(command_, engine_, archive, member);
        if (is_table)
          table.add(as_row(tensor, member.key()));
        else
          print_tensor(tensor);
      });
    }
    if (command_.json && archive.entries().empty()) print_result(empty_archive_json(archive.file().path()));
    if (is_list_ && archive.entries().empty())
      list_.add({escape_for_terminal(archive.file().path()), "no members", "-", "0"});
    if (!is_table || (!archive.entries().empty() && std::ranges::count(chosen, true) == 0)) return;
    print_block(escape_for_terminal(archive.file().path()) + "\n");
    table.print("  ", [&](const std::string& part) { print_result(part); });
  }

  const InfoCommand& command_;
  const bool is_list_;  ///< one line for each tensor of several files
  Table list_ = file_table();
  const std::size_t width_ = terminal_columns(STDOUT_FILENO);
  const Paint paint_ = paint_for(STDOUT_FILENO);
  Engine engine_;
  FileTally tally_;
  Progress progress_;
  int status_ = 0;
  bool is_first_ = true;
};

}  // namespace

int show_info(const RawOptions& raw) {
  InfoCommand command = validate_info(raw);
  const int status = expand_directories(command);
  if (command.svg && command.inputs.size() != 1)
    refuse(fmt::format("--histogram-svg takes one tensor, not {}", command.inputs.size()));
  Display display(command);
  for (const std::string& path : command.inputs) display.show(path);
  display.end();
  if (status == 0 && display.status() == 0) command.choice.members.expect_used();
  return std::max(status, display.status());
}

}  // namespace clipper
