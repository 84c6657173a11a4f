#include "clip/clip_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "clip/clip_option_table.hpp"
#include "command_line/choices.hpp"
#include "command_line/given_number.hpp"
#include "command_line/shard_option.hpp"
#include "error.hpp"

namespace clipper {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, message);
}

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

Request understood_request(const CLI::App& app, const Typed& typed) {
  Request request;
  const auto take = [&](const char* name, const std::string& text, std::optional<Given>& into) {
    if (app.count(name) > 0) into = parse_given(name, text);
  };
  take("--min", typed.min, request.min);
  take("--max", typed.max, request.max);
  take("--scale", typed.scale, request.scale);
  take("--bias", typed.bias, request.bias);
  if (app.count("--profile") > 0) request.profile = parse_profile(typed.profile);
  if (app.count("--nan") > 0) request.nan = parse_on_nan(typed.nan);
  if (app.count("--min-above-max") > 0) request.min_above_max = parse_min_above_max(typed.min_above_max);
  return request;
}

Percentage parse_percentage(std::string_view text) {
  if (const std::optional<Percentage> percentage = Percentage::parse(text)) return *percentage;
  refuse(fmt::format("--fail-if-clipped: '{}' is not a number from 0 to 100", text));
}

/// What all the files are if one option says so: the words for an error, and nothing if IN and OUT are typed.
std::vector<std::string_view> destinations(const CLI::App& app) {
  std::vector<std::string_view> given;
  for (const char* name : {"--in-place", "--output-dir", "--output"})
    if (app.count(name) > 0) given.emplace_back(name);
  return given;
}

bool has_standard_input(const Typed& typed) {
  return std::find(typed.files.begin(), typed.files.end(), "-") != typed.files.end();
}

void understand_list(const CLI::App& app, const Typed& typed, Command& command) {
  if (app.count("--files-from") > 0) command.list = FileList{typed.files_from, '\n'};
  if (app.count("--files0-from") > 0) command.list = FileList{typed.files0_from, '\0'};
  if (!command.list) return;
  if (command.list->path.empty()) refuse("--files-from: no file (an empty variable?)");
  if (command.list->path == "-" && has_standard_input(typed))
    refuse("standard input cannot be both LIST and FILE");
}

bool is_without_effect(const Request& request) {
  const Profile& profile = *request.profile;
  const bool clips = request.min || request.max || profile.bounds == Profile::Bounds::required ||
                     profile.absent_bound != Profile::AbsentBound::none;
  return !clips && !request.scale && !request.bias && request.nan.action == OnNan::keep;
}

/// --verify: one input, and nothing is written but perhaps the golden file.
void understand_golden(const CLI::App& app, const Typed& typed, Command& command) {
  for (const char* name : {"--in-place", "--direct", "--output", "--output-dir", "--relative-to",
                           "--files-from", "--files0-from", "--sync", "--no-clobber", "--keep-going",
                           "--dry-run", "--fail-if-clipped", "--shard", "--split-output"})
    if (app.count(name) > 0) refuse(fmt::format("--verify and {} contradict each other", name));
  if (typed.verify.empty()) refuse("--verify: no file (an empty variable?)");
  if (typed.files.empty()) refuse("IN is missing (clipper --help says more)");
  if (typed.files.size() > 1)
    refuse(fmt::format("{}: a second file; --verify takes only IN", typed.files[1]));
  if (typed.files[0] == "-" && typed.verify == "-") refuse("standard input cannot be both files");
  command.inputs = typed.files;
  command.golden = typed.verify;
  command.update_golden = typed.update_golden;
}

void understand_files(const CLI::App& app, const Typed& typed, Command& command) {
  const std::vector<std::string_view> to = destinations(app);
  command.inputs = typed.files;
  understand_list(app, typed, command);
  if (command.inputs.empty() && !command.list) refuse("IN is missing (clipper --help says more)");
  if (to.size() > 1) refuse(fmt::format("{} and {} contradict each other", to[0], to[1]));
  if (typed.in_place && app.count("--shard") > 0)
    refuse(
        "--in-place with --shard: a shard that runs again would scale twice; give IN OUT, or FILES and "
        "--output-dir, and rename the results");
  if (typed.in_place && typed.no_clobber) refuse("--in-place and --no-clobber contradict each other");
  if (typed.direct && !typed.in_place) refuse("--direct needs --in-place");
  if (typed.update_golden) refuse("--update-golden needs --verify");
  if (app.count("--output-dir") > 0) command.output_directory = typed.output_dir;
  if (app.count("--output") > 0) command.output_template = typed.output;
  if (app.count("--relative-to") > 0) command.relative_to = typed.relative_to;
  if (command.relative_to && !command.output_directory) refuse("--relative-to needs --output-dir");
  if (command.relative_to == "") refuse("--relative-to: no directory (an empty variable?)");
  if (command.output_directory == "" || command.output_template == "")
    refuse(fmt::format("{}: no name (an empty variable?)", to[0]));
  if (!to.empty()) {
    if (has_standard_input(typed) && command.output_directory)
      refuse("--output-dir: standard input has no name there");
    return;
  }
  if (command.list) refuse("--files-from needs --in-place, --output or --output-dir");
  if (typed.files.size() == 1) refuse("OUT is missing (- is standard output; --in-place replaces IN)");
  if (typed.files.size() > 2)
    refuse(fmt::format("{}: a third file; many inputs need --output-dir, --output or --in-place",
                       typed.files[2]));
  command.inputs.pop_back();
  command.output = typed.files.back();
}

