#include "cli.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <vector>

#include "error.hpp"
#include "words.hpp"

namespace clipper {
namespace {

constexpr const char* kDescription =
    "Clips every element of a .npy tensor: what is below MIN becomes MIN, what is above MAX becomes MAX.\n"
    "dtype, shape, memory order and byte order stay, and so do the exact bits of all other elements.";

constexpr const char* kFooter = R"(
Examples:
  clipper --min 0 --max 6 in.npy out.npy
  clipper --min -1 --max 1 --in-place x.npy            rewrites the file itself, safely
  clipper --min 0 --output-dir clipped *.npy           many files at once
  clipper --scale 0.5 --bias 1 --max 6 in.npy out.npy  x * 0.5 + 1, then the clip
  clipper --min @lo.npy in.npy out.npy                 a bound from a tensor of one element
  producer | clipper --max 255 - - | consumer
  clipper profiles                                     the rules of every system, as a table

Exit status:
  0 done    2 wrong usage    3 input refused    4 I/O or memory    5 refused for safety
  6 done, but not confirmed to be on the disk    128+n ended by signal n
)";

/// What CLI11 fills. All values are text: it would read 010 as octal and nothing as 0.
struct Typed {
  std::vector<std::string> files;
  std::string output_dir;
  std::string min;
  std::string max;
  std::string scale;
  std::string bias;
  std::string nan;
  std::string profile;
  std::string min_above_max;
  std::string dtype;
  std::string threads;
  std::string chunk_size;
  std::string simd;
  bool in_place = false;
  bool direct = false;
  bool sync = false;
  bool no_clobber = false;
  bool verbose = false;
  bool quiet = false;
};

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, message);
}

struct ValueOption {
  const char* group;
  const char* name;
  const char* type;
  std::string Typed::*text;
  const char* help;
};

struct Flag {
  const char* group;
  const char* name;
  bool Typed::*given;
  const char* help;
};

constexpr const char* kOperation = "Operation";
constexpr const char* kFiles = "Files";
constexpr const char* kRunning = "Running";
constexpr const char* kHidden = "";

constexpr std::array kValueOptions{
    ValueOption{kOperation, "--profile", "NAME", &Typed::profile,
                "The rules: native (default), directml, onnx, openvino, or a version: onnx-6"},
    ValueOption{kOperation, "--min", "X", &Typed::min, "Lower bound: a number, inf or -inf, or @FILE.npy"},
    ValueOption{kOperation, "--max", "X", &Typed::max, "Upper bound, likewise"},
    ValueOption{kOperation, "--scale", "X", &Typed::scale,
                "Multiply by X first (default 1 if there is a bias)"},
    ValueOption{kOperation, "--bias", "X", &Typed::bias, "Then add X (default 0 if there is a scale)"},
    ValueOption{kOperation, "--nan", "WHAT", &Typed::nan,
                "NaN elements: keep (default), error, min, max or a number"},
    ValueOption{kOperation, "--min-above-max", "WHAT", &Typed::min_above_max,
                "If MIN > MAX: error, or all elements become min or max"},
    ValueOption{kOperation, "--dtype", "DTYPE", &Typed::dtype,
                "The input's dtype; needed for bfloat16 that was saved as |V2"},
    ValueOption{kFiles, "--output-dir", "DIR", &Typed::output_dir,
                "Write every FILE's result into DIR, which is made if missing"},
    ValueOption{kRunning, "--threads", "N", &Typed::threads,
                "At most N threads (default: as many as may run)"},
    ValueOption{kHidden, "--chunk-size", "BYTES", &Typed::chunk_size, "What a thread handles at a time"},
    ValueOption{kHidden, "--simd", "LEVEL", &Typed::simd, "baseline, v3 or v4 instead of the CPU's best"},
};

constexpr std::array kFlags{
    Flag{kFiles, "-i,--in-place", &Typed::in_place, "Replace every FILE by its result"},
    Flag{kFiles, "--direct", &Typed::direct,
         "With --in-place: change the file itself, for want of space for a second one"},
    Flag{kFiles, "--sync", &Typed::sync,
         "Have the result on the disk at the end (as --in-place always does)"},
    Flag{kFiles, "-n,--no-clobber", &Typed::no_clobber, "Refuse to replace an existing OUT"},
    Flag{kRunning, "-v,--verbose", &Typed::verbose, "Say on standard error what was chosen"},
    Flag{kRunning, "-q,--quiet", &Typed::quiet, "Print nothing but errors"},
};

