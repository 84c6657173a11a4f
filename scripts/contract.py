"""The profiles' rules and the clip formula in plain Python, independent of the C++.

Numbers are exact: text becomes a Fraction, or a float for inf, -inf, nan and -0.0, which no Fraction can hold.
A number is rounded once per step that the rules name. Elements are unsigned integers that hold their bits.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, inf, trunc

import numpy as np

FLOATS = {"float16": (5, 10), "float32": (8, 23), "float64": (11, 52), "bfloat16": (8, 7)}  # exponent, fraction bits
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = INTS + list(FLOATS)
FLOAT32_MAX = Fraction(float(np.finfo(np.float32).max))


def size(dtype):
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def bits_type(dtype):
    return np.dtype(f"<u{size(dtype)}")


def values(bits, dtype):
    """Elements as numbers that numpy can calculate with. bfloat16 becomes float32, whose upper half it is."""
    if dtype == "bfloat16":
        return (bits.astype("<u4") << 16).view("<f4")
    return bits.view(np.dtype(dtype).newbyteorder("<"))


def to_bits(numbers, dtype):
    """The inverse of values(). Does not round."""
    if dtype == "bfloat16":
        return (numbers.view("<u4") >> 16).astype("<u2")
    return numbers.view(bits_type(dtype))


# Numbers ------------------------------------------------------------------------------------------------


def exact(text):
    """The number that is written in the text."""
    text = text.lower()
    if "inf" in text or "nan" in text:
        return float(text)
    number = Fraction(float.fromhex(text)) if "0x" in text else Fraction(text)
    return -0.0 if number == 0 and text.startswith("-") else number


def is_finite(number):
    return number == number and number not in (inf, -inf)


def nearest(number, dtype):
    """The bits of the float nearest to a number, ties to even. Overflow gives infinity."""
    exponent_bits, fraction_bits = FLOATS[dtype]
    infinity = (2**exponent_bits - 1) << fraction_bits
    if number != number:
        return infinity + (1 << (fraction_bits - 1))
    sign = (str(number).startswith("-")) << (exponent_bits + fraction_bits)
    if number in (inf, -inf):
        return sign + infinity
    number = abs(Fraction(number))
    if number == 0:
        return sign
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    exponent = max(exponent - (number < Fraction(2) ** exponent), 1 - bias)
    significand = round(number / Fraction(2) ** (exponent - fraction_bits))  # Python rounds halves to even
    return sign + min(((exponent + bias - 1) << fraction_bits) + significand, infinity)


def value(bits, dtype):
    """The number that the bits of an element stand for."""
    number = float(values(np.array([bits], bits_type(dtype)), dtype)[0])
    return Fraction(number) if is_finite(number) and str(number) != "-0.0" else number


def rounded(number, dtype):
    return value(nearest(number, dtype), dtype)


# The rules ----------------------------------------------------------------------------------------------


class Refused(Exception):
    """clipper refuses the case: the rule, the exit code and a word that the message must contain."""

    def __init__(self, rule, code, word):
        self.rule, self.code, self.word = rule, code, word


class Unspecified(Exception):
    """The rules do not specify the result, so there is no golden."""


USAGE, INPUT = 2, 3  # exit codes


@dataclass(frozen=True)
class Profile:
    name: str
    document: str                          # what the goldens follow if no library implements the case
    dtypes: tuple = tuple(DTYPES)
    ranks: range = range(65)
    bounds: str = "optional"               # or one, both: the least that a request must have
    arrays: str = ""                       # as bounds: broadcast, or same (as the tensor's shape), or none
    absent: str = "infinite"               # or float32, lowest
    through: tuple = ()                    # a bound is rounded to each of these types, then to x's dtype
    overflow: bool = True                  # a finite bound beyond the range of a float dtype may become infinite
    integers: str = "truncate"             # or exact, inward, half-even, no-bound: exact, or an integer that bounds nothing
    saturate_wrong_side: bool = False
    above: str = "error"                   # min > max: or min, max
    nan_bounds: str = "error"              # or ignored, poisons: elements that are no NaN become the bound
    nan: str = "kept"                      # NaN elements: or canonical, min
    ties: str = "x"                        # of zeros: or upper (x that equals max becomes max), ordered (-0.0 < 0.0)
    scale: str = ""                        # exact, float32 (rounded to it), or none
    unspecified: dict = field(default_factory=dict)  # kind of element: dtypes for which the system contradicts itself
    newer: str = ""                        # the next newer version of the profile


DML_2 = ("float32", "float16", "int8", "int16", "int32", "uint8", "uint16", "uint32")
DML_5 = (*DML_2, "int64", "uint64")
DML = dict(document="DML_ELEMENT_WISE_CLIP_OPERATOR_DESC", bounds="both", through=("float32",), above="min", scale="float32")
ONNX = ("float16", "float32", "float64")
ATTRIBUTES = dict(dtypes=ONNX, absent="float32", through=("float32",))
INPUTS = dict(absent="lowest", integers="exact", above="max", nan_bounds="ignored")
TORCH = ("int8", "int16", "int32", "int64", "uint8", *FLOATS)
TOSA = dict(document="TOSA 1.0 CLAMP", dtypes=("int8", "int16", "float16", "bfloat16", "float32"), bounds="both", integers="exact",
            ties="upper")
WEBNN = ("float32", "float16", "int8", "uint8", "int32", "uint32", "int64", "uint64")

PROFILES = [
    Profile("native", "", arrays="broadcast", scale="exact"),
    Profile("directml-1.0", dtypes=DML_2[:2], ranks=range(4, 5), newer="directml-2.1", **DML),
    Profile("directml-2.1", dtypes=DML_2, ranks=range(4, 5), newer="directml-3.0", **DML),
    Profile("directml-3.0", dtypes=DML_2, ranks=range(1, 9), newer="directml-5.0", **DML),
    Profile("directml-5.0", dtypes=DML_5, ranks=range(1, 9), **DML),
    Profile("onnx-1", "ONNX Clip-1, with the defaults of Clip-6", newer="onnx-6", **ATTRIBUTES),
    Profile("onnx-6", "ONNX Clip-6", newer="onnx-11", **ATTRIBUTES),
    Profile("onnx-11", "ONNX Clip-11", dtypes=ONNX, newer="onnx-12", **INPUTS),
    Profile("onnx-12", "ONNX Clip-12", dtypes=(*ONNX, *INTS), newer="onnx-13", **INPUTS),
    Profile("onnx-13", "ONNX Clip-13", **INPUTS),
    Profile("openvino", "OpenVINO Clamp-1", bounds="both", through=("float64",), integers="inward", saturate_wrong_side=True),
    Profile("numpy-2", "numpy.clip", dtypes=(*INTS, *ONNX), arrays="broadcast", integers="no-bound", above="max", nan_bounds="poisons",
            unspecified={"zero": ONNX[1:], "NaN under NaN": ONNX[1:]}),
    Profile("pytorch-2", "torch.clamp", dtypes=TORCH, bounds="one", arrays="broadcast", through=("float64",), overflow=False,
            integers="exact", above="max", nan_bounds="poisons",
            unspecified={"NaN": ("float16", "bfloat16"), "NaN under NaN": FLOATS, "arrays: zero": FLOATS, "arrays: NaN": FLOATS,
                         "arrays: under NaN": FLOATS}),
    Profile("stablehlo-1", "StableHLO clamp", bounds="both", arrays="same", integers="exact", above="max", nan_bounds="poisons",
            ties="ordered",
            unspecified={"NaN": FLOATS, "under NaN": FLOATS, "NaN under NaN": FLOATS, "subnormal": ("float32", "float64", "bfloat16")}),
    Profile("tosa-1.0", nan="canonical", **TOSA),
    Profile("tosa-1.0-ignore", nan="min", **TOSA),
    Profile("tensorflow-2", "tf.clip_by_value", bounds="both", integers="exact", above="min", nan_bounds="poisons",
            unspecified={"zero": ONNX[1:], "subnormal": ("float32", "float64", "bfloat16")}),
    Profile("webnn", "W3C WebNN clamp", dtypes=WEBNN, integers="half-even", saturate_wrong_side=True),
    Profile("directml-clip1", "DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC", dtypes=DML_5, ranks=range(1, 9), bounds="both", integers="exact",
            above="min", scale="float32"),
]


def version_that_takes(profile, accepts):
    """The first newer version that accepts the tensor, as clipper's message names it, or "" if no version does."""
    rows = {row.name: row for row in PROFILES}
    while profile.newer:
        profile = rows[profile.newer]
        if accepts(profile):
            family, version = profile.name.split("-")
            return f"Clip-{version}" if family == "onnx" else version
    return ""


