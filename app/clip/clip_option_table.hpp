#pragma once

#include "command_line/shard_option.hpp"
#include "command_line/shared_options.hpp"

namespace clipper {

/// The command that clips.
extern const CommandSpec kClipSpec;

/// Its options. clip_option_table.cpp puts each into a group of --help.
namespace clip_options {

inline constexpr Option kFiles{
    "FILES",
    "IN OUT: the tensor and the result, .npy files; - is standard input or output.\n"
    "With --in-place, --output or --output-dir all of them are inputs.\n"
    "With --verify only IN",
    {},
    Value::tensor};

inline constexpr Option kProfile{
    "--profile", "The rules: native (default), directml, onnx, openvino, or a version: onnx-6", "NAME",
    Value::words, &profile_names};
inline constexpr Option kMin{"--min", "Lower bound: a number, inf or -inf, or @FILE.npy", "X", Value::number};
inline constexpr Option kMax{"--max", "Upper bound, likewise", "X", Value::number};
inline constexpr Option kScale{"--scale", "Multiply by X first (default 1 if there is a bias)", "X",
                               Value::number};
inline constexpr Option kBias{"--bias", "Then add X (default 0 if there is a scale)", "X", Value::number};
inline constexpr Option kNan{"--nan", "NaN elements: keep (default), error, min, max or a number", "WHAT",
                             Value::words, &nan_words};
inline constexpr Option kMinAboveMax{"--min-above-max",
                                     "If MIN > MAX: error, or all elements become min or max", "WHAT",
                                     Value::words, &min_above_max_words};
inline constexpr Option kDtype = dtype_option("The input's dtype; needed for bfloat16 that was saved as |V2");
inline constexpr Option kFailIfClipped{
    "--fail-if-clipped", "Write nothing and exit with 1 if more of the elements would be clipped", "PERCENT",
    Value::text};

/// A template begins with a directory's name, as far as shells can know it.
inline constexpr Option kOutput{"-o,--output",
                                "Name every FILE's result so; {dir}, {name}, {stem}, {ext} are FILE's parts",
                                "TEMPLATE", Value::directory};
inline constexpr Option kOutputDir{
    "--output-dir",
    "Write every FILE's result below DIR, which is made if missing, with FILE's path\n"
    "from the deepest directory that all FILES of this run are in",
    "DIR", Value::directory};
inline constexpr Option kRelativeTo{
    "--relative-to", "With --output-dir: with FILE's path from DIR, whatever other FILES there are", "DIR",
    Value::directory};
inline constexpr Option kFilesFrom{"--files-from", "More FILES: the lines of LIST, - is standard input",
                                   "LIST", Value::file};
inline constexpr Option kFiles0From{"--files0-from", "Likewise, with a NUL behind every name", "LIST",
                                    Value::file};
inline constexpr Option kVerify{"--verify",
                                "Compare IN's result with the file GOLDEN, bit by bit, and write nothing",
                                "GOLDEN", Value::tensor};
inline constexpr Option kInPlace{"-i,--in-place", "Replace every FILE by its result"};
inline constexpr Option kDirect{
    "--direct", "With --in-place: change the file itself, for want of space for a second one"};
inline constexpr Option kSync{"--sync", "Have the result on the disk at the end (as --in-place always does)"};
inline constexpr Option kNoClobber{"-n,--no-clobber", "Refuse to replace an existing OUT"};
inline constexpr Option kKeepGoing{"-k,--keep-going", "If a FILE fails, go on with the others"};
inline constexpr Option kDryRun{"--dry-run", "Make all checks, say what would be done, and write nothing"};
inline constexpr Option kUpdateGolden{"--update-golden",
                                      "With --verify: write GOLDEN if it is missing or different"};

inline constexpr Option kShard{"--shard",
                               "Do part K (from 0) of N of IN, for --finalize, or K's share of all FILES;\n"
                               "auto takes K and N from MPI or Slurm",
                               "K/N", Value::words, &shard_words};
inline constexpr Option kSplitOutput{"--split-output",
                                     "Every part becomes a file, along axis 0: OUT.K-of-N.npy; and OUT.json"};
inline constexpr Option kFinalize{"--finalize",
                                  "When all shards of OUT are done: check their parts and put OUT in place"};

inline constexpr Option kJson = json_option("Print a line of JSON for every FILE");
inline constexpr Option kProgress{"--progress", "Show the progress, also if it is not on a terminal"};
inline constexpr Option kNoProgress{"--no-progress", "Never show it"};
inline constexpr Option kVerbose =
    verbose_option("Say on standard error what was chosen, and what came of it");

inline constexpr Option kChunkSize{"--chunk-size",
                                   "What a thread handles at a time; all threads together at most 16 MiB",
                                   "BYTES", Value::text};
inline constexpr Option kSimd{"--simd", "baseline, v3 or v4 instead of the CPU's best", "LEVEL", Value::words,
                              &simd_level_names};

}  // namespace clip_options
}  // namespace clipper
