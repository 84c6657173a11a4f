#include "clip/clip_option_table.hpp"

#include <CLI/CLI.hpp>
#include <array>

#include "command_line/choices.hpp"
#include "command_line/command_line.hpp"
#include "command_line/shard_option.hpp"

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
  clipper --min 0 -o '{dir}/{stem}.clip.npy' *.npy     likewise, beside the inputs
  find . -name '*.npy' -print0 | clipper --max 6 --in-place --files0-from -
  find in -name '*.npy' -print0 |
    clipper --max 6 --output-dir out --relative-to in --files0-from -
  clipper --scale 0.5 --bias 1 --max 6 in.npy out.npy  x * 0.5 + 1, then the clip
  clipper --min @lo.npy in.npy out.npy                 a bound from a tensor of one element
  producer | clipper --max 255 - - | consumer
  mpirun clipper --shard auto --max 6 in.npy out.npy && clipper --finalize out.npy
                                                       one tensor, many processes
  clipper info --stats x.npy                           header, range, NaN and a histogram
  clipper --max 6 in.npy --verify golden.npy           is the result what it was?
  clipper profiles                                     the rules of every system, as a table

Exit status:
  0      done
  1      more is clipped than --fail-if-clipped allows, or --verify has found a difference
  2      wrong usage
  3      input refused
  4      I/O or memory
  5      refused for safety
  6      done, but not confirmed to be on the disk
  128+n  ended by signal n
)";

struct ValueOption {
  const char* group;
  const char* name;
  const char* type;
  std::string Typed::*text;
  const char* help;
  std::vector<std::string_view> (*words)() = nullptr;  ///< that it takes, for completions and the manual
};

struct Flag {
  const char* group;
  const char* name;
  bool Typed::*given;
  const char* help;
};

constexpr const char* kOperation = "Operation";
constexpr const char* kFiles = "Files";
constexpr const char* kShards = "Many processes";
constexpr const char* kRunning = "Running";
constexpr const char* kHidden = "";

constexpr std::array kValueOptions{
    ValueOption{kOperation, "--profile", "NAME", &Typed::profile,
                "The rules: native (default), directml, onnx, openvino, or a version: onnx-6",
                &profile_names},
    ValueOption{kOperation, "--min", "X", &Typed::min, "Lower bound: a number, inf or -inf, or @FILE.npy"},
    ValueOption{kOperation, "--max", "X", &Typed::max, "Upper bound, likewise"},
    ValueOption{kOperation, "--scale", "X", &Typed::scale,
                "Multiply by X first (default 1 if there is a bias)"},
    ValueOption{kOperation, "--bias", "X", &Typed::bias, "Then add X (default 0 if there is a scale)"},
    ValueOption{kOperation, "--nan", "WHAT", &Typed::nan,
                "NaN elements: keep (default), error, min, max or a number", &nan_words},
    ValueOption{kOperation, "--min-above-max", "WHAT", &Typed::min_above_max,
                "If MIN > MAX: error, or all elements become min or max", &min_above_max_words},
    ValueOption{kOperation, "--dtype", "DTYPE", &Typed::dtype,
                "The input's dtype; needed for bfloat16 that was saved as |V2", &dtype_names},
    ValueOption{kOperation, "--trailing", "WHAT", &Typed::trailing, kTrailingHelp, &trailing_words},
    ValueOption{kOperation, "--fail-if-clipped", "PERCENT", &Typed::fail_if_clipped,
                "Write nothing and exit with 1 if more of the elements would be clipped"},
    ValueOption{kFiles, "-o,--output", "TEMPLATE", &Typed::output,
                "Name every FILE's result so; {dir}, {name}, {stem}, {ext} are FILE's parts"},
    ValueOption{kFiles, "--output-dir", "DIR", &Typed::output_dir,
                "Write every FILE's result below DIR, which is made if missing, with FILE's path\n"
                "from the deepest directory that all FILES of this run are in"},
    ValueOption{kFiles, "--relative-to", "DIR", &Typed::relative_to,
                "With --output-dir: with FILE's path from DIR, whatever other FILES there are"},
    ValueOption{kFiles, "--files-from", "LIST", &Typed::files_from,
                "More FILES: the lines of LIST, - is standard input"},
    ValueOption{kFiles, "--files0-from", "LIST", &Typed::files0_from,
                "Likewise, with a NUL behind every name"},
    ValueOption{kShards, "--shard", "K/N", &Typed::shard,
                "Do part K (from 0) of N of IN, for --finalize, or K's share of all FILES;\n"
                "auto takes K and N from MPI or Slurm",
                &shard_words},
    ValueOption{kFiles, "--verify", "GOLDEN", &Typed::verify,
                "Compare IN's result with the file GOLDEN, bit by bit, and write nothing"},
    ValueOption{kRunning, "--threads", "N", &Typed::threads,
                "At most N threads (default: as many as may run)"},
    ValueOption{kHidden, "--chunk-size", "BYTES", &Typed::chunk_size,
                "What a thread handles at a time; all threads together at most 16 MiB"},
    ValueOption{kHidden, "--simd", "LEVEL", &Typed::simd, "baseline, v3 or v4 instead of the CPU's best",
                &simd_level_names},
};