def check_tensor(profile, dtype, shape):
    if dtype not in profile.dtypes:
        raise Refused("dtype", INPUT, version_that_takes(profile, lambda p: dtype in p.dtypes) or dtype)
    if len(shape) not in profile.ranks:
        raise Refused("rank", INPUT, version_that_takes(profile, lambda p: len(shape) in p.ranks) or "dimensions")


def float_bound(profile, dtype, text, side):
    number = exact(text)
    steps = profile.through
    if not profile.overflow and inf > abs(rounded(number, "float64")) > value(nearest(inf, dtype) - 1, dtype):
        raise Refused("overflow", USAGE, text)
    if "float64" in steps and dtype in ("float16", "bfloat16"):
        steps = ("float64", "float32")
    result = number
    for step in (*steps, dtype):
        result = rounded(result, step)
    if result == (inf if side == "--min" else -inf) and number != result:
        if profile.saturate_wrong_side:
            raise Unspecified
        raise Refused(f"range {side}", USAGE, text)
    return nearest(result, dtype)


def int_bound(profile, dtype, text, side):
    lowest, highest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    number = exact(text)
    is_python_int = text.removeprefix("-").isdecimal()
    is_none = profile.integers == "no-bound" and is_python_int and (number <= lowest if side == "--min" else number >= highest)
    if profile.integers in ("exact", "no-bound") and not is_none and not (is_finite(number) and number == trunc(number) and lowest <= number <= highest):
        raise Refused(f"exact {lowest <= number <= highest}", USAGE, text)
    result = number
    for step in profile.through if profile.integers != "exact" else ():
        result = rounded(result, step)
    if result not in (inf, -inf):
        inward = ceil if side == "--min" else floor
        result = {"inward": inward, "half-even": round}.get(profile.integers, trunc)(result)
    wrong = result > highest if side == "--min" else result < lowest
    if wrong and not profile.saturate_wrong_side:
        if lowest <= number <= highest:
            raise Unspecified  # rounding to float32 has left the range
        raise Refused(f"range {side}", USAGE, text)
    return int(min(max(result, lowest), highest)) & (2 ** (8 * size(dtype)) - 1)


