#pragma once

#include "command_line/shared_options.hpp"

/// The options of kClipSpec that say what becomes of elements.
namespace clipper::clip_options {

inline constexpr std::string_view kPooledInPlace =
    "a run that is killed would leave files with other numbers; type the numbers that --dry-run prints "
    "without "
    "--in-place";

// One block per option, without the indentation that clang-format gives to long texts.
// clang-format off

inline constexpr Option kMin{
    .names = "--min", .type = "X", .value = Value::number,
    .group = "bounds",
    .help = "Lower bound: a number, 1%, mean-3std or @FILE.npy",
    .details = R"(Elements less than X become X: a number, `inf`, a percentile such as `1%`, a rule such as
`mean-3std`, or @FILE.npy with a number or an array. Default: no bound, unless the profile has one. See DTYPES
AND BOUNDS, PERCENTILES and RULES.)"};

inline constexpr Option kMax{
    .names = "--max", .type = "X", .value = Value::number,
    .group = "bounds",
    .help = "Upper bound, of the same kinds as --min",
    .details = R"(Elements greater than X become X, which is what `--min` takes. Default: no bound, unless the
profile has one.)"};

inline constexpr Option kScale{
    .names = "--scale", .type = "X", .value = Value::number,
    .group = "data",
    .help = "Multiply by X before the clip; 1/S divides by S",
    .details = R"(Calculate x * X + bias, then clip. X is a number or @FILE.npy; default: 1. `1/S` divides by S, as
ONNX QuantizeLinear does. See SCALE AND BIAS.)"};

inline constexpr Option kBias{
    .names = "--bias", .type = "X", .value = Value::number,
    .group = "data",
    .help = "Add X before the clip, after --scale",
    .details = R"(Calculate x * scale + X, then clip. X is a number or @FILE.npy; default: 0.)"};

inline constexpr Option kProfile{
    .names = "--profile", .type = "NAME", .words = &profile_names,
    .group = "bounds",
    .help = "Follow numpy, pytorch, onnx, ... or version: onnx-6",
    .details = R"(Follow the rules of another system in one version: tensors it takes, conversion of bounds, NaN,
zeros, min above max. A name without a version is the newest version. Default: `clipper`, numpy.clip with
stricter errors; of the options about elements, other profiles have only the bounds, `--nan`, `--min-above-max`
and, directml, `--scale` and `--bias`. See PROFILES.)"};

inline constexpr Option kNan{
    .names = "--nan", .type = "WHAT", .words = &nan_words,
    .group = "bounds",
    .help = "NaN: keep (default), error, min, max or a number",
    .details = R"(`keep` NaN elements (default), stop at the first one (`error`, 3), or replace them by `min`, `max`
or a number. A profile may have another default (PROFILES). Integers have no NaN; NaT counts as NaN.)"};

inline constexpr Option kMinAboveMax{
    .names = "--min-above-max", .type = "WHAT", .words = [] { return Words{"error", "min", "max"}; },
    .group = "bounds",
    .help = "If --min exceeds --max: error, min or max",
    .details = R"(If min is greater than max: an `error`, or `min` or `max` for every element but NaN, as numpy.clip
gives max. Default: the profile's rule; of the profile clipper an error.)"};

inline constexpr Option kReplaceBelow{
    .names = "--replace-below", .type = "V", .value = Value::number,
    .group = "bounds",
    .help = "Replace elements less than --min by V",
    .details = R"(Elements less than min become V in place of min, as by numpy.where, and still count as raised. The
dtype of the result must have V exactly; a float dtype also has `nan`. See OTHER DTYPES.)"};

inline constexpr Option kReplaceAbove{
    .names = "--replace-above", .type = "V", .value = Value::number,
    .group = "bounds",
    .help = "Replace elements greater than --max by V",
    .details = R"(Elements greater than max become V in place of max, by the rules of `--replace-below`, and still
count as lowered.)"};

inline constexpr Option kMaxNorm{
    .names = "--max-norm", .type = "C",
    .group = "data",
    .help = "After the clip, scale elements down to the norm C",
    .details = R"(If the norm n of the clipped elements is greater than C, multiply them by C / n. Integers need
`--to` or `--round`. See NORMS OF THE ELEMENTS.)"};

inline constexpr Option kNorm{
    .names = "--norm", .type = "P", .words = [] { return Words(kNormWords.begin(), kNormWords.end()); },
    .group = "data",
    .help = "Norm of --max-norm and norm: 2 (default), 1, inf",
    .details = R"(The norm that `--max-norm` limits and that `norm` is: `2` (default), the root of the sum of squares; `1`, the sum of
absolute values; `inf`, the greatest absolute value.)"};

inline constexpr Option kSubtract{
    .names = "--subtract", .type = "S", .value = Value::number,
    .group = "data",
    .help = "After the clip, subtract S: number, mean, @FILE.npy",
    .details = R"(Calculate (y - S) / D for every clipped element y, of which `--then` clips the result. S is a number, @FILE.npy, a figure such as
`mean`, or a percentile; default: 0. Integers need `--to` or `--round`. See AFTER THE CLIP
and FIGURES OF THE ELEMENTS.)"};

inline constexpr Option kDivide{
    .names = "--divide", .type = "D", .value = Value::number,
    .group = "data",
    .help = "After --subtract, divide by D, of the same kinds",
    .details = R"(Calculate (y - S) / D, with D as `--subtract` takes S; default: 1. Dividing by 0 is an error:
status 2 if the 0 was typed, status 3 if it came from a file or the elements, unless `--divide-zero` is given.)"};

inline constexpr Option kDivideZero{
    .names = "--divide-zero", .type = "V", .value = Value::number,
    .group = "data",
    .needs = "--divide --stretch-from --apply",
    .help = "For a divisor found as 0: keep, error or a number",
    .details = R"(Replace a divisor that a file or a figure gives as 0, also B - A of `--stretch-from`: by 1 (`keep`)
or by the number V. Default: `error` (3).)"};

inline constexpr Option kStretch{
    .names = "--stretch", .type = "LO:HI",
    .group = "data",
    .help = "After the clip, map min to LO and max to HI",
    .details = R"(Map min to LO and max to HI, and everything between them linearly. LO above HI inverts. Integers
need `--to` or `--round`. Without `--stretch-from` it needs both bounds. See AFTER THE
CLIP.)"};

inline constexpr Option kStretchFrom{
    .names = "--stretch-from", .type = "A:B",
    .group = "data",
    .excludes = {{"--subtract --divide"}},
    .needs = "--stretch",
    .help = "With --stretch: map A to LO and B to HI instead",
    .details = R"(Map A to LO and B to HI in place of the bounds; elements outside of A and B are extrapolated along
the same line. A and B are numbers, percentiles or rules.)"};

inline constexpr Option kNodata{
    .names = "--nodata", .type = "V", .value = Value::number,
    .group = "statistics",
    .help = "Leave elements that equal V as they are; repeatable",
    .details = R"(Elements that equal V are no data: every step keeps them, and no figure or count has them. `nan`
is every NaN, and 0 also -0. Give the option again for each further V. See NODATA.)"};

inline constexpr Option kNodataTo{
    .names = "--nodata-to", .type = "W", .value = Value::number,
    .group = "statistics",
    .help = "Write W for the elements that --nodata names",
    .details = R"(Elements that `--nodata` names become W, a number of the dtype of the result, or `nan`.)"};

inline constexpr Option kPerAxis{
    .names = "--per-axis", .type = "K",
    .group = "statistics",
    .help = "Figures of each index along axis K; repeatable",
    .details = R"(Find percentiles, figures and norms for each index along axis K, negative from the end. Repeat it
for pairs of indexes. With one axis, a list such as `--subtract 0.5,0.4,0.4`, or a file of shape (C,), has a number for each index. See FIGURES OF THE ELEMENTS.)"};

inline constexpr Option kPooled{
    .names = "--pooled",
    .group = "statistics",
    .excludes = {{"--shard --finalize --skip-existing --newer"}},
    .help = "Figures of all inputs together",
    .details = R"(Find percentiles, figures and norms for all tensors of the run together; all inputs are read
first. See FIGURES OF THE ELEMENTS.)"};

inline constexpr Option kMask{
    .names = "--mask", .type = "@FILE.npy", .value = Value::number,
    .group = "statistics",
    .help = "Figures of the elements where FILE is not 0",
    .details = R"(Find percentiles, figures and norms among the elements for which FILE, of bool or numbers, is not
0. All elements are clipped, without `--mask-to`. In FILE, {dir}, {name}, {stem} and {ext} stand for parts of
the input's path, as with `--output`: `--mask '@{dir}/{stem}_mask.npy'`.)"};

inline constexpr Option kMaskTo{
    .names = "--mask-to", .type = "V", .value = Value::number,
    .group = "statistics",
    .help = "Write V for the elements where the mask is 0",
    .details = R"(Elements for which the mask is 0 become V, as `--nodata-to` takes it; no step changes, and no count
has them.)"};

inline constexpr Option kFit{
    .names = "--fit", .type = "FILE.npz", .value = Value::file,
    .group = "statistics",
    .excludes = {{"--verify --shard --finalize --skip-existing --newer"}},
    .help = "Write the numbers that were used, for --apply",
    .details = R"(Write min, max, scale, bias, subtract and divide as they were used to an archive, which gets its
name when all results are in place. Several inputs need `--pooled`. See FIT AND APPLY.)"};

inline constexpr Option kApply{
    .names = "--apply", .type = "FILE.npz", .value = Value::file,
    .group = "statistics",
    .help = "Take min, max, ... from a file of --fit",
    .details = R"(Take each member of FILE.npz as the option of its name, unless that option is typed. See FIT AND
APPLY.)"};

inline constexpr Option kRound{
    .names = "--round", .type = "MODE", .words = &round_words,
    .group = "data",
    .help = "half-even, half-away, trunc, floor or ceil",
    .details = R"(Round results to integers: to nearest, a tie to even (`half-even`) or away from 0 (`half-away`),
or toward 0 (`trunc`), down (`floor`) or up (`ceil`). Default with an integer dtype as `--to`: `half-even`. See
OTHER DTYPES.)"};

inline constexpr Option kZeroPoint{
    .names = "--zero-point", .type = "Z", .value = Value::number,
    .group = "data",
    .help = "Add the integer Z after rounding",
    .details = R"(Add Z to the rounded result, as ONNX QuantizeLinear does. It needs an integer dtype as `--to`,
which has Z.)"};

inline constexpr Option kTo{
    .names = "--to", .type = "DTYPE", .words = &dtype_names,
    .group = "data",
    .excludes = {{"--direct"}},
    .help = "Write this dtype: rounded once, never wrapped",
    .details = R"(Write elements of another dtype, each rounded once. Integer dtypes saturate, and NaN is an error
(3) without `--nan`; float dtypes become infinite beyond their range. `<f4`, `>f4` and `=f4` also set the
byte order. See OTHER DTYPES.)"};

inline constexpr Option kSaturate{
    .names = "--saturate",
    .group = "data",
    .help = "With --to: the largest finite value, not infinity",
    .details = R"(With a float dtype as `--to`: values beyond its range, infinity included, become the largest
finite value and count as raised or lowered.)"};

// clang-format on

}  // namespace clipper::clip_options
