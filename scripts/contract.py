"""dtypes, exact numbers, and the profiles' rules for bounds, independent of the C++. exact.py has the formula.

Numbers are exact: text becomes a Fraction, or a float for inf, -inf, nan and -0.0, which no Fraction can hold.
A number is rounded once per step that the rules name. Elements are unsigned integers that hold their bits.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, floor, inf, trunc

import numpy as np

# The dtypes ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Format:
    """A float dtype. Without infinity `infinity` is None, without sign `sign` is 0. If the NaN has the bits of -0, there is no -0."""
    size: int
    fraction: int  # bits
    bias: int
    last: int      # the bits of the largest finite number
    infinity: int | None
    nan: int
    sign: int


def ieee(size, fraction):
    sign = 1 << (8 * size - 1)
    infinity = sign - (1 << fraction)
    return Format(size, fraction, (infinity >> fraction) // 2, infinity - 1, infinity, infinity | 1 << (fraction - 1), sign)


INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = {"float16": ieee(2, 10), "float32": ieee(4, 23), "float64": ieee(8, 52), "bfloat16": ieee(2, 7)}
FLOAT8 = {
    "float8_e4m3fn": Format(1, 3, 7, 0x7E, None, 0x7F, 0x80),
    "float8_e5m2": ieee(1, 2),
    "float8_e4m3fnuz": Format(1, 3, 8, 0x7F, None, 0x80, 0x80),
    "float8_e5m2fnuz": Format(1, 2, 16, 0x7F, None, 0x80, 0x80),
    "float8_e4m3b11fnuz": Format(1, 3, 11, 0x7F, None, 0x80, 0x80),
    "float8_e8m0fnu": Format(1, 0, 127, 0xFE, None, 0xFF, 0),
}
FORMATS = FLOATS | FLOAT8
DTYPES = INTS + list(FLOATS)  # of which data/ has files
FLOAT32_MAX = Fraction(float(np.finfo(np.float32).max))
NAT = np.iinfo(np.int64).min


def is_time(dtype):
    return dtype.startswith(("datetime64", "timedelta64"))


def stored_type(dtype):
    """numpy's type of the elements of a tensor: of bfloat16 and float8, which numpy does not have, and of bool their bits, of dates integers."""
    if dtype == "bool":
        return np.dtype("u1")
    if dtype == "bfloat16" or dtype in FLOAT8:
        return np.dtype(f"u{FORMATS[dtype].size}")
    return np.dtype("i8" if is_time(dtype) else dtype)


def size(dtype):
    return stored_type(dtype).itemsize


def bits_type(dtype):
    return np.dtype(f"<u{size(dtype)}")


def values(bits, dtype):
    """Elements as numbers that numpy can calculate with. bfloat16 becomes float32, whose upper half it is."""
    if dtype == "bfloat16":
        return (bits.astype("<u4") << 16).view("<f4")
    return bits.view(stored_type(dtype).newbyteorder("<"))


def to_bits(numbers, dtype):
    """The inverse of values(). Does not round."""
    if dtype == "bfloat16":
        return (numbers.view("<u4") >> 16).astype("<u2")
    return numbers.view(bits_type(dtype))


def numbers(elements, dtype):
    """Elements of the stored type as numbers that numpy compares exactly: halves and float8 as float32, with the payloads of their NaNs."""
    if dtype in FLOAT8:
        return widened(dtype)[elements]
    if dtype == "bool":
        return np.asarray(elements != 0).astype("u1")
    return elements.astype(np.float32) if dtype == "float16" else values(elements, dtype) if dtype == "bfloat16" else elements


@cache
def widened(dtype):
    """All elements of a float8 as float32."""
    return np.array([float32_of(bits, FLOAT8[dtype]) for bits in range(256**size(dtype))], "u4").view("f4")


