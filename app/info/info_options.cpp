#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/input_names.hpp"
#include "command_line/shared_options.hpp"
#include "info/info_command.hpp"
#include "request_text.hpp"
#include "statistics/percentiles.hpp"

namespace clipper {
namespace {

constexpr std::string_view kDescription =
    "Prints dtype, shape, memory order and size of tensors (.npy, .pb, raw) and of the members of archives "
    "(.npz, "
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
FILE.safetensors:NAME. A directory stands for all .npy, .npz and .safetensors files below it, and `-` is standard input. A
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
to a float of the dtype; of integers it keeps its fraction. Each row of the histogram is as wide as a
power of two and contains exactly the elements in its range. The median needs up to four more passes over the
file. A stream can be read only once, so clipper prints no median for a stream.)"};

constexpr Option kPercentile{
    .names = "--percentile", .type = "PERCENTS",
    .help = "Print percentiles of the elements, such as 1,50,99; implies --stats",
    .details = R"(Also print percentiles: the values below which these percentages of the elements lie.
PERCENTS are numbers from 0 to 100 with at most 16 decimal places, separated by commas, with or without a
percent sign: `1,50,99.9` or `1%,99%`. NaN elements do not count. A percentile is linear between its two
neighbours in sorted order, as by default in numpy.percentile, but its position is exact. It is rounded once
to a float of the dtype; of integers it keeps its fraction. The input must be a file, not a stream, because
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

constexpr Option kPerAxis{
    .names = "--per-axis", .type = "K", .excludes = {{"--histogram-svg"}},
    .help = "Statistics of each index along axis K; may be given again; implies --stats",
    .details = R"(Print the statistics, percentiles and the histogram of each index along axis K of the shape, over all
other axes. K counts from 0, negative from the end, whatever the memory order; given again, of each pair of indexes, and
so on. `x.npy[:, 2]` is what numpy selects so. A tensor without axis K is an error (3). `--min` and `--max` must be numbers.
Implies `--stats`.)"};

constexpr Option kTotal{
    .names = "--total", .excludes = {{"--histogram-svg"}},
    .help = "Statistics of all tensors together, in place of those of each; implies --stats",
    .details = R"(Print the statistics, percentiles and the histogram of the elements of all tensors of all files
together, in place of those of each: the numbers that `--pooled` of the command that clips finds. All must have one dtype;
of an archive these are the members that a clip takes. An input that cannot be read ends the run. `--min` and `--max` must
be numbers. Implies `--stats`.)"};

constexpr Option kJson{
    .names = "--json",
    .help = "Print one line of JSON per file",
    .details = R"(Print one JSON object in one line for every file instead of text. JSON OUTPUT lists the
members.)"};

// clang-format on

constexpr std::array kPositionals{Positional{&kFiles, Arity::many}};
constexpr auto kOptions =
    listed(std::array{&kRecursive}, kWalkOptions,
           std::array{&kStats, &kPercentile, &kHistogramSvg, &kMin, &kMax, &kNodata, &kPerAxis, &kTotal},
           kReadingOptions, std::array{&kThreads, &kJson, &kProgress, &kNoProgress, &kColor, &kHelp});

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
    .summary = "print dtype and shape of tensors; with --stats range, mean and histogram",
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
  command.walk = parse_walk(raw);
  command.choice = parse_choice(raw, is_many);
  command.reading = parse_reading(raw);
  command.reading.takes_integers = true;
  command.json = raw.has(kJson);
  command.bounds.min = given_limit(raw, kMin, command.reading);
  command.bounds.max = given_limit(raw, kMax, command.reading);
  if (raw.has(kPercentile)) command.percentages = parse_percentages(raw.text(kPercentile));
  for (const std::string& text : raw.texts(kNodata))
    command.bounds.nodata.push_back(typed_number_of_text("nodata", text));
  for (const std::string& text : raw.texts(kPerAxis))
    command.bounds.per_axis.push_back(axis_of_text("per_axis", text));
  command.bounds.pooled = raw.has(kTotal);
  for (const auto& [option, limit] :
       {std::pair(&kMin, &command.bounds.min), std::pair(&kMax, &command.bounds.max)})
    if (*limit && (*limit)->array && command.is_divided())
      refuse_pair(*option, raw.has(kTotal) ? kTotal : kPerAxis);
  command.svg = raw.value(kHistogramSvg);
  if (command.svg && !command.svg->ends_with(".svg"))
    refuse(fmt::format("--histogram-svg: '{}' does not end in .svg", *command.svg));
  command.statistics = command.svg || raw.has(kStats) || raw.has(kPercentile) || command.bounds.min ||
                       command.bounds.max || raw.has(kNodata) || command.is_divided();
  if (raw.has(kThreads)) command.engine.threads = parse_threads(raw.text(kThreads));
  if (command.statistics) command.progress = progress_when(raw);
  return command;
}

}  // namespace clipper
