#pragma once

#include "command_line/shard_option.hpp"
#include "command_line/shared_options.hpp"

namespace clipper {

/// The command that clips.
extern const CommandSpec kClipSpec;

/// Its options. clip_option_table.cpp puts each into a group of --help.
namespace clip_options {

inline constexpr Option kFiles{
    "FILE", "A .npy file; - is standard input as IN, standard output as OUT", {}, Value::tensor};

inline constexpr Option kProfile{
    "--profile", "Follow another system's rules: directml, onnx, openvino, or a version such as onnx-6",
    "NAME", Value::words, &profile_names};
inline constexpr Option kMin{"--min", "Lower bound: a number, inf, -inf or @FILE.npy", "X", Value::number};
inline constexpr Option kMax{"--max", "Upper bound: a number, inf, -inf or @FILE.npy", "X", Value::number};
inline constexpr Option kScale{"--scale", "Multiply each element by X before clipping (default: 1)", "X",
                               Value::number};
inline constexpr Option kBias{"--bias", "Add X to each element before clipping, after --scale (default: 0)",
                              "X", Value::number};
inline constexpr Option kNan{"--nan",
                             "Handle NaN elements: keep (default), error, or replace by min, max or a number",
                             "WHAT", Value::words, &nan_words};
inline constexpr Option kMinAboveMax{"--min-above-max",
                                     "If --min exceeds --max: error, or set every element to min or max",
                                     "WHAT", Value::words, &min_above_max_words};
inline constexpr Option kDtype = dtype_option("Read the tensor as DTYPE; needed for bfloat16 saved as |V2");
inline constexpr Option kFailIfClipped{
    "--fail-if-clipped",
    "Exit with 1 and write nothing if more than PERCENT of the elements would be clipped", "PERCENT",
    Value::text};

/// Shells complete a template as a directory, with which most templates begin.
inline constexpr Option kOutput{
    "-o,--output", "Output path template; {dir}, {name}, {stem} and {ext} stand for parts of the input path",
    "TEMPLATE", Value::directory};
inline constexpr Option kOutputDir{
    "--output-dir",
    "Write results below DIR, which recreates the inputs' layout below their common directory", "DIR",
    Value::directory};
inline constexpr Option kRelativeTo{
    "--relative-to",
    "With --output-dir: recreate the inputs' layout below DIR, not below their common directory", "DIR",
    Value::directory};
inline constexpr Option kFilesFrom{"--files-from",
                                   "Read more input names from LIST, one per line; - is standard input",
                                   "LIST", Value::file};
inline constexpr Option kFiles0From{"--files0-from", "Like --files-from, but NUL-separated (find -print0)",
                                    "LIST", Value::file};
inline constexpr Option kRecursive{"-r,--recursive", "Take directories as inputs: all .npy files below them"};
inline constexpr Option kVerify{
    "--verify", "Compare the result with the file GOLDEN bit by bit; write nothing", "GOLDEN", Value::tensor};
inline constexpr Option kInPlace{"-i,--in-place", "Replace each input by its result, all or nothing"};
inline constexpr Option kDirect{
    "--direct", "With --in-place: overwrite the data directly; needs no room for a second copy"};
inline constexpr Option kSync{"--sync",
                              "Flush output to disk before exiting (fsync), as --in-place always does"};
inline constexpr Option kNoClobber{"-n,--no-clobber", "Fail if an output file exists"};
inline constexpr Option kForce{"-f,--force",
                               "Replace existing output files (default); overrides --no-clobber"};
inline constexpr Option kKeepGoing{"-k,--keep-going", "If an input fails, go on with the other inputs"};
inline constexpr Option kDryRun{"--dry-run", "Check everything and print what would be done; write nothing"};
inline constexpr Option kUpdateGolden{"--update-golden",
                                      "With --verify: write GOLDEN if it is missing or different"};

inline constexpr Option kShard{
    "--shard",
    "Process part K (0 to N-1) of N of a tensor or of many inputs; auto: K and N from MPI or Slurm", "K/N",
    Value::words, &shard_words};
inline constexpr Option kSplitOutput{
    "--split-output", "With --shard: write each part to a file of its own, OUT.K-of-N.npy, along axis 0"};
inline constexpr Option kFinalize{"--finalize",
                                  "Check the parts that all shards wrote, then put OUT in place"};

inline constexpr Option kJson = json_option("Print one line of JSON per input");
inline constexpr Option kVerbose = verbose_option("Print settings and a summary to standard error");

inline constexpr Option kChunkSize{
    "--chunk-size", "Bytes that a thread clips at a time; all threads together hold at most 16 MiB", "BYTES",
    Value::text};
inline constexpr Option kSimd{"--simd", "Use the SIMD level baseline, v3 or v4 instead of the CPU's best",
                              "LEVEL", Value::words, &simd_level_names};

}  // namespace clip_options
}  // namespace clipper
