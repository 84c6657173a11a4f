#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/input_names.hpp"
#include "command_line/shared_options.hpp"
#include "flows/figure_requests.hpp"
#include "formats/container.hpp"
#include "info/info_command.hpp"
#include "request_text.hpp"
#include "statistics/percentiles.hpp"

namespace clipper {
namespace {

constexpr std::string_view kDescription =
    "Prints dtype, shape, memory order and size of tensors (.npy, .pb, raw) and of the members of archives "
    "(.npz, safetensors). With --stats, or an option that implies it, info also reads the "
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
    .help = "A file, an archive's member FILE:NAME, a directory",
    .details = R"(A file, a member ARCHIVE.npz:NAME, or a directory, which stands for all files of tensors below it
(FORMATS); `-` is standard input. If a file cannot be read, a line on standard error says why, and the others
are still shown.)"};

constexpr Option kRecursive{
    .names = "-r,--recursive",
    .help = "Accepted: info always takes directories",
    .details = R"(Changes nothing: info always takes directories.)"};

constexpr Option kStats{
    .names = "--stats",
    .help = "Range, mean, std, median, NaN count, histogram",
    .details = R"(Read all elements and print min, max, mean and population standard deviation of the finite ones,
the median, the numbers of NaN, inf and -inf, and a histogram. See THE STATISTICS.)"};

constexpr Option kPercentile{
    .names = "--percentile", .type = "PERCENTS",
    .help = "Print percentiles, such as 1,50,99; implies --stats",
    .details = R"(Print the values below which these percentages of the elements lie: 0 to 100, with at most 16
decimals, with or without `%`. Not for a stream. Implies `--stats`. See THE STATISTICS.)"};

constexpr Option kValue{
    .names = "--value", .type = "EXPRESSION",
    .help = "Print absmax/127, mean+3std, ...; repeatable",
    .details = R"(Print the value of EXPRESSION, such as `median+3*1.4826*mad`: see NUMBERS FROM THE DATA. Not for a
stream. Implies `--stats`.)"};

constexpr Option kMask{
    .names = "--mask", .type = "@FILE.npy", .value = Value::number,
    .needs = "--value",
    .help = "--value of the elements where FILE is not 0",
    .details = R"(Find `--value` where FILE, of bool or numbers, is not 0. The name may contain {stem} and so on, as in
clipper(1).)"};

constexpr Option kHistogramSvg{
    .names = "--histogram-svg", .type = "FILE.svg", .value = Value::file,
    .help = "Write the histogram of one tensor as a picture",
    .details = R"(Write the histogram of one tensor to FILE.svg, complete or not at all; lines mark `--min` and
`--max`. Implies `--stats`.)"};

constexpr Option kBins{
    .names = "--bins", .type = "N",
    .help = "At most N rows of the histogram; implies --stats",
    .details = R"(Print at most N bins, 2 to 20 (default). Implies `--stats`.)"};

constexpr Option kTable{
    .names = "--table", .type = "FORMAT", .words = [] { return Words{"text", "csv"}; },
    .excludes = {{"--json --histogram-svg"}},
    .help = "A row for each tensor: text or csv",
    .details = R"(Print a row for each tensor, even a single one, as `text` (default for several) or `csv`, without a
histogram.)"};

constexpr Option kMin{
    .names = "--min", .type = "X", .value = Value::number,
    .help = "Count elements less than X or @FILE.npy's",
    .details = R"(Count the elements less than X, as a clip would raise them, and mark X in the histogram. X is
compared exactly as typed; an array has a bound for each element, and no mark. Implies `--stats`.)"};

constexpr Option kMax{
    .names = "--max", .type = "X", .value = Value::number,
    .help = "Count elements greater than X or @FILE.npy's",
    .details = R"(Count the elements greater than X, as a clip would lower them, by the rules of
`--min`. Implies `--stats`.)"};

constexpr Option kNodata{
    .names = "--nodata", .type = "V", .value = Value::number,
    .help = "Leave out elements that equal V; repeatable",
    .details = R"(Leave elements that equal V out of all statistics and print how many there are. `nan` is every
NaN. Not for bool and dates. Implies `--stats`.)"};

constexpr Option kPerAxis{
    .names = "--per-axis", .type = "K",
    .excludes = {{"--histogram-svg"}},
    .help = "Statistics of each index along axis K; repeatable",
    .details = R"(Print the statistics of each index along axis K, negative from the end, over all other axes;
repeat it for pairs of indexes. In the output `x.npy[:, 2]` names index 2 of axis 1. Implies `--stats`.)"};

constexpr Option kTotal{
    .names = "--total",
    .excludes = {{"--histogram-svg"}},
    .help = "Statistics of all tensors together",
    .details = R"(Print the statistics of all tensors together: the numbers that `--pooled` finds. All must have one
dtype. An input that cannot be read ends the run. Implies `--stats`.)"};

constexpr Option kJson{
    .names = "--json",
    .help = "Print one line of JSON per tensor",
    .details = R"(Print a JSON object in one line for every tensor in place of text, with `--per-axis` for
every index. See JSON OUTPUT.)"};

// clang-format on

constexpr std::array kPositionals{Positional{&kFiles, Arity::many}};
constexpr auto kOptions =
    listed(std::array{&kRecursive}, kWalkOptions,
           std::array{&kStats, &kPercentile, &kValue, &kBins, &kTable, &kHistogramSvg, &kMin, &kMax, &kNodata,
                      &kMask, &kPerAxis, &kTotal},
           kReadingOptions, std::array{&kThreads, &kJson, &kProgress, &kNoProgress, &kColor, &kHelp});

constexpr std::array kCommon{&kStats, &kPercentile, &kMin, &kMax, &kDtype, &kJson};

/// The numbers of "1,50%,99.9".
std::vector<Number> parse_percentages(std::string_view text) {
  std::vector<Number> result;
  for (const std::string_view part : split(text, ',')) {
    const Percentage percentage = parse_percentage(long_name(kPercentile), part);
    result.push_back(*parse_number(percentage.text()));
    if (!is_percentile(result.back()))
      refuse(fmt::format("--percentile: {} has more than 16 decimal places", percentage.text()));
  }
  return result;
}

/// An expression with a figure.
Parameter value_of_text(const std::string& text) {
  Parameter value =
      end_of_text({.name = "value", .member = &Request::nodata_to, .grammar = Field::Grammar::figure}, text);
  if (!is_figure(value)) refuse(fmt::format("--value: '{}' is a number", text));
  check_places("value", value);
  return value;
}

}  // namespace

