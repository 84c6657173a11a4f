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
    .names = "--min", .type = "X", .value = Value::number, .group = "Operation",
    .help = "Lower bound: a number, inf, -inf, a percentile such as 1%, a rule such as mean-3std, or @FILE.npy",
    .details = R"(Elements less than X become X. X is a decimal number such as -1e-3, a hexadecimal one such
as 0x1.8p3, `inf`, `-inf`, a percentile of the input's elements such as `1%`, a rule such as `mean-3std` or `25%-1.5iqr`
(FIGURES OF THE ELEMENTS), or @FILE.npy, which has one element or an array that broadcasts to the input's shape. Without `--min` there
is no lower bound, unless the profile requires one or has a default. DTYPES AND BOUNDS says how X becomes an
element, and explains arrays, percentiles, and the bounds of bool, datetime64 and timedelta64.)"};

inline constexpr Option kMax{
    .names = "--max", .type = "X", .value = Value::number, .group = "Operation",
    .help = "Upper bound: a number, inf, -inf, a percentile such as 99%, a rule such as mean+3std, or @FILE.npy",
    .details = R"(Elements greater than X become X. X is a number, `inf`, `-inf`, a percentile such as `99%`, a rule
such as `mean+3std`, or @FILE.npy, and has the same rules as the X of `--min`. Without `--max` there is no upper bound, unless the
profile requires one or has a default.)"};

inline constexpr Option kScale{
    .names = "--scale", .type = "X", .value = Value::number, .group = "Operation",
    .help = "Multiply by X, a number or @FILE.npy, before clipping (default: 1); 1/S divides by S",
    .details = R"(Calculate x * X + bias for every element x, then clip. X is a finite number or @FILE.npy,
which has one element or an array that broadcasts to the input's shape (DTYPES AND BOUNDS). The bias is 0
unless `--bias` is given. For example `--scale 0.5 --bias 1 --max 6` writes min(x * 0.5 + 1, 6). Only the
profiles native and directml have this operation; with another profile `--scale` is an error. `--scale 1/S`
divides by S, a number or @FILE.npy, as ONNX QuantizeLinear does, which a rounded 1/S would not (OTHER
DTYPES).)"};

inline constexpr Option kBias{
    .names = "--bias", .type = "X", .value = Value::number, .group = "Operation",
    .help = "Add X, a number or @FILE.npy, before clipping and after --scale (default: 0)",
    .details = R"(Calculate x * scale + X for every element x, then clip. X is a finite number or @FILE.npy,
which has one element or an array that broadcasts to the input's shape (DTYPES AND BOUNDS). The scale is 1
unless `--scale` is given. Only the profiles native and directml have this operation; with another profile
`--bias` is an error.)"};

inline constexpr Option kProfile{
    .names = "--profile", .type = "NAME", .words = &profile_names, .group = "Operation",
    .help = "Follow another system's rules: numpy, pytorch, onnx, ..., or a version such as onnx-6",
    .details = R"(Follow the rules of another system in one version: which tensors it takes, how the text of a
bound becomes an element, and what becomes of NaN, zeros and min above max. A name without a version, such as
`onnx`, is the newest version that clipper knows. The default, `native`, follows numpy.clip, but refuses NaN
as a bound and min above max. A tensor or an option that the system does not have is an error that names the
rule. PROFILES has all rules.)"};

inline constexpr Option kNan{
    .names = "--nan", .type = "WHAT", .words = &nan_words, .group = "Operation",
    .help = "Handle NaN elements: keep (default), error, or replace by min, max or a number",
    .details = R"(What becomes of NaN elements, including those that `--scale` and `--bias` produce (inf * 0).
`keep` leaves them as they are; it is the default, except of the profiles tosa-1.0 and tosa-1.0-ignore. `error` stops at the first one, names its index, writes nothing and exits with
3. `min` and `max` replace them by that bound, which must be given; a number replaces them by the nearest
value of the result's dtype. Integer tensors have no NaN, and the option has no effect on them. NaT is the NaN of dates and durations. It
works with every profile. A bound that is NaN is another matter: PROFILES.)"};

inline constexpr Option kMinAboveMax{
    .names = "--min-above-max", .type = "WHAT", .words = [] { return Words{"error", "min", "max"}; },
    .group = "Operation",
    .help = "If --min exceeds --max: error, or set every element to min or max",
    .details = R"(What to do if min is greater than max: `error`, or set every element to `min` or to `max`;
NaN stays NaN. The default depends on the profile: an error, or the bound that the system gives (PROFILES).
numpy.clip gives max, which is `--min-above-max max`.)"};

inline constexpr Option kReplaceBelow{
    .names = "--replace-below", .type = "V", .value = Value::number, .group = "Operation",
    .help = "Replace elements less than --min by V, not by the bound",
    .details = R"(Elements less than X of `--min`, which must be given, become V, as by numpy.where; they
still count as raised. The output's dtype must have V exactly; `nan` is possible if it is a float dtype. NaN
elements are not less: `--nan` says what becomes of them. Profile native only.)"};

