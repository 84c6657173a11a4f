#include "clip/clip_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "clip/clip_option_table.hpp"
#include "command_line/command_line.hpp"
#include "command_line/given_number.hpp"
#include "command_line/terminal_options.hpp"
#include "command_line/values.hpp"

namespace clipper {
namespace {

using namespace clip_options;

const Profile* parse_profile(std::string_view text) {
  if (const Profile* const profile = profile_named(text)) return profile;
  refuse(fmt::format("--profile: '{}' is none of {}", text, fmt::join(profile_names(), ", ")));
}

MinAboveMax parse_min_above_max(std::string_view text) {
  if (const std::optional<MinAboveMax> meaning = min_above_max_named(text)) return *meaning;
  refuse(fmt::format("--min-above-max: '{}' is not error, min or max", text));
}

SimdLevel parse_simd_level(std::string_view text) {
  const std::optional<SimdLevel> level = simd_level_named(text);
  if (!level) refuse(fmt::format("--simd: '{}' is not baseline, v3 or v4", text));
  if (*level > simd_levels().back()) refuse(fmt::format("--simd {}: this CPU does not have it", text));
  return *level;
}

struct NumberOption {
  const Option* option;
  std::optional<Given> Request::*number;
};

constexpr std::array kNumbers{NumberOption{&kMin, &Request::min}, NumberOption{&kMax, &Request::max},
                              NumberOption{&kScale, &Request::scale}, NumberOption{&kBias, &Request::bias}};

/// The numbers that were typed, or those in files, which are read only when nothing else is wrong.
enum class NumberSource : bool { typed, files };

void take_numbers(const RawOptions& raw, NumberSource source, Request& request) {
  for (const NumberOption& row : kNumbers)
    if (raw.text(*row.option).starts_with('@') == (source == NumberSource::files))
      request.*row.number = given(raw, *row.option);
}

/// But for the numbers in files.
Request validate_request(const RawOptions& raw) {
  Request request;
  if (raw.has(kProfile)) request.profile = parse_profile(raw.text(kProfile));
  if (raw.has(kMinAboveMax)) request.min_above_max = parse_min_above_max(raw.text(kMinAboveMax));
  take_numbers(raw, NumberSource::typed, request);
  if (raw.has(kNan)) request.nan = parse_on_nan(raw.text(kNan));
  return request;
}

Percentage parse_percentage(std::string_view text) {
  if (const std::optional<Percentage> percentage = Percentage::parse(text)) return *percentage;
  refuse(fmt::format("--fail-if-clipped: '{}' is not a number from 0 to 100", text));
}

/// What all the files are if one option says so: the words for an error, and nothing if IN and OUT are typed.
std::vector<std::string_view> destinations(const RawOptions& raw) {
  std::vector<std::string_view> given;
  for (const Option* const option : {&kInPlace, &kOutputDir, &kOutput})
    if (raw.has(*option)) given.push_back(long_name(*option));
  return given;
}

bool has_standard_input(const RawOptions& raw) {
  const std::vector<std::string>& files = raw.texts(kFiles);
  return std::find(files.begin(), files.end(), "-") != files.end();
}

void validate_list(const RawOptions& raw, Command& command) {
  if (raw.has(kFilesFrom)) command.list = FileList{raw.text(kFilesFrom), '\n'};
  if (raw.has(kFiles0From)) command.list = FileList{raw.text(kFiles0From), '\0'};
  if (!command.list) return;
  if (command.list->path.empty()) refuse("--files-from: no file (an empty variable?)");
  if (command.list->path == "-" && has_standard_input(raw))
    refuse("standard input cannot be both LIST and FILE");
}

bool is_without_effect(const RawOptions& raw, const Request& request) {
  const Profile& profile = *request.profile;
  const bool has_numbers =
      std::ranges::any_of(kNumbers, [&](const NumberOption& row) { return raw.has(*row.option); });
  return !has_numbers && profile.bounds != Profile::Bounds::required &&
         profile.absent_bound == Profile::AbsentBound::none && request.nan.action == OnNan::keep;
}

/// --verify: one input, and nothing is written but perhaps the golden file.
void validate_golden(const RawOptions& raw, Command& command) {
  const std::vector<std::string>& files = raw.texts(kFiles);
  for (const Option* const option :
       {&kInPlace, &kDirect, &kOutput, &kOutputDir, &kRelativeTo, &kFilesFrom, &kFiles0From, &kSync,
        &kNoClobber, &kKeepGoing, &kDryRun, &kFailIfClipped, &kShard, &kSplitOutput, &kRecursive})
    if (raw.has(*option)) refuse(fmt::format("--verify and {} contradict each other", long_name(*option)));
  if (raw.text(kVerify).empty()) refuse("--verify: no file (an empty variable?)");
  if (files.empty()) refuse("IN is missing (clipper --help says more)");
  if (files.size() > 1) refuse(fmt::format("{}: a second file; --verify takes only IN", files[1]));
  if (files[0] == "-" && raw.text(kVerify) == "-") refuse("standard input cannot be both files");
  command.inputs = files;
  command.destination = Verify{raw.text(kVerify), raw.has(kUpdateGolden)};
}

/// Of destinations() that are not empty.
Destination destination_of_all(const RawOptions& raw) {
  if (raw.has(kOutputDir)) return IntoDirectory{raw.text(kOutputDir), raw.value(kRelativeTo)};
  if (raw.has(kOutput)) return ByTemplate{raw.text(kOutput)};
  if (raw.has(kDirect)) return Direct{};
  return InPlace{};
}

void validate_files(const RawOptions& raw, Command& command) {
  const std::vector<std::string>& files = raw.texts(kFiles);
  const std::vector<std::string_view> to = destinations(raw);
  command.inputs = files;
  validate_list(raw, command);
  if (command.inputs.empty() && !command.list) refuse("IN is missing (clipper --help says more)");
  if (to.size() > 1) refuse(fmt::format("{} and {} contradict each other", to[0], to[1]));
  if (raw.has(kInPlace) && raw.has(kShard))
    refuse(
        "--in-place with --shard: a shard that runs again would scale twice; give IN OUT, or FILES and "
        "--output-dir, and rename the results");
  if (raw.has(kInPlace) && raw.has(kNoClobber)) refuse("--in-place and --no-clobber contradict each other");
  if (raw.has(kDirect) && !raw.has(kInPlace)) refuse("--direct needs --in-place");
  if (raw.has(kUpdateGolden)) refuse("--update-golden needs --verify");
  if (raw.has(kRecursive) && to.empty())
    refuse("--recursive needs --output-dir, --output or --in-place to say where results go");
  if (raw.has(kRecursive) && raw.has(kShard) && raw.has(kOutput))
    refuse(
        "--recursive and --output with --shard: a shard could take another shard's results as inputs; use "
        "--output-dir");
  if (raw.has(kRelativeTo) && !raw.has(kOutputDir)) refuse("--relative-to needs --output-dir");
  if (raw.value(kRelativeTo) == "") refuse("--relative-to: no directory (an empty variable?)");
  if (raw.value(kOutputDir) == "" || raw.value(kOutput) == "")
    refuse(fmt::format("{}: no name (an empty variable?)", to[0]));
  if (!to.empty()) {
    if (has_standard_input(raw) && raw.has(kOutputDir))
      refuse("--output-dir: standard input has no name there");
    command.destination = destination_of_all(raw);
    return;
  }
  if (command.list) refuse("--files-from needs --in-place, --output or --output-dir");
  if (files.size() == 1) refuse("OUT is missing (- is standard output; --in-place replaces IN)");
  if (files.size() > 2)
    refuse(fmt::format("{}: a third file; many inputs need --output-dir, --output or --in-place", files[2]));
  command.inputs.pop_back();
  command.destination = ToFile{files.back()};
}

/// One tensor for all shards, unless they divide many files.
void validate_shard(const RawOptions& raw, Command& command) {
  const bool splits = raw.has(kSplitOutput);
  const ToFile* const to = std::get_if<ToFile>(&command.destination);
  if (raw.has(kShard)) command.share = parse_shard(raw.text(kShard));
  if (splits && !command.share) refuse("--split-output needs --shard K/N");
  if (splits && to == nullptr) refuse("--split-output needs IN and OUT, one tensor");
  if (!command.share || to == nullptr) return;
  if (command.inputs.front() == "-" || to->path == "-")
    refuse("--shard: IN and OUT must be files, which all processes reach; not standard input or output");
  if (raw.has(kFailIfClipped))
    refuse("--fail-if-clipped: a shard of a tensor does not see what the others clip");
  const std::string out = to->path;
  const Shard shard = *std::exchange(command.share, std::nullopt);
  if (splits)
    command.destination = SlabOf{out, shard};
  else
    command.destination = PartOf{out, shard};
}

/// OUT, or what the shards were given.
void validate_finalize(const RawOptions& raw, Command& command) {
  const std::vector<std::string>& files = raw.texts(kFiles);
  for (const Option* const option :
       {&kSplitOutput, &kVerify, &kUpdateGolden, &kInPlace, &kDirect, &kOutput, &kOutputDir, &kRelativeTo,
        &kFilesFrom, &kFiles0From, &kFailIfClipped, &kKeepGoing, &kDryRun, &kRecursive})
    if (raw.has(*option)) refuse(fmt::format("--finalize and {} contradict each other", long_name(*option)));
  if (files.empty()) refuse("--finalize: OUT is missing (clipper --help says more)");
  const bool has_operation =
      !is_without_effect(raw, command.request) || raw.has(kShard) || raw.has(kDtype) || raw.has(kTrailing);
  if (files.size() != (has_operation ? 2 : 1) || has_standard_input(raw))
    refuse("--finalize takes one OUT, or the operation and the IN OUT of the shards");
  command.destination =
      Finalize{files.back(), raw.has(kShard) ? parse_shard(raw.text(kShard)).count : std::uint64_t{0}};
  command.inputs.assign(files.begin(), files.end() - 1);
}

bool writes_to(const Destination& destination, std::string_view path) {
  const ToFile* const to = std::get_if<ToFile>(&destination);
  return to != nullptr && to->path == path;
}

void validate_running(const RawOptions& raw, Command& command) {
  command.recursive = raw.has(kRecursive);
  command.keep_going = raw.has(kKeepGoing);
  command.dry_run = raw.has(kDryRun);
  command.json = raw.has(kJson);
  command.verbose = raw.has(kVerbose);
  command.quiet = raw.has(kQuiet);
  command.tensor_on_stdout = raw.value(kOutput) == "-" || writes_to(command.destination, "-");
  command.progress = raw.has(kQuiet) ? Progress::When::never : progress_when(raw);
  if (raw.has(kThreads)) command.engine.threads = parse_threads(raw.text(kThreads));
  if (raw.has(kChunkSize))
    command.engine.chunk_size = parse_count("--chunk-size", raw.text(kChunkSize), 4096, std::size_t{1} << 30);
  if (raw.has(kSimd)) command.engine.level = parse_simd_level(raw.text(kSimd));
}

}  // namespace

Command validate_clip(const RawOptions& raw) {
  Command command;
  command.request = validate_request(raw);
  for (const std::string& file : raw.texts(kFiles))
    if (file.empty()) refuse("a FILE is named '' (an empty variable?)");
  if (raw.has(kFinalize)) {
    validate_finalize(raw, command);
  } else if (raw.has(kVerify)) {
    validate_golden(raw, command);
  } else {
    validate_files(raw, command);
    validate_shard(raw, command);
  }
  validate_running(raw, command);
  if (raw.has(kNoClobber)) command.existing = OutputFile::Existing::refuse;
  if (raw.has(kSync)) command.durability = OutputFile::Durability::on_disk;
  if (raw.has(kFailIfClipped)) command.max_clipped = parse_percentage(raw.text(kFailIfClipped));
  if (raw.has(kDtype)) command.dtype = parse_dtype(raw.text(kDtype));
  if (raw.has(kTrailing)) command.ignore_trailing = is_second_word(kTrailing, raw.text(kTrailing));
  if (!raw.has(kFinalize) && is_without_effect(raw, command.request))
    refuse(
        "nothing to do without --min, --max, --scale, --bias or --nan (clipper compare compares two files, "
        "clipper info says what is in one)");
  take_numbers(raw, NumberSource::files, command.request);
  return command;
}

}  // namespace clipper
