#include "generate/manual_text.hpp"

namespace clipper::manual_text {

const std::string_view kDtypesAndBounds = R"text(
## Tensors

clipper takes tensors of int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64 and
bfloat16, little- or big-endian, in C or Fortran order, of 0 to 64 dimensions, also of size 0. Everything else (bool,
complex, strings, dates, structured and object arrays) is refused by name, and so is a file with missing or surplus
bytes (`--trailing` ignores surplus ones). Headers of versions 1.0, 2.0 and 3.0 are read, in every form that NumPy
2.4 reads.

NumPy has no bfloat16 and saves arrays of ml_dtypes.bfloat16 as 2-byte void. A header with <V2 is read as bfloat16; one
with |V2 needs `--dtype bfloat16`, because the header does not name the type.

## How the text of a bound becomes an element

The rules here are those of the profile native; PROFILES has what other profiles do differently. X is a decimal number
(6, -1e-3), a hexadecimal one (0x1.8p3), `inf`, `-inf`, a percentile (1%) or @FILE.npy. It is converted exactly once, straight
to the tensor's dtype and never by way of a double: `--min 9007199254740993` on int64 is this number.

= Floats
X becomes the nearest element, of two equally near ones the even one. A max above the range of the dtype becomes inf, and
a min below the range becomes -inf: they are no bounds. A min above the range or a max below the range is an error, because
every element would become infinite; write inf or -inf if you mean this.

= Fractions on integers
The fraction is cut off: `--max 7.5` on int16 is 7. Where this lets elements beyond the bound pass, a warning says so,
unless `--quiet` is given: `--min 1.5` becomes 1.

= Out of range
A bound beyond the range of an integer dtype becomes the nearest integer of the dtype if this keeps its meaning:
`--min -300` on int8 is -128 and changes nothing. `--min 300` on int8 is an error, because no int8 is at least 300.

= NaN
An error; the profiles onnx-11 to onnx-13 ignore such a bound of a float tensor.

= inf
`--min -inf` and `--max inf` are no bounds. `--min inf` sets every element of a float tensor to inf and is an error for
integers. `--max -inf` sets every element of a float tensor to -inf and is an error for integers.

= @FILE.npy
FILE has the same dtype as the input, and its elements are taken as they are. A file with one element is a number, which is read
before anything is written. All other files are arrays (see below). `--scale` and `--bias` take @FILE.npy, too.

= -0.0
A zero is never replaced by the other zero: with `--min 0`, -0.0 stays -0.0.

= min above max
An error, unless `--min-above-max` or the profile says which bound every element becomes. NaN stays NaN. `-v` and `--json` print
both bounds as converted.

## Arrays

`--min`, `--max`, `--scale` and `--bias` take @FILE.npy with an array that has a number for each element of the input. Arrays and
numbers can be mixed. The result has the shape of the input and, but for the signs of zeros (see below), the bytes of
np.clip(x * scale + bias, min, max), calculated as with numbers.

The shape of the array must broadcast to that of the input by numpy's rule: axes are aligned at the last one, and every size is
that of the input, or 1 for the same number along the axis. Missing axes count as 1. If images.npy has the shape (N, C, H, W),
an array of shape (C, 1, 1) has a number for each channel, one of shape (W,) for each column, and one of shape (N, 1, 1, 1) for
each image:

    $ clipper --min @lows.npy --max @highs.npy images.npy out.npy
    $ clipper --min @lows.npy --max 6 --json images.npy out.npy
    {...,"min":{"file":"lows.npy","shape":[3,1,1]},"max":6,...

= dtypes
min and max have the dtype of the input. scale and bias have the dtype of the input, float32 or float64; with an int64 or uint64
input also int64 or uint64. Integers as scale and bias of 64-bit integers are exact.

= Refused
Exit status 3: an array that does not broadcast, or that would make the result larger than the input. Exit status 2: NaN in min
or max, min above max at any index (unless `--min-above-max` is given), inf or NaN in scale or bias, another dtype, an array in a
stream, and any profile except native, because the operators of the other systems take numbers. The message has both shapes, or
the index of the first such element. Nothing is written.

= Memory and speed
Arrays of up to 2 MiB are held in memory. Larger ones are read side by side with the input: an array may be as large as the
input. If another program writes to such an array meanwhile, this is an error (4) and nothing is written. Fastest is an array in
the memory order of the input, C or Fortran. The byte order may be either.

= Interrupted and shared work
`--direct` and `--shard` recognise an array by what is in it, not by its name: a copy of the file is the same array.

## Percentiles

`--min 1% --max 99%` clips to percentiles of the input's own elements, to remove outliers. P% is the value below which P percent of
the elements lie; P is a decimal number from 0 to 100 with at most 16 decimal places. Of n elements that are not NaN, in
ascending order and counted from 0, it is the one at position P / 100 * (n - 1). Between two elements it is interpolated
linearly, as by default in numpy.percentile.

    $ clipper -v --min 1% --max 99% in.npy out.npy
    clipper: in.npy: ... min -3.36, max 6.94, profile native
    ...

= Exact
Nothing is sampled. Position and value are exact, and the value is converted once, as if it had been typed: by the rules above, or
by those of the profile. Of integers, native cuts off the fraction, without a warning, openvino rounds it inward, and onnx-12
refuses it. numpy calculates the position in the dtype of the tensor: with millions of float32 elements it is off by many elements.
`-v` and `--json` have the bound that was found, as converted. `clipper info` prints percentiles and the median as elements of the
dtype: floats are rounded once, of integers the fraction is cut off.

= Passes
Before the clip, the input is read once (dtypes of 8 and 16 bits), twice (32 bits) or up to four times (64 bits), in a few MiB of
memory. If it changes meanwhile, this is an error (4) and nothing is written. Of many inputs, each has percentiles of its own.
An interrupted `--direct` is finished with the percentiles that it began with.

= Refused
Exit status 2: a stream, which cannot be read twice (write it to a file first); `--shard` of one tensor (give the numbers that
`clipper info --percentile 1,99 IN` prints); and a percentile together with `--scale` or `--bias`. Exit status 3: an input that has
no elements except NaN, and a percentile between -inf and inf.

## Elements

Without `--scale` and `--bias`, an element inside the bounds keeps its bits: a NaN keeps its payload and its sign, and
subnormal numbers stay. `--nan` says what else may become of NaN.

## Scale and bias

x * scale and then + bias are two operations, and each is rounded: in float32 for float16, bfloat16 and float32, in
float64 for float64 and for integers of up to 32 bits. int64 and uint64 are calculated exactly if scale and bias are
integers that fit int64 or uint64, otherwise in float64. The result is clipped before it is converted to the dtype.
Integers are then cut off toward zero, and without a bound they are clipped to the range of the dtype: nothing ever
wraps. scale and bias must be finite in the type of the calculation.

= Counts
An element counts as raised if x * scale + bias, before its conversion to the dtype, is less than min, and as lowered if it is
greater than max. Without a bound, the lowest or highest value of the dtype takes its place: with `--scale 10`, the uint8 26 counts
as lowered. So does the int16 145 with `--scale 0.5 --max 72`, although 72.5 without its fraction is 72. NaN is neither raised nor
lowered. If min exceeds max, the bound that every element becomes is the only bound. `-v`, `--json` and `--fail-if-clipped` use
these counts.

## Where the result is not byte for byte that of numpy

np.save(np.clip(x, lo, hi)), with lo and hi of the dtype of x, writes the same file as
`clipper --min LO --max HI`, except in these cases:

* Fractions on integers: a float as a bound makes numpy calculate in float64 and return float64. clipper keeps the dtype
and cuts the fraction off.
* Zeros: unless both bounds are numbers, np.clip may replace a zero by a bound that is the other zero. Whether it does depends
on the dtype and on the order of the elements in memory. clipper keeps the zero, as np.clip does if both bounds are numbers.
* Big-endian input: np.clip returns an array in the machine's byte order. clipper keeps the byte order of the input.
* min above max: numpy gives max. In clipper this is an error unless `--min-above-max max` is given.
* NaN as a bound: numpy makes every element NaN. In clipper it is an error.
* An array that is larger than x: numpy enlarges the result. In clipper this is an error.
* Percentiles: np.percentile calculates the position in the dtype of x. clipper calculates it exactly.
* `--in-place` keeps the bytes of the header; a new file has the header that np.save of NumPy 1.24 or later writes.
* bfloat16 is unknown to numpy. The output's header names the dtype as the input's does, <V2 or |V2.
)text";

const std::string_view kProfileTables = R"text(
The columns of these tables:

= `DTYPES`
The dtypes that are taken: i8 is int8, u8 is uint8, f16 is float16, bf16 is bfloat16, and so on; "all" are the 12 dtypes.

= `DIMS`
How many dimensions a tensor may have.

= `BOUNDS`
Whether `--min` and `--max` must be given.

= `ABSENT`
What stands in for a bound that is not given: nothing (none), or the lowest and largest finite value of float32
(float32-limits: -3.4028234663852886e+38 and 3.4028234663852886e+38) or of the tensor's dtype (dtype-limits). With limits,
inf becomes finite.

= `TEXT TO`
The type that the text of a bound is rounded to first. The result is then converted to the tensor's dtype.

= `INEXACT`
What happens to a bound that an integer tensor cannot hold. truncate: the fraction is cut off and the value saturates;
this is an error where no element could satisfy the bound. inward: min is rounded up, max is rounded down, and both
saturate. error: the bound is refused.

= `MIN>MAX`
If min is above max: an error, or the bound that every element becomes. `--min-above-max` overrides this.

= `NAN BOUND`
Whether a bound that is NaN is an error or, for float tensors, ignored.

= `SCALE`
Whether `--scale` and `--bias` can be given. float32: they are rounded to float32 first.

)text";

const std::string_view kProfileRules = R"text(
`directml` means directml-5.0 and `onnx` means onnx-13. What a system forbids is an error that names the rule, and the
version that takes the tensor if there is one. `--nan`, `--min-above-max` and `--in-place` work with every profile.

= native
numpy.clip with bounds of the tensor's dtype.

= directml-*
DML_ELEMENT_WISE_CLIP_OPERATOR_DESC at that feature level: max(Min, min(x, Max)). The documentation of January 2022 has
the other order, which is `--min-above-max max`.

= onnx-1, onnx-6
ONNX Clip of that opset, which has the bounds as attributes. The float32 limits do clip float64; float16 is not clipped
by them.

= onnx-11, onnx-12, onnx-13
ONNX Clip of that opset, which has the bounds as tensors: type them, or give them as @FILE.npy.

= openvino
OpenVINO Clamp-1, whose bounds are doubles; for float16 and bfloat16 they are rounded to float32 on the way. If no integer
lies between min and max (0.2 and 0.8), this is an error.

data/README.md of the source says which library each rule was compared with, and where the systems differ.
)text";

}  // namespace clipper::manual_text