constexpr std::array kFlags{
    Flag{kFiles, "-i,--in-place", &Typed::in_place, "Replace every FILE by its result"},
    Flag{kFiles, "--direct", &Typed::direct,
         "With --in-place: change the file itself, for want of space for a second one"},
    Flag{kFiles, "--sync", &Typed::sync,
         "Have the result on the disk at the end (as --in-place always does)"},
    Flag{kFiles, "-n,--no-clobber", &Typed::no_clobber, "Refuse to replace an existing OUT"},
    Flag{kFiles, "-k,--keep-going", &Typed::keep_going, "If a FILE fails, go on with the others"},
    Flag{kFiles, "--dry-run", &Typed::dry_run, "Make all checks, say what would be done, and write nothing"},
    Flag{kShards, "--split-output", &Typed::split_output,
         "Every part becomes a file, along axis 0: OUT.K-of-N.npy; and OUT.json"},
    Flag{kShards, "--finalize", &Typed::finalize,
         "When all shards of OUT are done: check their parts and put OUT in place"},
    Flag{kFiles, "--update-golden", &Typed::update_golden,
         "With --verify: write GOLDEN if it is missing or different"},
    Flag{kRunning, "--json", &Typed::json, "Print a line of JSON for every FILE"},
    Flag{kRunning, "--progress", &Typed::progress, "Show the progress, also if it is not on a terminal"},
    Flag{kRunning, "--no-progress", &Typed::no_progress, "Never show it"},
    Flag{kRunning, "-v,--verbose", &Typed::verbose,
         "Say on standard error what was chosen, and what came of it"},
    Flag{kRunning, "-q,--quiet", &Typed::quiet, "Print nothing but errors"},
};

}  // namespace

void add_options(CLI::App& app, Typed& typed) {
  app.description(kDescription);
  app.footer(kFooter);
  app.set_version_flag("--version", "clipper " CLIPPER_VERSION, "Print the version");
  app.add_option("FILES", typed.files,
                 "IN OUT: the tensor and the result, .npy files; - is standard input or output.\n"
                 "With --in-place, --output or --output-dir all of them are inputs.\n"
                 "With --verify only IN")
      ->type_name("");
  for (const ValueOption& row : kValueOptions) {
    CLI::Option* const option = app.add_option(row.name, typed.*row.text, row.help);
    option->type_name(row.type)->group(row.group);
    if (row.words != nullptr) suggest(*option, row.words());
  }
  for (const Flag& row : kFlags) app.add_flag(row.name, typed.*row.given, row.help)->group(row.group);
  app.get_option("--quiet")->excludes("--verbose");
  app.get_option("--progress")->excludes("--no-progress");
  app.get_option("--files-from")->excludes("--files0-from");
}

}  // namespace clipper