def float32_of(bits, form):
    """The bits of an element of a float8 as float32."""
    if not is_nan_of(bits, form):
        return nearest(decoded(bits, form), "float32")
    payload = (bits & ((1 << form.fraction) - 1)) << (23 - form.fraction) if form.infinity else 0
    return FLOATS["float32"].nan | payload | (bits & form.sign) << (32 - 8 * form.size) if form.nan != form.sign else FLOATS["float32"].nan


def is_nan(elements, dtype):
    """Where elements are NaN or NaT."""
    if is_time(dtype):
        return elements == NAT
    return np.isnan(numbers(elements, dtype)) if dtype in FORMATS else np.zeros(np.shape(elements), bool)


# Numbers ------------------------------------------------------------------------------------------------


@lru_cache(1 << 14)
def exact(text):
    """The number that is written in the text."""
    text = text.lower()
    if "inf" in text or "nan" in text:
        return float(text)
    number = Fraction(float.fromhex(text)) if "0x" in text else Fraction(text)
    return -0.0 if number == 0 and text.startswith("-") else number


def is_finite(number):
    return number == number and number not in (inf, -inf)


def is_negative(number):
    return math.copysign(1, number) < 0 if isinstance(number, float) else number < 0


def nearest(number, dtype):
    """The bits of the float nearest to a number, ties to even. Overflow gives infinity, or NaN if the dtype has none."""
    form = FORMATS[dtype]
    if number != number or not form.sign and number <= 0:
        return form.nan
    code = form.last + 1 if number in (inf, -inf) else magnitude(number, form) if number else 0
    sign = form.sign if is_negative(number) else 0
    if code > form.last:
        return form.nan if form.infinity is None else sign | form.infinity
    return code if sign | code == form.nan else sign | code


def magnitude(number, form):
    """The bits of the absolute value, at most form.last + 1. Without sign there are no subnormals, and of two the upper one is nearest."""
    top, bottom = abs(number).as_integer_ratio()
    exponent = top.bit_length() - bottom.bit_length()
    exponent -= top << max(-exponent, 0) < bottom << max(exponent, 0)
    exponent = max(exponent, 1 - form.bias) if form.sign else exponent
    shift = form.fraction - exponent
    bottom <<= max(-shift, 0)
    significand, rest = divmod(top << max(shift, 0), bottom)
    significand += 2 * rest > bottom or 2 * rest == bottom and bool(significand & 1 or not form.sign)
    return min(max(((exponent + form.bias - 1) << form.fraction) + significand, 0), form.last + 1)


def is_nan_of(bits, form):
    code = bits & ~form.sign
    return bits == form.nan or code > form.last and code != form.infinity


def decoded(bits, form):
    code = bits & ~form.sign
    if is_nan_of(bits, form) or code == form.infinity:
        return math.nan if code != form.infinity else -inf if bits & form.sign else inf
    exponent, fraction = code >> form.fraction, code & ((1 << form.fraction) - 1)
    if exponent or not form.sign:
        fraction += 1 << form.fraction
    number = fraction * Fraction(2) ** (max(exponent, bool(form.sign)) - form.bias - form.fraction)
    return number if not bits & form.sign else -number if number else -0.0


def value(bits, dtype):
    """The number that the bits of an element stand for."""
    return known_value(int(bits), dtype)


@lru_cache(1 << 16)
def known_value(bits, dtype):
    return decoded(bits, FORMATS[dtype])


def rounded(number, dtype):
    return value(nearest(number, dtype), dtype)


# The rules ----------------------------------------------------------------------------------------------


class Refused(Exception):
    """clipper refuses the case: the rule, the exit code, and the words that the message must contain. A word may have alternatives."""

    def __init__(self, rule, code, *words):
        self.rule, self.code, self.words = rule, code, [{word} if isinstance(word, str) else set(word) for word in words]


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
    Profile("clipper", "", arrays="broadcast", scale="exact"),
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


