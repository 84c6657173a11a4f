#include "clip/clip_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "clip/clip_option_table.hpp"
#include "clip/jobs.hpp"
#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "files/place.hpp"
#include "flows/figure_requests.hpp"
#include "flows/saved_figures.hpp"
#include "formats/container.hpp"
#include "npy/dict.hpp"
#include "os/os.hpp"
#include "request_text.hpp"

namespace clipper {
namespace {

using namespace clip_options;
using namespace match_options;

constexpr std::string_view kDescription =
    "Clips every element of tensors (.npy, .pb, raw) and of archives (.npz, safetensors) to [MIN, MAX]. All "
    "other elements keep their exact bits.";

constexpr std::array<std::string_view, 6> kForms{
    "[OPTIONS] IN OUT",
    "[OPTIONS] --in-place FILE...",
    "[OPTIONS] --output-dir DIR FILE...",
    "[OPTIONS] --output TEMPLATE FILE...",
    "[OPTIONS] --verify GOLDEN IN...",
    "--finalize OUT",
};

constexpr std::string_view kFooter = R"(
Examples:
  clipper --min 0 --max 6 in.npy out.npy
  clipper --min -1 --max 1 --in-place *.npy
  clipper --min 0 --output-dir clipped --recursive tensors
  clipper --min 0 --output '{dir}/{stem}.clip.npy' *.npy
  clipper --scale 0.5 --bias 1 --max 6 in.npy out.npy
  clipper --min 1% --max 99% in.npy out.npy
  clipper --scale 50 --bias 128 --to uint8 in.npy out.npy
  clipper --min 1% --max 99% --stretch 0:255 --to uint8 in.npy out.npy
  clipper --min 0 --replace-below nan in.npy out.npy
  clipper --min -1 --max 1 --member w in.npz out.npz
  clipper --min 0 in.npz:w out.npy
  clipper --min @lo.npy --max @hi.npy in.npy out.npy
  clipper --profile onnx-6 --min 0 --max 6 in.npy out.npy
  clipper --max 6 in.npy --verify golden.npy
  clipper --max 6 --recursive in --verify golden/ --tolerance torch
  producer | clipper --max 255 - - | consumer
  find . -name '*.npy' -print0 | clipper --max 6 --in-place --files0-from -
  mpirun clipper --shard auto --max 6 x.npy y.npy && clipper --finalize y.npy

Exit status:
  0      success
  1      --fail-if-clipped: too many clipped; --verify: a difference was found
  2      wrong usage
  3      an input is not a valid tensor or archive, or the profile rejects it
  4      an I/O error, or not enough memory
  5      refused to avoid data loss, or another program has locked the file
  6      output written, but not confirmed to be on disk
  128+n  ended by signal n
)";

constexpr std::array kPositionals{Positional{&kFiles, Arity::many}};

constexpr auto kOptions = listed(
    [] {
      std::array<const Option*, kOfRows.size()> rows{};
      std::ranges::transform(kOfRows, rows.begin(), [](const Option& row) { return &row; });
      return rows;
    }(),
    std::array{&kFit, &kApply, &kFailIfClipped, &kThen,  //
               &kInPlace, &kDirect, &kOutputDir, &kRelativeTo, &kFlat, &kOutput, &kRecursive},
    kWalkOptions, kReadingOptions,
    std::array{&kUnclipped,  //
               &kToRaw,        &kFilesFrom,    &kFiles0From,  &kAllowEmpty,    &kNoClobber,  &kForce,
               &kSkipExisting, &kNewer,        &kBackup,      &kKeepGoing,     &kDryRun,     &kSync,  //
               &kVerify,       &kUpdateGolden, &kGoldenDtype, &kRtol,          &kAtol,       &kUlp,
               &kTolerance,    &kNanDiffer,    &kMaxMismatch, &kMetrics,       &kMinCosine,  &kMaxRmse,
               &kMinSqnr,      &kShow,         &kReport,                        //
               &kShard,        &kSplitOutput,  &kFinalize,    &kDiscardShards,  //
               &kThreads,      &kJson,         &kSummary,     &kProgress,      &kNoProgress, &kColor,
               &kVerbose,      &kQuiet,        &kLogLevel,    &kLogFile,       &kHelp,       &kVersion,  //
               &kChunkSize,    &kSimd});

constexpr std::array kCommon{of_row("--min"),
                             of_row("--max"),
                             of_row("--scale"),
                             of_row("--bias"),
                             of_row("--nan"),
                             of_row("--to"),
                             of_row("--profile"),
                             &kInPlace,
                             &kOutputDir,
                             &kRecursive,
                             &kDryRun,
                             &kVerify,
                             &kVerbose};

/// --fit, --apply and --then are of all stages.
constexpr bool belongs_to_stage(const Option& option) {
  return std::ranges::any_of(kOfRows, [&](const Option& row) { return &row == &option; }) ||
         &option == &kFailIfClipped;
}

/// The option of a member of the request.
const Option& option_of(const Field& field) {
  return *option_named(kClipSpec, field.option());
}

enum class NumberSource : bool { typed, files };

void take_texts(const RawOptions& raw, NumberSource source, Request& request, const Reading& files = {}) {
  for (const Field& field : fields::kAll) {
    const Option& option = option_of(field);
    const bool names_one = field.number() != nullptr && names_file(raw.text(option));
    if (!raw.has(option) || names_one != (source == NumberSource::files)) continue;
    if (field.grammar == Field::Grammar::mask)
      set_mask(request, raw.text(option), files);
    else if (!field.is_list())
      set_text(field, request, option.type.empty() ? "true" : raw.text(option), files);
    for (const std::string& text : raw.texts(option))
      if (field.is_list()) set_text(field, request, text, files);
  }
}

/// Calls use(options, i) for the options of each stage, of which the first is 0.
template <class Use>
void for_each_typed(const RawOptions& raw, const Use& use) {
  for (std::size_t i = 0; i <= raw.then().size(); ++i)
    with_path(stage_name(i), [&] { use(i == 0 ? raw : raw.then()[i - 1], i); });
}

/// Whether any stage has the option.
bool any_typed(const RawOptions& raw, const Option& option) {
  return raw.has(option) ||
         std::ranges::any_of(raw.then(), [&](const RawOptions& each) { return each.has(option); });
}

/// The request, still without the numbers in files, which are read after all other options are validated.
Request typed_stage(const RawOptions& raw) {
  Request request;
  constexpr const Option& kTo = *of_row("--to");
  const std::string& to = raw.text(kTo);
  const DTypeWord word = dtype_word(to);
  if (!word.dtype && word.objection.empty() && to.find_first_of("./") != std::string::npos)
    refuse(fmt::format("--to: '{}' is not a dtype; OUT comes last: clipper --to {} IN OUT", to, kTo.type));
  take_texts(raw, NumberSource::typed, request);
  check_texts(request);
  return request;
}

Request typed_request(const RawOptions& raw) {
  Request request;
  for_each_typed(raw, [&](const RawOptions& typed, std::size_t i) {
    if (i == 0)
      request = typed_stage(typed);
    else
      request.then.push_back(typed_stage(typed));
  });
  return request;
}

/// Whether the stage that is typed would change no element of any tensor.
bool is_without_effect(const RawOptions& raw, const Request& request) {
  const Profile& profile = *request.profile;
  const bool changes = std::ranges::any_of(
      fields::kAll, [&](const Field& field) { return !field.is_detail && raw.has(option_of(field)); });
  return !changes && profile.bounds == Profile::Bounds::optional &&
         profile.absent_bound == Profile::AbsentBound::none && request.action_on_nan() == OnNan::keep;
}

/// What somebody may want who asks for no change of elements.
std::string way_to_do_nothing(const RawOptions& raw, const Reading& reading) {
  if (!reading.raw && reading.format == nullptr && !raw.has(kToRaw))
    return "clipper info describes a file, clipper compare compares two";
  return fmt::format("--to {} writes the same elements to another kind of file",
                     reading.raw ? traits(reading.raw->dtype).name : "with their dtype");
}

SimdLevel simd_level_of(const RawOptions& raw) {
  const SimdLevel level = kSimdLevels.at(word_of(raw, kSimd));
  if (level > simd_levels().back())
    refuse(fmt::format("--simd: this CPU does not have the level {}", to_string(level)));
  return level;
}

/// Whether an option decides where all results go. Without such an option, OUT is typed.
bool names_destination(const RawOptions& raw) {
  return raw.has(kInPlace) || raw.has(kOutputDir) || raw.has(kOutput);
}

bool has_standard_input(const RawOptions& raw) {
  const std::vector<std::string>& files = raw.texts(kFiles);
  return std::find(files.begin(), files.end(), "-") != files.end();
}

void validate_list(const RawOptions& raw, Command& command) {
  if (raw.has(kFilesFrom)) command.list = FileList{raw.text(kFilesFrom), '\n', raw.has(kAllowEmpty)};
  if (raw.has(kFiles0From)) command.list = FileList{raw.text(kFiles0From), '\0', raw.has(kAllowEmpty)};
  if (command.list && command.list->path == "-" && has_standard_input(raw))
    refuse("standard input cannot be both LIST and FILE");
}

IntoDirectory into_directory(const RawOptions& raw, const Option& option) {
  const std::vector<std::string>& files = raw.texts(kFiles);
  const bool has_list = raw.has(kFilesFrom) || raw.has(kFiles0From);
  IntoDirectory into{raw.text(option), raw.value(kRelativeTo), std::nullopt, raw.has(kFlat),
                     long_name(option)};
  if (raw.has(kRecursive) && files.size() == 1 && !has_list) into.only_input = files.front();
  return into;
}

/// --verify writes no file except golden files with --update-golden. With many inputs GOLDEN is a directory.
void validate_golden(const RawOptions& raw, Command& command) {
  const std::vector<std::string>& files = raw.texts(kFiles);
  command.inputs = files;
  validate_list(raw, command);
  if (files.empty() && !command.list) refuse_missing(raw, "IN", "see clipper --help");
  const std::string& golden = raw.text(kVerify);
  if (has_standard_input(raw) && golden == "-") refuse("standard input cannot be both IN and GOLDEN");
  const bool many = files.size() > 1 || command.list || raw.has(kRecursive);
  const bool has_directory = is_directory(golden) || golden.ends_with('/');
  if (many && !has_directory && find_file(golden))
    refuse(
        fmt::format("--verify: {} is not a directory; with several inputs, GOLDEN is the directory of "
                    "their golden files",
                    golden));
  Verify verify{.golden = golden,
                .updates = raw.has(kUpdateGolden),
                .matching = validate_matching(raw),
                .reports = parse_reports(raw.texts(kReport)),
                .prints_all = raw.has(kMetrics),
                .layout = std::nullopt};
  verify.golden_dtype = parse_dtype(raw, kGoldenDtype);
  if (!has_rule(raw)) {
    verify.matching.compared = Compared::bits;
    verify.matching.rule.bits = true;
  }
  if (many || has_directory) {
    if (has_standard_input(raw))
      refuse("--verify of a directory cannot name the golden file of standard input");
    verify.layout = into_directory(raw, kVerify);
  } else {
    for (const Option* const option : {&kRelativeTo, &kFlat})
      if (raw.has(*option)) refuse(fmt::format("{} needs a directory as GOLDEN", long_name(*option)));
  }
  command.destination = std::move(verify);
}

/// The destination that an option names.
Destination destination_of_all(const RawOptions& raw) {
  if (raw.has(kOutputDir)) return into_directory(raw, kOutputDir);
  if (raw.has(kOutput)) return ByTemplate{raw.text(kOutput)};
  return InPlace{raw.has(kDirect)};
}

/// `clipper --min 0 <in.npy >out.npy`: standard input is read only if it is named.
[[noreturn]] void refuse_without_input(const RawOptions& raw) {
  if (raw.has(kInPlace)) refuse("FILE is missing: --in-place replaces each FILE by its result");
  const bool is_redirected = os::isatty(STDIN_FILENO) == 0 && os::isatty(STDOUT_FILENO) == 0;
  const bool has_out = names_destination(raw) || raw.has(kVerify);
  refuse_missing(raw, "IN",
                 has_out || !is_redirected ? "see clipper --help"
                                           : "to read standard input and write standard output, use - -");
}

void validate_files(const RawOptions& raw, Command& command) {
  const std::vector<std::string>& files = raw.texts(kFiles);
  command.inputs = files;
  validate_list(raw, command);
  if (command.inputs.empty() && !command.list) refuse_without_input(raw);
  if (raw.has(kRecursive) && raw.has(kShard) && raw.has(kOutput))
    refuse(
        "--recursive, --shard and --output cannot be used together: a shard could take another shard's "
        "results as inputs; use --output-dir");
  if (names_destination(raw)) {
    if (has_standard_input(raw) && raw.has(kOutputDir))
      refuse("--output-dir cannot name a result of standard input; use OUT or --output");
    command.destination = destination_of_all(raw);
    return;
  }
  const bool are_many = files.size() > 2 || command.list || raw.has(kRecursive);
  if (are_many && raw.has(kDryRun) && raw.has(kKeepGoing)) {
    command.destination = Nowhere{};
    return;
  }
  if (files.size() > 1 && (is_directory(files.back()) || files.back().ends_with('/')))
    refuse(fmt::format("{}: is a directory{}; to write results into it, use --output-dir {}", files.back(),
                       is_directory(files.back()) ? "" : " by its name, and does not exist",
                       npy::name_for_commands(files.back(), kOutputDir.type)));
  for (const Option* const option : {&kFilesFrom, &kFiles0From, &kRecursive})
    if (raw.has(*option))
      refuse(fmt::format("{} needs --output-dir, --output, --in-place or --verify", long_name(*option)));
  if (files.size() == 1) refuse_missing(raw, "OUT", "- is standard output, and --in-place replaces IN");
  if (files.size() > 2)
    refuse(
        fmt::format("too many files: '{}' follows IN and OUT; for several inputs use --output-dir, --output "
                    "or --in-place",
                    files[2]));
  command.inputs.pop_back();
  command.destination = ToFile{files.back()};
}

/// With IN and OUT, the shards divide one tensor; otherwise they divide the list of files.
void validate_shard(const RawOptions& raw, Command& command) {
  const bool splits = raw.has(kSplitOutput);
  const ToFile* const to = std::get_if<ToFile>(&command.destination);
  if (to != nullptr && splits) expect_no_member(to->path);
  if (raw.has(kShard)) command.share = parse_shard(raw.text(kShard));
  if (splits && to == nullptr) refuse("--split-output needs one tensor, IN and OUT");
  if (!command.share || to == nullptr) return;
  if (command.inputs.front() == "-" || to->path == "-")
    refuse("--shard needs files as IN and OUT, not standard input or output");
  if (any_typed(raw, kFailIfClipped))
    refuse(
        "--fail-if-clipped and --shard cannot be used together on one tensor: a shard does not know what the "
        "other shards clip");
  for (const Option* const option : {&kMember, &kExcludeMember, &kSkipExisting, &kNewer, &kBackup})
    if (raw.has(*option)) refuse_pair(kShard, *option);
  command.destination = ShardOf{to->path, *std::exchange(command.share, std::nullopt), splits};
}

/// --finalize takes OUT alone, or all options of the shards with their IN and OUT.
void validate_finalize(const RawOptions& raw, Command& command) {
  const std::vector<std::string>& files = raw.texts(kFiles);
  if (files.empty()) refuse("OUT is missing; --finalize takes the OUT of the shards");
  const auto is_of_shards = [&](const Option* option) { return option != &kNoCache && raw.has(*option); };
  const bool has_operation = !is_without_effect(raw, command.settings.request) || raw.has(kApply) ||
                             raw.has(kShard) || raw.has(kThen) ||
                             std::ranges::any_of(kReadingOptions, is_of_shards);
  if (files.size() != (has_operation ? 2 : 1) || has_standard_input(raw))
    refuse("--finalize takes only OUT, or all options of the shards with their IN OUT");
  command.destination =
      Finalize{files.back(), raw.has(kShard) ? parse_shard(raw.text(kShard)).count : std::uint64_t{0}};
  command.inputs.assign(files.begin(), files.end() - 1);
}

/// --discard-shards takes OUT alone.
void validate_discard(const RawOptions& raw, Command& command) {
  const std::vector<std::string>& files = raw.texts(kFiles);
  if (files.size() != 1 || files.front() == "-") refuse("--discard-shards takes only OUT");
  command.destination = DiscardShards{files.front()};
}

/// Whether the path is "-" or leads to the file or pipe that is standard output, as /dev/stdout does.
bool is_standard_output(const std::string& path) {
  os::Status output{};
  os::Status named{};
  return path == "-" || (os::fstat(STDOUT_FILENO, &output) == 0 && !S_ISCHR(output.st_mode) &&
                         os::stat(path.c_str(), &named) == 0 && id_of(named) == id_of(output));
}

void validate_running(const RawOptions& raw, Command& command) {
  command.recursive = raw.has(kRecursive);
  command.allow_empty = raw.has(kAllowEmpty);
  for (const Option* const option : kWalkOptions)  // other commands walk without --recursive
    if (raw.has(*option) && !command.recursive)
      refuse(fmt::format("{} needs --recursive", long_name(*option)));
  command.walk = parse_walk(raw);
  command.keep_going = raw.has(kKeepGoing);
  command.dry_run = raw.has(kDryRun);
  command.json = raw.has(kJson);
  command.log = log_levels(raw, kVerbose);
  command.summary = raw.has(kSummary);
  command.tensor_on_stdout = command.json && tensor_goes_to_stdout(raw);
  command.progress = command.log.shown == Level::error ? Progress::When::never : progress_when(raw);
  if (raw.has(kThreads)) command.engine.threads = parse_threads(raw.text(kThreads));
  command.engine.mapping_cpus = 4;  // on two CPUs it takes longer, also with more threads
  if (raw.has(kChunkSize))
    command.engine.chunk_size = parse_count("--chunk-size", raw.text(kChunkSize), 4096, std::size_t{1} << 30);
  if (raw.has(kSimd)) command.engine.level = simd_level_of(raw);
}

/// Refuses what cp takes as --backup=WORD, and a suffix that is typed as the next word.
void validate_backup(const RawOptions& raw) {
  const std::string& suffix = raw.text(kBackup);
  constexpr std::array<std::string_view, 8> kWordsOfCp{"numbered", "existing", "simple", "none",
                                                       "off",      "nil",      "never",  "t"};
  if (std::ranges::find(kWordsOfCp, suffix) != kWordsOfCp.end())
    refuse(
        fmt::format("--backup: '{}' is no suffix, such as ~ or .bak; there is one backup of a file", suffix));
  if (suffix.find('/') != std::string::npos)
    refuse(fmt::format("--backup: '{}' has a slash; a backup is in the same directory", suffix));
  for (const std::string& file : raw.texts(kFiles))
    if (suffix == kBackup.implied && file.starts_with('.') && file.find('/') == file.npos && !find_file(file))
      refuse(fmt::format("{}: is no file; --backup takes its suffix after =: --backup={}", file,
                         npy::name_for_commands(file, kBackup.type)));
}

/// What happens to outputs that exist.
void validate_existing(const RawOptions& raw, Command& command) {
  if (raw.has(kNoClobber) || (raw.has(kFlat) && !raw.has(kForce)))
    command.existing = OutputFile::Existing::refuse;
  if (raw.has(kSkipExisting)) command.skip = Command::Skip::existing;
  if (raw.has(kNewer)) command.skip = Command::Skip::not_newer;
  if (raw.has(kBackup)) validate_backup(raw);
  if (raw.has(kBackup)) command.settings.backup = Backup{raw.text(kBackup), raw.has(kForce)};
}

/// How inputs are read, and which tensors.
void validate_reading(const RawOptions& raw, Command& command) {
  command.settings.reading = parse_reading(raw);
  command.settings.to_raw = raw.has(kToRaw);
  command.settings.reading.takes_integers =
      !raw.has(kRecursive) && !raw.has(kFilesFrom) && !raw.has(kFiles0From);
  const bool is_many = command.inputs.size() > 1 || command.list || command.recursive ||
                       std::ranges::any_of(command.inputs, &is_index);
  auto [members, only] = parse_choice(raw, is_many);
  command.settings.selection = {std::move(members), only,
                                static_cast<Selection::Other>(word_of(raw, kUnclipped))};
}

}  // namespace

