#pragma once

#include "contract/fields.hpp"

/// What the program and the Python module say about the members of a Request, in the markup of the manual:
/// code between backquotes. Python has the names without dashes (`--min-above-max` is min_above_max), and no
/// statuses: it leaves out "(3)".
namespace clipper::fields {

struct Help {
  std::string_view name;        ///< of the row in kAll
  std::string_view value = {};  ///< what the texts call the value: "X"; empty: there is none
  std::string_view group;       ///< the heading in --help
  std::string_view line;        ///< at most 52 columns, without a period
  std::string_view details;     ///< the value, the default, and what it does
  std::string_view more = {};   ///< what only the program does, and the manual's section
};

// One block per row, without the indentation that clang-format gives to long texts.
// clang-format off

/// In the order of kAll.
inline constexpr std::array<Help, kAll.size()> kHelp{{
{.name = "profile", .value = "NAME", .group = "bounds",
 .line = "Follow numpy, pytorch, onnx, ... or version: onnx-6",
 .details = R"(Follow the rules of another system in one version: tensors it takes, conversion of bounds, NaN,
zeros, min above max. A name without a version is the newest version. Default: `clipper`, numpy.clip with
stricter errors; of the options about elements, other profiles have only the bounds, `--nan`, `--min-above-max`
and, directml, `--scale` and `--bias`.)", .more = "See PROFILES."},
{.name = "min_above_max", .value = "WHAT", .group = "bounds",
 .line = "If --min exceeds --max: error, min or max",
 .details = R"(If min is greater than max: an `error`, or `min` or `max` for every element but NaN, as numpy.clip
gives max. Default: the profile's rule; of the profile clipper an error.)"},
{.name = "min", .value = "X", .group = "bounds",
 .line = "Lower bound: a number, 1%, mean-3std or @FILE.npy",
 .details = R"(Elements less than X become X: a number, `inf`, a percentile such as `1%`, a rule such as
`mean-3std`, or @FILE.npy with a number or an array. Default: no bound, unless the profile has one.)",
 .more = "See DTYPES AND BOUNDS, PERCENTILES and RULES."},
{.name = "max", .value = "X", .group = "bounds",
 .line = "Upper bound, of the same kinds as --min",
 .details = R"(Elements greater than X become X, which is what `--min` takes. Default: no bound, unless the
profile has one.)"},
{.name = "scale", .value = "X", .group = "data",
 .line = "Multiply by X before the clip; 1/S divides by S",
 .details = R"(Calculate x * X + bias, then clip. X is a number or @FILE.npy; default: 1. `1/S` divides by S, as
ONNX QuantizeLinear does.)", .more = "See SCALE AND BIAS."},
{.name = "bias", .value = "X", .group = "data",
 .line = "Add X before the clip, after --scale",
 .details = "Calculate x * scale + X, then clip. X is a number or @FILE.npy; default: 0."},
{.name = "replace_below", .value = "V", .group = "bounds",
 .line = "Replace elements less than --min by V",
 .details = R"(Elements less than min become V in place of min, as by numpy.where, and still count as raised. The
dtype of the result must have V exactly; a float dtype also has `nan`.)", .more = "See OTHER DTYPES."},
{.name = "replace_above", .value = "V", .group = "bounds",
 .line = "Replace elements greater than --max by V",
 .details = R"(Elements greater than max become V in place of max, by the rules of `--replace-below`, and still
count as lowered.)"},
{.name = "subtract", .value = "S", .group = "data",
 .line = "After the clip, subtract S: number, mean, @FILE.npy",
 .details = R"(Calculate (y - S) / D for every clipped element y, of which `--then` clips the result. S is a
number, @FILE.npy, a figure such as `mean`, or a percentile; default: 0. Integers need `--to` or `--round`.)",
 .more = "See AFTER THE CLIP and FIGURES OF THE ELEMENTS."},
{.name = "divide", .value = "D", .group = "data",
 .line = "After --subtract, divide by D, of the same kinds",
 .details = R"(Calculate (y - S) / D, with D as `--subtract` takes S; default: 1. Dividing by 0 is an error
(2 if the 0 was typed, 3 if it came from a file or the elements), unless `--divide-zero` is given.)"},
{.name = "divide_zero", .value = "V", .group = "data",
 .line = "For a divisor found as 0: keep, error or a number",
 .details = R"(Replace a divisor that a file or a figure gives as 0, also B - A of `--stretch-from`: by 1 (`keep`)
or by the number V. Default: `error` (3).)"},
{.name = "max_norm", .value = "C", .group = "data",
 .line = "After the clip, scale elements down to the norm C",
 .details = R"(If the norm n of the clipped elements is greater than C, multiply them by C / n. Integers need
`--to` or `--round`.)", .more = "See NORMS OF THE ELEMENTS."},
{.name = "norm", .value = "P", .group = "data",
 .line = "Norm of --max-norm and norm: 2 (default), 1, inf",
 .details = R"(The norm that `--max-norm` limits and that `norm` is: `2` (default), the root of the sum of
squares; `1`, the sum of absolute values; `inf`, the greatest absolute value.)"},
{.name = "zero_point", .value = "Z", .group = "data",
 .line = "Add the integer Z after rounding",
 .details = R"(Add Z to the rounded result, as ONNX QuantizeLinear does. It needs an integer dtype as `--to`,
which has Z.)"},
{.name = "nan", .value = "WHAT", .group = "bounds",
 .line = "NaN: keep (default), error, min, max or a number",
 .details = R"(`keep` NaN elements (default), stop at the first one, an `error` (3), or replace them by `min`,
`max` or a number. A profile may have another default. Integers have no NaN; NaT counts as NaN.)",
 .more = "See PROFILES."},
{.name = "to", .value = "DTYPE", .group = "data",
 .line = "Write this dtype: rounded once, never wrapped",
 .details = R"(Elements get another dtype, and each is rounded once. Integer dtypes saturate, and NaN is an error
(3) without `--nan`; float dtypes become infinite beyond their range.)",
 .more = "`<f4`, `>f4` and `=f4` also set the byte order. See OTHER DTYPES."},
{.name = "round", .value = "MODE", .group = "data",
 .line = "half-even, half-away, trunc, floor or ceil",
 .details = R"(Round results to integers: to nearest, a tie to even (`half-even`) or away from 0 (`half-away`),
or toward 0 (`trunc`), down (`floor`) or up (`ceil`). Default with an integer dtype as `--to`: `half-even`.)",
 .more = "See OTHER DTYPES."},
{.name = "saturate", .group = "data",
 .line = "With --to: the largest finite value, not infinity",
 .details = R"(With a float dtype as `--to`: values beyond its range, infinity included, become the largest
finite value and count as raised or lowered.)"},
{.name = "stretch", .value = "LO:HI", .group = "data",
 .line = "After the clip, map min to LO and max to HI",
 .details = R"(Map min to LO and max to HI, and everything between them linearly. LO above HI inverts. Integers
need `--to` or `--round`. Without `--stretch-from` it needs both bounds.)", .more = "See AFTER THE CLIP."},
{.name = "stretch_from", .value = "A:B", .group = "data",
 .line = "With --stretch: map A to LO and B to HI instead",
 .details = R"(Map A to LO and B to HI in place of the bounds; elements outside of A and B are extrapolated along
the same line. A and B are numbers, percentiles or rules.)"},
{.name = "per_axis", .value = "K", .group = "statistics",
 .line = "Figures of each index along axis K; repeatable",
 .details = R"(Find percentiles, figures and norms for each index along axis K, negative from the end; of several
axes for each combination of indexes. With one axis, a list such as `0.5,0.4,0.4` as `--subtract`, or a file of
shape (C,), has a number for each index.)", .more = "See FIGURES OF THE ELEMENTS."},
{.name = "pooled", .group = "statistics",
 .line = "Figures of all inputs together",
 .details = "Find percentiles, figures and norms for all tensors of the run together.",
 .more = "All inputs are read first. See FIGURES OF THE ELEMENTS."},
{.name = "mask", .value = "@FILE.npy", .group = "statistics",
 .line = "Figures of the elements where FILE is not 0",
 .details = R"(Find percentiles, figures and norms among the elements for which FILE, of bool or numbers, is not
0. All elements are clipped, without `--mask-to`.)",
 .more = R"(In FILE, {dir}, {name}, {stem} and {ext} stand for parts of
the input's path, as with `--output`: `--mask '@{dir}/{stem}_mask.npy'`.)"},
{.name = "nodata", .value = "V", .group = "statistics",
 .line = "Leave elements that equal V as they are; repeatable",
 .details = R"(Elements that equal V are no data: every step keeps them, and no figure or count has them. `nan`
is every NaN, and 0 also -0. There may be several.)", .more = "See NODATA."},
{.name = "nodata_to", .value = "W", .group = "statistics",
 .line = "Write W for the elements that --nodata names",
 .details = "Elements that `--nodata` names become W, a number of the dtype of the result, or `nan`."},
{.name = "mask_to", .value = "V", .group = "statistics",
 .line = "Write V for the elements where the mask is 0",
 .details = R"(Elements for which the mask is 0 become V, as `--nodata-to` takes it; no step changes, and no count
has them.)"},
}};

// clang-format on

[[nodiscard]] constexpr const Help& help_of(const Field& field) {
  return kHelp[static_cast<std::size_t>(&field - kAll.data())];
}

}  // namespace clipper::fields
