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
(6, -1e-3), a hexadecimal one (0x1.8p3), `inf`, `-inf` or @FILE.npy. It is converted exactly once, straight to the
tensor's dtype and never by way of a double: `--min 9007199254740993` on int64 is this number.

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
FILE has a tensor with one element, of 0 dimensions or more, and of the same dtype as the input. The element
is taken as it is. `--scale` and `--bias` take @FILE.npy, too. FILE is read once, before anything is written.

= -0.0
A zero is never replaced by the other zero: with `--min 0`, -0.0 stays -0.0.

= min above max
An error, unless `--min-above-max` or the profile says which bound every element becomes. NaN stays NaN.

## Elements

Without `--scale` and `--bias`, an element inside the bounds keeps its bits: a NaN keeps its payload and its sign, and
subnormal numbers stay. `--nan` says what else may become of NaN.

## Scale and bias

x * scale and then + bias are two operations, and each is rounded: in float32 for float16, bfloat16 and float32, in
float64 for float64 and for integers of up to 32 bits. int64 and uint64 are calculated exactly if scale and bias are
integers that fit int64 or uint64, otherwise in float64. The result is clipped before it is converted to the dtype.
Integers are then cut off toward zero, and without a bound they are clipped to the range of the dtype: nothing ever
wraps. scale and bias must be finite in the type of the calculation.

## Where the result is not byte for byte that of numpy

np.save(np.clip(x, lo, hi)), with lo and hi of the dtype of x, writes the same file as
`clipper --min LO --max HI`, except in these cases:

* Fractions on integers: a float as a bound makes numpy calculate in float64 and return float64. clipper keeps the dtype
and cuts the fraction off.
* One bound: np.clip(x, lo, None) replaces -0.0 by a bound 0.0. clipper keeps x, as np.clip does with two bounds.
* Big-endian input: np.clip returns an array in the machine's byte order. clipper keeps the byte order of the input.
* min above max: numpy gives max. In clipper this is an error unless `--min-above-max max` is given.
* NaN as a bound: numpy makes every element NaN. In clipper it is an error.
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