constexpr CommandSpec kClipSpec{.run = &run_clip,
                                .name = "",
                                .summary = "clip tensors to bounds",
                                .description = kDescription,
                                .forms = kForms,
                                .footer = kFooter,
                                .positionals = kPositionals,
                                .options = kOptions,
                                .common = kCommon,
                                .has_groups = true,
                                .begins_stage = &kThen,
                                .is_of_stage = &belongs_to_stage};

bool tensor_goes_to_stdout(const RawOptions& raw) {
  const std::vector<std::string>& files = raw.texts(kFiles);
  const bool has_out = !names_destination(raw) && !raw.has(kVerify) && files.size() > 1;
  return is_standard_output(raw.value(kOutput).value_or("")) || (has_out && is_standard_output(files.back()));
}

Command validate_clip(const RawOptions& raw) {
  Command command;
  command.settings.request = typed_request(raw);
  validate_running(raw, command);  // before the files: `-j in.npy out.npy` lacks a number, not OUT
  if (raw.has(kDiscardShards)) {
    validate_discard(raw, command);
  } else if (raw.has(kFinalize)) {
    validate_finalize(raw, command);
  } else if (raw.has(kVerify)) {
    validate_golden(raw, command);
  } else {
    validate_files(raw, command);
    validate_shard(raw, command);
  }
  if (std::holds_alternative<InPlace>(command.destination))
    command.walk.takes = Walked::always;  // nobody rewrites weights by accident
  validate_existing(raw, command);
  if (raw.has(kSync)) command.settings.durability = OutputFile::Durability::on_disk;
  validate_reading(raw, command);
  command.settings.then_max_clipped.resize(raw.then().size());
  for_each_typed(raw, [&](const RawOptions& typed, std::size_t i) {
    Request& stage = i == 0 ? command.settings.request : command.settings.request.then[i - 1];
    if (typed.has(kFailIfClipped))
      (i == 0 ? command.settings.max_clipped : command.settings.then_max_clipped[i - 1]) =
          parse_share("--fail-if-clipped", typed.text(kFailIfClipped));
    const bool needs_none = raw.then().empty() && (raw.has(kFinalize) || raw.has(kDiscardShards));
    if (!needs_none && !raw.has(kApply) && is_without_effect(typed, stage))
      refuse(std::string(i == 0 && raw.has(kThen) ? "stage 1: " : "") +
             "nothing to do without --min, --max, --scale, --bias, --max-norm, --subtract, --divide, "
             "--stretch, --nan, --nodata-to, --mask-to, --to or --round; " +
             (raw.then().empty() ? way_to_do_nothing(raw, command.settings.reading)
                                 : "--then stands between two stages"));
    take_texts(typed, NumberSource::files, stage, command.settings.reading);
  });
  const auto has_own_mask = [](const Request& stage) { return is_mask_of_each(stage.mask); };
  if (any_stage(command.settings.request, has_own_mask))
    command.settings.read_masks = [files = command.settings.reading](Request& request,
                                                                     const std::string& input) {
      read_mask(request, input, files);
      for (Request& stage : request.then) read_mask(stage, input, files);
    };
  command.applied = raw.text(kApply);
  if (raw.has(kApply)) set_figures(command.settings.request, command.applied, command.settings.reading);
  if (raw.has(kFit))
    command.settings.saved =
        std::make_shared<SavedFigures>(raw.text(kFit), are_pooled(command.settings.request), command.existing,
                                       command.settings.durability, command.settings.backup);
  // A warning says how many elements become nodata.
  command.settings.counting =
      command.json ||
      any_stage(command.settings.request, [](const Request& stage) { return !stage.nodata.empty(); }) ||
      command.log.want(command.result_level());
  return command;
}

}  // namespace clipper