def absent_bound(profile, dtype, side):
    sign = -1 if side == "--min" else 1
    if dtype in INTS:
        info = np.iinfo(dtype)
        return int(info.min if sign < 0 else info.max) & (2 ** (8 * size(dtype)) - 1)
    if profile.absent == "float32":
        return nearest(sign * FLOAT32_MAX, dtype)
    infinity = nearest(sign * inf, dtype)
    return infinity - 1 if profile.absent == "lowest" else infinity


def bound(profile, dtype, side, text, read_file):
    if text is None:
        return absent_bound(profile, dtype, side)
    if text.startswith("@"):
        file_dtype, bits = read_file(text[1:])
        if file_dtype != dtype:
            raise Refused("file dtype", USAGE, file_dtype)
        if bits.size != 1:  # an array: the tensors of the cases have other shapes
            raise Refused("file size", INPUT if profile.arrays else USAGE, text[1:])
        if profile.nan_bounds == "error" and np.isnan(values(bits, dtype)).any():
            raise Refused("NaN file", USAGE, text[1:])
        if profile.through and np.isnan(values(bits, dtype)).any():
            return nearest(np.nan, dtype)  # another type does not hold sign and payload
        return int(bits.reshape(-1)[0])
    if exact(text) != exact(text) and (profile.nan_bounds == "error" or dtype in INTS):
        raise Refused("NaN", USAGE, text)
    return (float_bound if dtype in FLOATS else int_bound)(profile, dtype, text, side)


