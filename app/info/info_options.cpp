#include "info/info_options.hpp"

#include <array>

#include "command_line/command_line.hpp"
#include "command_line/given_number.hpp"
#include "command_line/shared_options.hpp"
#include "command_line/values.hpp"

namespace clipper {
namespace {

constexpr std::string_view kDescription =
    "Prints dtype, shape, memory order and size of .npy tensors, and with --stats what is in them.";

constexpr std::string_view kFooter = R"(
Examples:
  clipper info x.npy                           reads only the header
  clipper info --stats *.npy                   min, max and mean without NaN, the mean without infinities
  clipper info --min 0 --max 6 x.npy           what a clip would change

Exit status:
  as of clipper, the highest of all files; each that cannot be read is a line on standard error
)";

constexpr Option kFiles{"FILES", "Any number of .npy files; - is standard input", {}, Value::tensor};
constexpr Option kStats{"--stats", "Read the elements: min, max, mean, NaN, infinities, histogram"};
constexpr Option kMin{"--min", "How many elements are less than X; implies --stats", "X", Value::number};
constexpr Option kMax{"--max", "How many elements are greater than X; implies --stats", "X", Value::number};
constexpr Option kJson = json_option("As JSON: one object in a line for each file");
constexpr Option kDtype = dtype_option("The dtype; needed for bfloat16 that was saved as |V2");

constexpr std::array kPositionals{Positional{&kFiles, Arity::many}};
constexpr std::array kOptions{&kStats, &kMin, &kMax, &kJson, &kDtype, &kTrailing, &kThreads, &kHelp};
constexpr std::array kGroups{OptionGroup{kGeneralTitle, kOptions}};

}  // namespace

constexpr CommandSpec kInfoSpec{
    .name = "info",
    .summary = "prints dtype, shape, memory order and size of .npy tensors, and with --stats what is in them",
    .description = kDescription,
    .footer = kFooter,
    .positionals = kPositionals,
    .groups = kGroups,
};

InfoCommand validate_info(const RawOptions& raw) {
  InfoCommand command;
  if (raw.texts(kFiles).empty()) refuse("a FILE is missing (clipper info --help says more)");
  for (const std::string& file : raw.texts(kFiles))
    if (file.empty()) refuse("a FILE is named '' (an empty variable?)");
  command.inputs = raw.texts(kFiles);
  command.json = raw.has(kJson);
  command.bounds.min = given(raw, kMin);
  command.bounds.max = given(raw, kMax);
  command.statistics = raw.has(kStats) || command.bounds.min || command.bounds.max;
  if (raw.has(kDtype)) command.dtype = parse_dtype(raw.text(kDtype));
  if (raw.has(kTrailing)) command.ignore_trailing = is_second_word(kTrailing, raw.text(kTrailing));
  if (raw.has(kThreads)) command.engine.threads = parse_threads(raw.text(kThreads));
  return command;
}

}  // namespace clipper