inline constexpr Option kReplaceAbove{
    .names = "--replace-above", .type = "V", .value = Value::number, .group = "Operation",
    .help = "Replace elements greater than --max by V, not by the bound",
    .details = R"(Elements greater than X of `--max`, which must be given, become V, by the rules of
`--replace-below`; they still count as lowered.)"};

inline constexpr Option kMaxNorm{
    .names = "--max-norm", .type = "C", .group = "Operation",
    .help = "After the clip, scale the elements down to the norm C if theirs is more",
    .details = R"(Multiply every clipped element by C / n if the norm n of all of them is more than C, a number above 0; before
`--subtract`, `--divide` and `--stretch` (NORMS OF THE ELEMENTS). With `--per-axis` each index has a norm, with `--pooled` all inputs have one
together. A norm that is NaN or infinite is an error (3). An integer tensor needs `--to` or `--round`. Profile native only.)"};

inline constexpr Option kNorm{
    .names = "--norm", .type = "P", .words = [] { return Words(kNormWords.begin(), kNormWords.end()); },
    .group = "Operation",
    .needs = "--max-norm",
    .help = "The norm that --max-norm limits: 2 (default), 1 or inf",
    .details = R"(The norm that `--max-norm` limits: `2`, the root of the sum of squares, `1`, the sum of absolute values, or `inf`, the
greatest absolute value.)"};

inline constexpr Option kSubtract{
    .names = "--subtract", .type = "S", .value = Value::number, .group = "Operation",
    .help = "After the clip, subtract S, a number, @FILE.npy, mean, median, 50%, ... (default: 0)",
    .details = R"(Calculate (y - S) / D for every clipped element y, in float64 (AFTER THE CLIP). S is a finite
number, @FILE.npy, which has one element or an array that broadcasts to the input's shape, or a figure of the clipped
elements (FIGURES OF THE ELEMENTS): `mean`, `std`, `min`, `max`, `median`, `mad`, `iqr`, `absmax` or a percentile such as
`50%`; D is that of `--divide`, or 1. An integer tensor needs `--to` or `--round`. Profile native only.)"};

inline constexpr Option kDivide{
    .names = "--divide", .type = "D", .value = Value::number, .group = "Operation",
    .help = "After the clip and --subtract, divide by D, of the same kinds (default: 1)",
    .details = R"(Calculate (y - S) / D for every clipped element y, by the rules of `--subtract`. Dividing by 0
is an error: status 2 if it was typed, status 3 if it came from a file or the elements and `--divide-zero` is not given.)"};

inline constexpr Option kDivideZero{
    .names = "--divide-zero", .type = "V", .value = Value::number, .group = "Operation",
    .needs = "--divide --figures",
    .help = "In place of a divisor that is found or read as 0: keep (1), error (default) or a number",
    .details = R"(What happens to elements whose divisor is 0 because a figure or a file says so, such as those of a channel
with std 0: `keep` divides them by 1, `error` refuses them (3), and a number V is their divisor. A 0 that is typed stays an
error (2).)"};