@dataclass
class Plan:
    """A case after the rules were applied: bounds as bits (or arrays of them), scale and bias as exact numbers."""
    profile: Profile
    dtype: str
    lo: int
    hi: int
    above: str
    nan: int | None                        # the element that a NaN becomes
    scale: object
    bias: object
    arguments: dict


def plan(profile, dtype, shape, arguments, read_file):
    """Applies the rules to a command line and a tensor. Raises Refused or Unspecified."""
    check_tensor(profile, dtype, shape)
    options = dict(zip(arguments.split()[::2], arguments.split()[1::2]))
    for name in ("--scale", "--bias"):
        if name in options and not (profile.scale and is_finite(exact(options[name]))):
            raise Refused("scale" if profile.scale else "no scale", USAGE, name[2:])
    missing = [side for side in ("--min", "--max") if side not in options]
    if len(missing) > {"optional": 2, "one": 1, "both": 0}[profile.bounds]:
        raise Refused("required", USAGE, missing[0])
    lo, hi = (bound(profile, dtype, side, options.get(side), read_file) for side in ("--min", "--max"))
    lo_value, hi_value = (values(np.array([b], bits_type(dtype)), dtype)[0] for b in (lo, hi))
    written = [exact(options[side]) for side in ("--min", "--max") if not options.get(side, "@").startswith("@")]
    above_as_written = len(written) == 2 and written[0] > written[1]
    above = options.get("--min-above-max", profile.above)
    if above_as_written or lo_value > hi_value:
        if above == "error" or profile.integers == "inward" and not above_as_written:
            raise Refused("above" if above_as_written else "above as converted", USAGE, options.get("--min") or options["--max"])
    scale, bias = (exact(options[name]) if name in options else None for name in ("--scale", "--bias"))
    if profile.scale == "float32":
        scale, bias = (None if n is None else rounded(n, "float32") for n in (scale, bias))
    return Plan(profile, dtype, lo, hi, above, nan_element(dtype, options.get("--nan", profile.nan), lo, hi), scale, bias, options)


def nan_element(dtype, text, lo, hi):
    if text in ("keep", "kept", "error") or dtype in INTS:
        return None
    if text == "canonical":
        return nearest(np.nan, dtype)
    return {"min": lo, "max": hi}[text] if text in ("min", "max") else nearest(exact(text), dtype)


# The formula --------------------------------------------------------------------------------------------


def narrowed(numbers, dtype):
    """Rounds float32 to a half type, ties to even. A NaN keeps its sign and upper payload bits and becomes quiet."""
    if dtype == "float16":
        return numbers.astype("<f2").view("<u2")
    wide = numbers.view("<u4").astype("<u8")
    bits = (wide + 0x7FFF + (wide >> 16 & 1)) >> 16
    return np.where(np.isnan(numbers), wide >> 16 | 0x40, bits).astype("<u2")


def clipped(numbers, lo, hi, above):
    if above == "min":  # max(Min, min(x, Max))
        numbers = np.where(numbers > hi, hi, numbers)
        return np.where(numbers < lo, lo, numbers)
    numbers = np.where(numbers < lo, lo, numbers)
    return np.where(numbers > hi, hi, numbers)


def order(bits, dtype):
    """Integers in the order of the floats, -0.0 below 0.0."""
    top = 1 << (8 * size(dtype) - 1)
    return np.where(bits & top, ~bits, bits | top)


def limited(p, bits, bound, upper):
    """Elements after one of the two bounds."""
    bound = np.broadcast_to(np.array(bound, bits.dtype), bits.shape)
    x, b = values(bits, p.dtype), values(np.ascontiguousarray(bound), p.dtype)
    if p.profile.ties == "ordered" and p.dtype in FLOATS:
        a, c = order(bits, p.dtype), order(bound, p.dtype)
        beyond = (a > c if upper else a < c) & ~np.isnan(b)
    else:
        beyond = (x >= b if p.profile.ties == "upper" else x > b) if upper else x < b
    if p.profile.nan_bounds == "poisons":
        beyond |= np.isnan(b)
    return np.where(beyond & ~np.isnan(x), bound, bits)