constexpr CommandSpec kInfoSpec{
    .run = &show_info,
    .name = "info",
    .summary = "print dtype and shape of tensors, and their statistics",
    .description = kDescription,
    .forms = kForms,
    .footer = kFooter,
    .positionals = kPositionals,
    .options = kOptions,
    .common = kCommon,
};

InfoCommand validate_info(const RawOptions& raw) {
  InfoCommand command;
  if (raw.texts(kFiles).empty()) refuse_missing(raw, "FILE", "see clipper info --help");
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
  for (const std::string& text : raw.texts(kValue)) command.values.push_back(value_of_text(text));
  if (raw.has(kMask)) set_mask(command.bounds, raw.text(kMask), command.reading);
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
  if (command.svg) expect_no_member(*command.svg);
  if (raw.has(kTable)) command.table = static_cast<Table::Format>(word_of(raw, kTable));
  if (raw.has(kBins)) command.bins = parse_count(long_name(kBins), raw.text(kBins), 2, Histogram::kMaxRows);
  command.statistics = command.svg || raw.has(kBins) || raw.has(kStats) || raw.has(kPercentile) ||
                       raw.has(kValue) || command.bounds.min || command.bounds.max || raw.has(kNodata) ||
                       command.is_divided();
  if (raw.has(kThreads)) command.engine.threads = parse_threads(raw.text(kThreads));
  if (command.statistics) command.progress = progress_when(raw);
  return command;
}

}  // namespace clipper
