#pragma once

#include "clip/clip_option_details.hpp"
#include "command_line/shard_option.hpp"
#include "command_line/shared_options.hpp"

namespace clipper {

/// The command that clips.
extern const CommandSpec kClipSpec;

/// The options of kClipSpec. clip_option_table.cpp assigns each option to a group of --help.
namespace clip_options {

inline constexpr Option kFiles =
    with_details({"FILE",
                  "A .npy file, an .npz archive or, as IN, a member ARCHIVE.npz:NAME; - is standard input as "
                  "IN, standard output as OUT",
                  {},
                  Value::tensor},
                 details::kFiles);

inline constexpr Option kProfile = with_details(
    {"--profile", "Follow another system's rules: directml, onnx, openvino, or a version such as onnx-6",
     "NAME", Value::words, &profile_names},
    details::kProfile);
inline constexpr Option kMin = with_details({"--min",
                                             "Lower bound: a number, inf, -inf, a percentile such as 1%, or "
                                             "@FILE.npy (one element, or an array that broadcasts)",
                                             "X", Value::number},
                                            details::kMin);
inline constexpr Option kMax = with_details({"--max",
                                             "Upper bound: a number, inf, -inf, a percentile such as 99%, or "
                                             "@FILE.npy (one element, or an array that broadcasts)",
                                             "X", Value::number},
                                            details::kMax);
inline constexpr Option kScale = with_details(
    {"--scale", "Multiply by X, a number or @FILE.npy, before clipping (default: 1)", "X", Value::number},
    details::kScale);
inline constexpr Option kBias =
    with_details({"--bias", "Add X, a number or @FILE.npy, before clipping and after --scale (default: 0)",
                  "X", Value::number},
                 details::kBias);
inline constexpr Option kNan =
    with_details({"--nan", "Handle NaN elements: keep (default), error, or replace by min, max or a number",
                  "WHAT", Value::words, &nan_words},
                 details::kNan);
inline constexpr Option kMinAboveMax =
    with_details({"--min-above-max", "If --min exceeds --max: error, or set every element to min or max",
                  "WHAT", Value::words, &min_above_max_words},
                 details::kMinAboveMax);
inline constexpr Option kDtype =
    dtype_option("Read the tensor as DTYPE (for bfloat16 saved as |V2)", details::kDtype);
inline constexpr Option kFailIfClipped =
    with_details({"--fail-if-clipped",
                  "Exit with 1 and write nothing if more than PERCENT of the elements would be clipped",
                  "PERCENT", Value::text},
                 details::kFailIfClipped);

inline constexpr Option kMember = with_details(
    {"--member", "Of .npz archives, clip only this member; may be given again", "NAME", Value::text},
    details::kMember);
inline constexpr Option kOther =
    with_details({"--other", "Members of archives that are not clipped: copy (default), drop or error",
                  "WHAT", Value::words, &other_words},
                 details::kOther);

/// Value::directory, because most templates begin with a directory that a shell can complete.
inline constexpr Option kOutput = with_details(
    {"-o,--output", "Output path template; {dir}, {name}, {stem} and {ext} stand for parts of the input path",
     "TEMPLATE", Value::directory},
    details::kOutput);
inline constexpr Option kOutputDir =
    with_details({"--output-dir", "Write results below DIR, each under its input's path as given", "DIR",
                  Value::directory},
                 details::kOutputDir);
inline constexpr Option kRelativeTo =
    with_details({"--relative-to", "With --output-dir: keep the path of each input relative to DIR", "DIR",
                  Value::directory},
                 details::kRelativeTo);
inline constexpr Option kFlat = with_details(
    {"--flat", "With --output-dir: keep only the name of each input; implies -n"}, details::kFlat);
inline constexpr Option kFilesFrom =
    with_details({"--files-from", "Read input names from LIST, one per line (-: stdin)", "LIST", Value::file},
                 details::kFilesFrom);
inline constexpr Option kFiles0From = with_details(
    {"--files0-from", "Like --files-from, but NUL-separated (find -print0)", "LIST", Value::file},
    details::kFiles0From);
inline constexpr Option kAllowEmpty = with_details(
    {"--allow-empty", "Accept an empty LIST, and with -r a directory without .npy and .npz files"},
    details::kAllowEmpty);
inline constexpr Option kRecursive = with_details(
    {"-r,--recursive", "Clip all .npy and .npz files below each input directory"}, details::kRecursive);
inline constexpr Option kVerify =
    with_details({"--verify", "Compare the result with GOLDEN and write nothing", "GOLDEN", Value::tensor},
                 details::kVerify);
inline constexpr Option kInPlace =
    with_details({"-i,--in-place", "Replace each input by its result, all or nothing"}, details::kInPlace);
inline constexpr Option kDirect = with_details(
    {"--direct", "With --in-place: overwrite the data directly; needs no room for a second copy"},
    details::kDirect);
inline constexpr Option kSync =
    with_details({"--sync", "Flush output to disk before exiting (fsync)"}, details::kSync);
inline constexpr Option kNoClobber =
    with_details({"-n,--no-clobber", "Fail if an output file exists"}, details::kNoClobber);
inline constexpr Option kForce =
    with_details({"-f,--force", "Replace existing output files (default; undoes -n)"}, details::kForce);
inline constexpr Option kKeepGoing =
    with_details({"-k,--keep-going", "If an input fails, go on with the other inputs"}, details::kKeepGoing);
inline constexpr Option kDryRun =
    with_details({"--dry-run", "Check everything, print the plan and write nothing"}, details::kDryRun);
inline constexpr Option kUpdateGolden = with_details(
    {"--update-golden", "With --verify: write GOLDEN if missing or different"}, details::kUpdateGolden);

inline constexpr Option kShard = with_details(
    {"--shard",
     "Process part K (0 to N-1) of N of a tensor or of many inputs; auto: K and N from MPI or Slurm", "K/N",
     Value::words, &shard_words},
    details::kShard);
inline constexpr Option kSplitOutput = with_details(
    {"--split-output", "With --shard: write each part, along axis 0, to its own file OUT.K-of-N.npy"},
    details::kSplitOutput);
inline constexpr Option kFinalize =
    with_details({"--finalize", "Check the parts of all shards and put OUT in place"}, details::kFinalize);
inline constexpr Option kDiscardShards =
    with_details({"--discard-shards", "Remove what abandoned shards of OUT have left; --dry-run lists it"},
                 details::kDiscardShards);

inline constexpr Option kJson = json_option("Print one line of JSON per input", details::kJson);
inline constexpr Option kVerbose =
    verbose_option("Print settings and a summary to stderr", details::kVerbose);

inline constexpr Option kChunkSize = with_details(
    {"--chunk-size", "Bytes that a thread clips at a time; all threads together hold at most 16 MiB", "BYTES",
     Value::text},
    details::kChunkSize);
inline constexpr Option kSimd =
    with_details({"--simd", "Use the SIMD level baseline, v3 or v4 instead of the CPU's best", "LEVEL",
                  Value::words, &simd_level_names},
                 details::kSimd);

}  // namespace clip_options
}  // namespace clipper