def float_bound(profile, dtype, number, side, text=""):
    """The bound that a number becomes, in bits. Beyond the range of a float8 without infinity it is the last element."""
    steps = profile.through
    if not profile.overflow and inf > abs(rounded(number, "float64")) > value(FORMATS[dtype].last, dtype):
        raise Refused("overflow", USAGE, text)
    if "float64" in steps and dtype in ("float16", "bfloat16"):
        steps = ("float64", "float32")
    result = number
    for step in (*steps, dtype):
        result = rounded(result, step)
    is_beyond = result != result and number == number  # all elements of a float8
    if is_beyond:
        result = -inf if is_negative(number) or not number else inf
    if result == (inf if side == "--min" else -inf) and (number != result or is_beyond):
        if profile.saturate_wrong_side:
            raise Unspecified
        raise Refused(f"range {side}", USAGE, text)
    form = FORMATS[dtype]
    return nearest(result, dtype) if not is_beyond else form.last if result > 0 else form.sign and form.sign | form.last


def int_bound(profile, dtype, number, side, text=""):
    lowest, highest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
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


def unspecified(profile, dtype, bits, lo, hi):
    """The elements for which the system contradicts itself. The bounds are bits, arrays of bits, or None."""
    if dtype not in FLOATS:
        return np.zeros(bits.shape, bool)
    bounds = [np.broadcast_to(np.array(each, bits.dtype), bits.shape) for each in (lo, hi) if each is not None]
    all_values = [values(np.ascontiguousarray(each), dtype) for each in (bits, *bounds)]
    smallest = value(1 << FLOATS[dtype].fraction, dtype)
    nan, *nan_bounds = (np.isnan(each) for each in all_values)
    under_nan = np.logical_or.reduce(nan_bounds)
    kinds = {
        "NaN": nan & ~under_nan, "under NaN": under_nan & ~nan, "NaN under NaN": nan & under_nan,
        "zero": sum((each == 0).astype(int) for each in all_values) > 1,
        "subnormal": np.logical_or.reduce([(abs(each) < float(smallest)) & (each != 0) for each in all_values]),
    }
    of_arrays = {f"arrays: {kind}": where for kind, where in kinds.items() if any(np.ndim(each) for each in (lo, hi))}
    return np.logical_or.reduce([where & (dtype in profile.unspecified.get(kind, ())) for kind, where in (kinds | of_arrays).items()])


# Percentiles ---------------------------------------------------------------------------------------------


def percentile(x, text):
    """The percentile as a fraction, an infinite float or -0.0. Of dates and flags the lower element of two."""
    known = numbers(x.elements[~is_nan(x.elements, x.dtype)].ravel(), x.dtype)
    if x.dtype in FORMATS:  # -0 before 0
        known = known.astype(np.float64)
        known = known[np.lexsort((~np.signbit(known), known))]
    ranked = known.tolist() if x.dtype in FORMATS else sorted(known.tolist())
    number = at_percentage(ranked, text, x.dtype == "bool" or is_time(x.dtype))
    if x.dtype in FORMATS and math.isfinite(number) and math.inf not in (-ranked[0], ranked[-1]):
        near, span = float(np.percentile(known, float(text.rstrip("%")))), max(-ranked[0], ranked[-1])  # in float64
        assert not math.isfinite(near) or math.isclose(near, number, rel_tol=1e-2, abs_tol=1e-2 * span), (text, number, near)
    return number


def at_percentage(ranked, text, is_element=False):
    """Of sorted numbers."""
    if not ranked:
        raise Refused("percentile of no numbers", INPUT)
    position = Fraction(text.rstrip("%")) / 100 * (len(ranked) - 1)
    low = math.floor(position)
    a, part = ranked[low], position - low
    if part == 0 or is_element:
        return a
    b = ranked[low + 1]
    if math.inf in (abs(a), abs(b)):
        if a != b and abs(a) == abs(b):
            raise Refused("percentile between infinities", INPUT)
        return a if abs(a) == math.inf else b
    if a == b and math.copysign(1, a) == math.copysign(1, b):
        return a
    return Fraction(a) + part * (Fraction(b) - Fraction(a))