/// One tensor for all shards, unless they divide many files.
void understand_shard(const CLI::App& app, const Typed& typed, Command& command) {
  if (app.count("--shard") > 0) command.shard = parse_shard(typed.shard);
  command.split_output = typed.split_output;
  if (typed.split_output && !command.shard) refuse("--split-output needs --shard K/N");
  if (typed.split_output && !command.output) refuse("--split-output needs IN and OUT, one tensor");
  if (!command.shard || !command.output) return;
  if (command.inputs.front() == "-" || command.output == "-")
    refuse("--shard: IN and OUT must be files, which all processes reach; not standard input or output");
  if (app.count("--fail-if-clipped") > 0)
    refuse("--fail-if-clipped: a shard of a tensor does not see what the others clip");
}

/// OUT, or what the shards were given.
void understand_finalize(const CLI::App& app, const Typed& typed, Command& command) {
  for (const char* name :
       {"--split-output", "--verify", "--update-golden", "--in-place", "--direct", "--output", "--output-dir",
        "--relative-to", "--files-from", "--files0-from", "--fail-if-clipped", "--keep-going", "--dry-run"})
    if (app.count(name) > 0) refuse(fmt::format("--finalize and {} contradict each other", name));
  if (typed.files.empty()) refuse("--finalize: OUT is missing (clipper --help says more)");
  const bool has_operation = !is_without_effect(command.request) || app.count("--shard") > 0 ||
                             app.count("--dtype") > 0 || app.count("--trailing") > 0;
  if (typed.files.size() != (has_operation ? 2 : 1) || has_standard_input(typed))
    refuse("--finalize takes one OUT, or the operation and the IN OUT of the shards");
  if (app.count("--shard") > 0) command.shard = parse_shard(typed.shard);
  command.finalize = true;
  command.output = typed.files.back();
  command.inputs.assign(typed.files.begin(), typed.files.end() - 1);
}

void understand_running(const CLI::App& app, const Typed& typed, Command& command) {
  command.keep_going = typed.keep_going;
  command.dry_run = typed.dry_run;
  command.json = typed.json;
  command.verbose = typed.verbose;
  command.quiet = typed.quiet;
  if (typed.progress) command.progress = Progress::When::always;
  if (typed.no_progress || typed.quiet) command.progress = Progress::When::never;
  if (app.count("--threads") > 0) command.engine.threads = parse_threads(typed.threads);
  if (app.count("--chunk-size") > 0)
    command.engine.chunk_size = parse_count("--chunk-size", typed.chunk_size, 4096, std::size_t{1} << 30);
  if (app.count("--simd") > 0) command.engine.level = parse_simd_level(typed.simd);
}

Command understood(const CLI::App& app, const Typed& typed) {
  Command command;
  command.request = understood_request(app, typed);
  for (const std::string& file : typed.files)
    if (file.empty()) refuse("a FILE is named '' (an empty variable?)");
  if (typed.finalize) {
    understand_finalize(app, typed, command);
  } else if (app.count("--verify") > 0) {
    understand_golden(app, typed, command);
  } else {
    understand_files(app, typed, command);
    understand_shard(app, typed, command);
  }
  understand_running(app, typed, command);
  if (typed.no_clobber) command.existing = OutputFile::Existing::refuse;
  if (typed.sync) command.durability = OutputFile::Durability::on_disk;
  command.direct = typed.direct;
  if (app.count("--fail-if-clipped") > 0) command.max_clipped = parse_percentage(typed.fail_if_clipped);
  if (app.count("--dtype") > 0) command.dtype = parse_dtype(typed.dtype);
  if (app.count("--trailing") > 0) command.ignore_trailing = parse_trailing(typed.trailing);
  if (!command.finalize && is_without_effect(command.request))
    refuse(
        "nothing to do without --min, --max, --scale, --bias or --nan (clipper compare compares two files, "
        "clipper info says what is in one)");
  return command;
}

}  // namespace

std::optional<Command> parse_command_line(const Parse& parse) {
  CLI::App app("", "clipper");
  Typed typed;
  add_options(app, typed);
  if (!parse(app)) return std::nullopt;
  return understood(app, typed);
}

}  // namespace clipper