def limited_by_both(p, bits):
    steps = [(p.lo, False), (p.hi, True)]
    for bound, upper in reversed(steps) if p.above == "min" else steps:
        bits = limited(p, bits, bound, upper)
    return bits


def unspecified(profile, dtype, bits, lo, hi):
    """The elements for which the system contradicts itself. The bounds are bits, arrays of bits, or None."""
    if dtype not in FLOATS:
        return np.zeros(bits.shape, bool)
    bounds = [np.broadcast_to(np.array(each, bits.dtype), bits.shape) for each in (lo, hi) if each is not None]
    all_values = [values(np.ascontiguousarray(each), dtype) for each in (bits, *bounds)]
    smallest = value(1 << FLOATS[dtype][1], dtype)
    nan, *nan_bounds = (np.isnan(each) for each in all_values)
    under_nan = np.logical_or.reduce(nan_bounds)
    kinds = {
        "NaN": nan & ~under_nan, "under NaN": under_nan & ~nan, "NaN under NaN": nan & under_nan,
        "zero": sum((each == 0).astype(int) for each in all_values) > 1,
        "subnormal": np.logical_or.reduce([(abs(each) < float(smallest)) & (each != 0) for each in all_values]),
    }
    of_arrays = {f"arrays: {kind}": where for kind, where in kinds.items() if any(np.ndim(each) for each in (lo, hi))}
    return np.logical_or.reduce([where & (dtype in profile.unspecified.get(kind, ())) for kind, where in (kinds | of_arrays).items()])


def scaled_ints(p, numbers, lo, hi):
    """Exact for 64-bit integers with integer scale and bias, otherwise in float64. Python compares without rounding."""
    scale, bias = 1 if p.scale is None else p.scale, 0 if p.bias is None else p.bias
    whole = size(p.dtype) == 8 and all(n == trunc(n) and -(2**63) <= n < 2**64 for n in (scale, bias))
    result = []
    for x in (int(n) for n in numbers):
        g = x * trunc(scale) + trunc(bias) if whole else float(x) * float(scale) + float(bias)
        result.append(lo if g < lo else hi if g > hi else trunc(g))
    return np.array(result, p.dtype)


def result(p, bits):
    """The bits that clipper must write for the input bits of a tensor."""
    x = values(bits, p.dtype)
    lo, hi = values(np.array([p.lo, p.hi], bits_type(p.dtype)), p.dtype)
    with np.errstate(all="ignore"):
        if p.scale is None and p.bias is None:
            out = limited_by_both(p, bits)
        elif p.dtype in INTS:
            out = to_bits(scaled_ints(p, x, int(lo), int(hi)), p.dtype)
        else:
            wide = np.dtype("<f8" if p.dtype == "float64" else "<f4")
            scale, bias = (values(np.array([nearest(n, wide.name)], f"<u{wide.itemsize}"), wide.name)[0]
                           for n in (1 if p.scale is None else p.scale, 0 if p.bias is None else p.bias))
            g = np.add(np.multiply(x.astype(wide), scale), bias)
            g = clipped(g, lo.astype(wide), hi.astype(wide), p.above)
            out = narrowed(g, p.dtype) if size(p.dtype) == 2 else to_bits(g, p.dtype)
    where = np.isnan(values(out, p.dtype))
    if p.arguments.get("--nan") == "error" and where.any():
        raise Refused("NaN element", INPUT, int(np.argmax(where)))
    if p.nan is not None:
        where &= np.isnan(x) | (p.scale is not None) | (p.bias is not None)  # not what a bound has poisoned
        element = np.array(p.nan, bits_type(p.dtype))
        out = np.where(where, element if "--nan" in p.arguments or lo > hi else limited_by_both(p, element), out)
    return out