inline constexpr Option kStretch{
    .names = "--stretch", .type = "LO:HI", .group = "Operation",
    .help = "After the clip, map min to LO, max to HI and linearly what is between them",
    .details = R"(Map min to LO and max to HI, and everything between them linearly, in float64 (AFTER THE CLIP). Needs `--min` and `--max`, which are finite and may be percentiles or arrays: `--min
1% --max 99% --stretch 0:255 --to uint8` makes a picture. LO above HI inverts. Not with `--subtract`,
`--divide` and `--min-above-max`. An integer tensor needs `--to` or `--round`. Profile native only.)"};

inline constexpr Option kStretchFrom{
    .names = "--stretch-from", .type = "A:B", .group = "Operation",
    .excludes = {{"--subtract --divide"}},
    .needs = "--stretch",
    .help = "With --stretch: map A to LO and B to HI, and what is outside beyond them",
    .details = R"(With `--stretch LO:HI`: map A to LO and B to HI. Elements outside of A and B are extrapolated along the same line. A and B are numbers, percentiles such as `1%` or rules such as `mean-3std` of the input's elements. The
bounds of the clip are then optional: with `--min` or `--max` elements are clipped first. A above B inverts. A that equals B is an error (2;
if it is found so, 3).)"};

inline constexpr Option kNodata{
    .names = "--nodata", .type = "V", .value = Value::number, .group = "Operation",
    .help = "Leave elements that equal V as they are: they are no data; may be given again",
    .details = R"(Elements of the input that equal V are no data: they keep their value in every step, also in
another dtype, and no percentile, count of clipped elements, `--fail-if-clipped` or `--nan` sees them (NODATA).
V is rounded to the input's dtype, as a bound is; `nan` is every NaN, and 0 also -0. A V that the output's dtype
does not have is an error (2) without `--nodata-to`. Not for bool and dates. Profile native only.)"};

inline constexpr Option kNodataTo{
    .names = "--nodata-to", .type = "W", .value = Value::number, .group = "Operation",
    .help = "Write W for the elements that --nodata names",
    .details = R"(Elements that `--nodata` names become W, a number of the output's dtype, or `nan`.)"};

inline constexpr Option kPerAxis{
    .names = "--per-axis", .type = "K", .group = "Operation",
    .help = "Percentiles, mean, std, norm, ... of each index along axis K; may be given again",
    .details = R"(Find the percentiles of `--min` and `--max`, the figures of `--subtract` and `--divide` and the norm of `--max-norm` for each
index along axis K of the shape, over all other axes, as keepdims does in numpy. K counts from 0, negative from the
end, whatever the memory order; given again, for each pair of indexes, and so on. A tensor without axis K, and an index
whose elements are all NaN, are errors (3). FIGURES OF THE ELEMENTS has examples. With one axis each bound, scale, bias, S
and D may also be a list that has a number for each index: `--per-axis 1 --subtract 0.485,0.456,0.406` (ARRAYS). Profile native only.)"};

inline constexpr Option kPooled{
    .names = "--pooled", .group = "Operation", .excludes = {{"--shard --finalize --skip-existing --newer"}},
    .help = "Percentiles, mean, std, norm, ... of all inputs together",
    .details = R"(Find the percentiles of `--min` and `--max`, the figures of `--subtract` and `--divide` and the norm of `--max-norm` for all
clipped tensors of the run together, also the members of archives, which are all read before the first is clipped.
They have one dtype, for a norm alone any float dtypes, or it is an error (3). Not with `--in-place`: a run that is killed would leave other numbers to
find; nor with `--skip-existing` or `--newer`: the inputs that are left have other numbers. `--dry-run` prints the
numbers; typed as options they give the same bytes (FIGURES OF THE ELEMENTS). Profile native only.)"};

inline constexpr Option kMask{
    .names = "--mask", .type = "@FILE.npy", .value = Value::number, .group = "Operation",
    .help = "Percentiles, mean, std, norm, ... of the elements where FILE is not 0",
    .details = R"(Find all figures in the elements for which the file, of bool or numbers, which broadcasts to the input's shape, is not 0;
NaN counts as true. All elements are clipped. Profile native only.)"};

inline constexpr Option kSaveFigures{
    .names = "--save-figures", .type = "FILE.npz", .value = Value::file, .group = "Operation",
    .excludes = {{"--verify --shard --finalize --skip-existing --newer"}},
    .help = "Write the numbers that were found, as used, to FILE.npz, for --figures",
    .details = R"(Write min, max, scale, bias, subtract and divide, as far as they are given, to an archive, which gets its name when all results are in place: fit here, apply there with `--figures` (FIGURES OF THE ELEMENTS). With `--dry-run` nothing else is written. Several inputs
need `--pooled`. Profile native only.)"};

inline constexpr Option kFigures{
    .names = "--figures", .type = "FILE.npz", .value = Value::file, .group = "Operation",
    .help = "Take min, max, subtract, ... of a file of --save-figures; an option that is typed wins",
    .details = R"(Each member of FILE.npz is the option of its name: `min` is `--min @FILE.npz:min`, unless `--min` is given.)"};

inline constexpr Option kRound{
    .names = "--round", .type = "MODE", .words = &round_words, .group = "Operation",
    .help = "Round results to integers: half-even, half-away, trunc, floor or ceil",
    .details = R"(Round the results to integers, after clipping: to the nearest one, where a tie becomes even
(`half-even`) or moves away from 0 (`half-away`), or toward 0 (`trunc`), down (`floor`) or up (`ceil`). With
an integer dtype as `--to` the default is `half-even`. Without `--to`, an integer tensor with `--scale` or
`--bias` is rounded by MODE and not truncated. Profile native only.)"};

inline constexpr Option kZeroPoint{
    .names = "--zero-point", .type = "Z", .value = Value::number, .group = "Operation",
    .help = "Add the integer Z after rounding; needs an integer dtype as --to",
    .details = R"(Add Z to the rounded results, as ONNX QuantizeLinear does. Bounds act before Z is added, and
the limits of the output's dtype after it. Z is an element of that dtype, an integer one, which `--to` must
name.)"};

inline constexpr Option kTo{
    .names = "--to", .type = "DTYPE", .words = &dtype_names, .group = "Operation",
    .excludes = {{"--direct"}},
    .help = "Write elements of this dtype: rounded once, and saturated, never wrapped",
    .details = R"(Write elements of another dtype, each rounded once (OTHER DTYPES). To an integer dtype:
rounded by `--round`, then saturated at the limits of the dtype, which count as bounds; NaN is an error (3)
unless `--nan` replaces it. To a float dtype: rounded to nearest, ties to even; what is beyond its range
becomes infinite unless `--saturate` is given. Byte order and memory order are those of the input. Works with
`--in-place`, which then changes the file's size, but not with `--direct`. Profile native only.)"};

inline constexpr Option kSaturate{
    .names = "--saturate", .group = "Operation",
    .help = "With --to: values beyond a float dtype's range become its largest finite value, not infinity",
    .details = R"(With a float dtype as `--to`: values beyond its range, infinity included, become the largest finite
value, and count as raised or lowered. Integer dtypes saturate without it.)"};

// clang-format on

}  // namespace clipper::clip_options