void add_options(CLI::App& app, Typed& typed) {
  app.description(kDescription);
  app.footer(kFooter);
  app.set_version_flag("--version", "clipper " CLIPPER_VERSION, "Print the version");
  app.add_option("FILES", typed.files,
                 "IN OUT: the tensor and the result, .npy files; - is standard input or output.\n"
                 "With --in-place or --output-dir all of them are inputs")
      ->type_name("");
  for (const ValueOption& row : kValueOptions)
    app.add_option(row.name, typed.*row.text, row.help)->type_name(row.type)->group(row.group);
  for (const Flag& row : kFlags) app.add_flag(row.name, typed.*row.given, row.help)->group(row.group);
  app.get_option("--quiet")->excludes("--verbose");
}

const Profile* parse_profile(std::string_view text) {
  if (const Profile* const profile = profile_named(text)) return profile;
  std::vector<std::string_view> names;
  for (const Profile& row : profiles()) names.push_back(row.name);
  refuse(fmt::format("--profile: '{}' is none of {}", text, fmt::join(names, ", ")));
}

MinAboveMax parse_min_above_max(std::string_view text) {
  if (text == "error") return MinAboveMax::error;
  if (text == "min") return MinAboveMax::min;
  if (text == "max") return MinAboveMax::max;
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
  const auto take = [&](const char* name, const std::string& text, std::optional<std::string>& into) {
    if (app.count(name) > 0) into = text;
  };
  take("--min", typed.min, request.min);
  take("--max", typed.max, request.max);
  take("--scale", typed.scale, request.scale);
  take("--bias", typed.bias, request.bias);
  if (app.count("--profile") > 0) request.profile = parse_profile(typed.profile);
  if (app.count("--nan") > 0) request.nan = typed.nan;
  if (app.count("--min-above-max") > 0) request.min_above_max = parse_min_above_max(typed.min_above_max);
  check_numbers(request);
  return request;
}

void understand_files(const Typed& typed, bool into_directory, Command& command) {
  if (typed.files.empty()) refuse("IN is missing (clipper --help says more)");
  command.inputs = typed.files;
  if (typed.no_clobber) command.existing = OutputFile::Existing::refuse;
  if (typed.in_place && into_directory) refuse("--in-place and --output-dir contradict each other");
  if (typed.in_place && typed.no_clobber) refuse("--in-place and --no-clobber contradict each other");
  if (into_directory && typed.output_dir.empty()) refuse("--output-dir: no directory (an empty variable?)");
  if (typed.direct && !typed.in_place) refuse("--direct needs --in-place");
  command.direct = typed.direct;
  if (typed.sync) command.durability = OutputFile::Durability::on_disk;
  if (into_directory) command.output_directory = typed.output_dir;
  if (typed.in_place || into_directory) {
    if (into_directory && std::find(typed.files.begin(), typed.files.end(), "-") != typed.files.end())
      refuse("--output-dir: standard input has no name there");
    return;
  }
  if (typed.files.size() == 1) refuse("OUT is missing (- is standard output; --in-place replaces IN)");
  if (typed.files.size() > 2)
    refuse(fmt::format("{}: a third file; many inputs need --output-dir or --in-place", typed.files[2]));
  command.inputs.pop_back();
  command.output = typed.files.back();
}

Command understood(const CLI::App& app, const Typed& typed) {
  Command command;
  command.request = understood_request(app, typed);
  understand_files(typed, app.count("--output-dir") > 0, command);
  command.verbose = typed.verbose;
  if (app.count("--dtype") > 0) command.dtype = parse_dtype(typed.dtype);
  if (app.count("--threads") > 0) command.engine.threads = parse_threads(typed.threads);
  if (app.count("--chunk-size") > 0)
    command.engine.chunk_size = parse_count("--chunk-size", typed.chunk_size, 4096, std::size_t{1} << 30);
  if (app.count("--simd") > 0) command.engine.level = parse_simd_level(typed.simd);
  return command;
}

}  // namespace

std::optional<Command> parse_command_line(int argc, const char* const* argv) {
  CLI::App app("", "clipper");
  Typed typed;
  add_options(app, typed);
  if (!parse_words(app, argc, argv)) return std::nullopt;
  return understood(app, typed);
}

}  // namespace clipper
