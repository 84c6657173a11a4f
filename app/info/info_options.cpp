#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "command_line/command_line.hpp"
#include "command_line/given_number.hpp"
#include "command_line/shared_options.hpp"
#include "command_line/values.hpp"
#include "info/info_command.hpp"
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

constexpr Option kJson{
    .names = "--json",
    .help = "Print one line of JSON per file",
    .details = R"(Print one JSON object in one line for every file instead of text. JSON lists the
members.)"};

constexpr Option kDtype{
    .names = "--dtype", .type = "DTYPE", .words = &dtype_names,
    .help = "Read tensors as DTYPE (for bfloat16 and float8 saved as |V2, |V1 or integers)",
    .details = R"(Read the tensor as DTYPE. Needed for bfloat16 and float8 whose header does not name
them: |V2, |V1 and, in files that the command line names, integers of the same size.)"};

// clang-format on

constexpr std::array kPositionals{Positional{&kFiles, Arity::many}};
constexpr std::array kOptions{&kRecursive, &kStats,      &kPercentile, &kMin,     &kMax,
                              &kDtype,     &kTrailing,   &kNoCache,    &kThreads, &kJson,
                              &kProgress,  &kNoProgress, &kColor,      &kHelp};

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
};

InfoCommand validate_info(const RawOptions& raw) {
  InfoCommand command;
  if (raw.texts(kFiles).empty()) refuse("FILE is missing; see clipper info --help");
  command.inputs = raw.texts(kFiles);
  command.json = raw.has(kJson);
  command.bounds.min = given_limit(raw, kMin);
  command.bounds.max = given_limit(raw, kMax);
  if (raw.has(kPercentile)) command.percentages = parse_percentages(raw.text(kPercentile));
  command.statistics = raw.has(kStats) || raw.has(kPercentile) || command.bounds.min || command.bounds.max;
  if (raw.has(kDtype)) command.dtype.dtype = static_cast<DType>(word_of(raw, kDtype));
  command.dtype.over_integers = true;
  command.ignore_trailing = word_of(raw, kTrailing) != 0;
  if (raw.has(kNoCache)) command.caching = Caching::dropped;
  if (raw.has(kThreads)) command.engine.threads = parse_threads(raw.text(kThreads));
  if (command.statistics) command.progress = progress_when(raw);
  return command;
}

}  // namespace clipper
