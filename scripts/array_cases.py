"""Random cases of `--min @lo.npy --max @hi.npy --scale @s.npy --bias @b.npy`, and numpy's result for each.

The steps are those of clipper's contract: product, then sum, each rounded to float32 (for float16, bfloat16, float32) or to
float64 (for float64 and integers), then `g < lo ? lo : g`, then `y > hi ? hi : y`, and one conversion to the dtype. 64-bit
integers are calculated as Python's integers. bfloat16 elements are numpy's uint16 here, because ml_dtypes drops the payloads
of NaNs.
"""

import math
import random
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np

import contract

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = ["float16", "float32", "float64", "bfloat16"]
DTYPES = INTEGERS + FLOATS
OPTIONS = ("--min", "--max", "--scale", "--bias")
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
AXES = 6
PROFILES = [row for row in contract.PROFILES if row.arrays and row.name != "native"]


def in_float32(dtype):
    return dtype in ("float16", "float32", "bfloat16")


def stored_type(dtype):
    """numpy's type of the elements of a Tensor."""
    return np.dtype("uint16" if dtype == "bfloat16" else dtype)


def is_nan(bits, dtype):
    return np.isnan(wide(bits, dtype)) if dtype in FLOATS else np.zeros(np.shape(bits), bool)


def wide(elements, dtype):
    """Elements as numbers in which numpy compares them exactly. NaN keeps its payload, and may stay signalling."""
    if dtype == "bfloat16":
        return (elements.astype(np.uint32) << 16).view(np.float32)
    return elements.astype(np.float32) if dtype == "float16" else elements


def narrowed(numbers, dtype):
    """float32 -> float16 or bfloat16, rounded to nearest even. NaN becomes quiet, keeps its sign and the upper bits
    of its payload. Other dtypes stay as they are."""
    if dtype not in ("float16", "bfloat16"):
        return numbers
    numbers = np.asarray(numbers, order="C")
    bits = numbers.view(np.uint32)
    drop = 16 if dtype == "bfloat16" else 13
    quiet = (bits >> 16 & 0x8000) | (0x7FC0 if dtype == "bfloat16" else 0x7E00) | ((bits & 0x7FFFFF) >> drop)
    rounded = numbers.astype(BFLOAT16 if dtype == "bfloat16" else np.float16).view(np.uint16)
    return np.where(np.isnan(numbers), quiet.astype(np.uint16), rounded).view(stored_type(dtype))


@dataclass
class Tensor:
    """A .npy file: elements in C order, and how the file stores them."""
    dtype: str
    elements: np.ndarray
    fortran: bool = False
    big: bool = False

    @property
    def shape(self):
        return self.elements.shape

    @property
    def descr(self):
        size = self.elements.itemsize
        kind = "V" if self.dtype == "bfloat16" else np.dtype(self.dtype).kind
        return f"{'|' if size == 1 else '>' if self.big else '<'}{kind}{size}"

    def like(self, elements):
        """Other elements in a file of the same kind."""
        return Tensor(self.dtype, elements, self.fortran, self.big)

    def header(self):
        """The header that np.save writes."""
        one_order = self.elements.size == 0 or sum(size > 1 for size in self.shape) < 2
        fortran = self.fortran and not one_order
        text = f"{{'descr': '{self.descr}', 'fortran_order': {fortran}, 'shape': {self.shape}, }}"
        if self.shape:
            text += " " * (21 - len(str(self.shape[-1 if fortran else 0])))
        length = len(text) + 1
        length += 64 - (10 + length) % 64
        return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1).encode() + b"\n"

    def data(self):
        swapped = self.elements.byteswap() if self.big else self.elements
        return swapped.tobytes("F" if self.fortran else "C")

    def file(self):
        return self.header() + self.data()

    def index_texts(self, wrong):
        """The first index at which `wrong` is true, in C order and in the order of the file."""
        return {str(list(map(int, np.unravel_index(np.flatnonzero(wrong.ravel(order))[0], wrong.shape, order)))) for order in "CF"}


@dataclass
class Case:
    """`parameters`: a Tensor or a number's text per option."""
    x: Tensor
    parameters: dict = field(default_factory=dict)
    nan: str = ""  # the value of --nan
    above: str = ""  # the value of --min-above-max

    def with_x(self, x):
        return replace(self, x=x)

    def as_numbers(self):
        """The case with the first element of each array in its place."""
        numbers = {option: Draw.text(array.dtype, array.elements.ravel()[0]) for option, array in self.arrays().items()}
        return Case(self.x, self.parameters | numbers, self.nan, self.above)

    def arrays(self):
        return {option: given for option, given in self.parameters.items() if isinstance(given, Tensor)}

    @property
    def scaled(self):
        return "--scale" in self.parameters or "--bias" in self.parameters

    @property
    def exact(self):
        """Whether scale and bias are integers, which int64 and uint64 tensors are scaled by exactly."""
        given = [self.parameters[option] for option in ("--scale", "--bias") if option in self.parameters]
        return self.x.dtype in ("int64", "uint64") and all(map(is_integral, given))


def is_integral(given):
    if isinstance(given, Tensor):
        return given.dtype in INTEGERS
    number = Fraction(given)
    return number.denominator == 1 and -2**63 <= number < 2**64


# Expectation ---------------------------------------------------------------------------------------------


@dataclass
class Expected:
    result: Tensor
    raised: int
    lowered: int
    nan: int
    nans: np.ndarray  # where the result is NaN
    infinite: int = 0  # elements within the bounds that become infinite, and that become 0
    zero: int = 0


def bound(case, option):
    """The bound's elements in the tensor's shape and stored type, or None."""
    given = case.parameters.get(option)
    if given is None:
        return None
    if isinstance(given, Tensor):
        return np.broadcast_to(given.elements, case.x.shape)
    dtype = case.x.dtype
    number = int(given) if dtype in INTEGERS else float(given)
    one = np.array([number], np.float32 if dtype == "bfloat16" else dtype)
    return np.broadcast_to(narrowed(one, dtype)[0] if dtype == "bfloat16" else one[0], case.x.shape)


def factor(case, option, default, kind):
    """Scale or bias in the tensor's shape and in the type that is calculated with."""
    given = case.parameters.get(option, default)
    if kind is object:  # Python's integers
        values = given.elements if isinstance(given, Tensor) else np.array(int(Fraction(given)), object)
        values = np.vectorize(int, otypes=[object])(values) if values.size else values.astype(object)
    else:
        values = given.elements if isinstance(given, Tensor) else np.float64(given)
    return np.broadcast_to(np.asarray(values).astype(kind), case.x.shape)


def clipped(g, lo, hi):
    y = g if lo is None else np.where(g < lo, lo, g)
    return y if hi is None else np.where(y > hi, hi, y)


def replaced_nan(case, elements, nans, lo, hi):
    """What --nan makes of the NaNs."""
    if case.nan in ("", "keep", "error") or case.x.dtype in INTEGERS:
        return elements
    other = {"min": lo, "max": hi}.get(case.nan)
    if other is None:
        other = bound(Case(case.x, {"--min": case.nan}), "--min")
    return np.where(nans, other, elements)


def crossed(lo, hi, dtype):
    """Where min is above max."""
    if lo is None or hi is None:
        return None
    return np.asarray(wide(lo, dtype) > wide(hi, dtype))


def underflows(case, kind, divides=False):
    """Where x * scale is 0 although no factor is, and no bias follows."""
    scale, bias = factor(case, "--scale", "1", kind), factor(case, "--bias", "0", kind)
    x = wide(case.x.elements, case.x.dtype).astype(kind)
    return ((x / scale if divides else x * scale) == 0) & (x != 0) & (scale != 0) & (bias == 0)


def expected_floats(case):
    dtype, x = case.x.dtype, case.x.elements
    lo, hi = bound(case, "--min"), bound(case, "--max")
    numbers = wide(x, dtype)
    g = numbers
    if case.scaled:
        kind = np.float32 if in_float32(dtype) else np.float64
        g = numbers * factor(case, "--scale", "1", kind) + factor(case, "--bias", "0", kind)
    limits = [None if each is None else wide(each, dtype) for each in (lo, hi)]
    y = clipped(g, *limits)
    elements = narrowed(np.asarray(g), dtype) if case.scaled else x
    if lo is not None:
        elements = np.where(g < limits[0], lo, elements)
    if hi is not None:
        elements = np.where(clipped(g, limits[0], None) > limits[1], hi, elements)
    nans = np.isnan(g)
    elements = np.asarray(replaced_nan(case, elements, nans, lo, hi)).astype(stored_type(dtype), copy=False)
    infinite = zero = 0
    if case.scaled:
        result = wide(elements, dtype)
        infinite = int(((y == g) & np.isfinite(numbers) & np.isinf(result)).sum())
        zero = int(((y == g) & (result == 0) & ((g != 0) | underflows(case, kind))).sum())
    return Expected(case.x.like(elements), int((y > g).sum()), int((y < g).sum()), int(nans.sum()), nans, infinite, zero)


def expected_scaled(case, lo, hi):
    """The result of integers with scale or bias, and how many of them are raised and lowered, and become 0: in Python's numbers."""
    x = case.x.elements
    factors = (factor(case, option, default, object if case.exact else np.float64) for option, default in (("--scale", "1"), ("--bias", "0")))
    columns = (np.broadcast_to(each, x.shape).ravel().tolist() for each in (x, *factors, lo, hi))
    elements, raised, lowered, zero = [], 0, 0, 0
    for number, scale, bias, low, high in zip(*columns):
        g = (number if case.exact else float(number)) * scale + bias  # Python compares floats and integers exactly
        y = min(max(g, low), high)
        raised, lowered = raised + (y > g), lowered + (y < g)
        zero += y == g != int(y) == 0
        elements.append(int(y))
    return np.array(elements, case.x.dtype).reshape(x.shape), raised, lowered, zero


def expected_integers(case):
    dtype = case.x.dtype
    range_ = np.iinfo(dtype)
    least, most = np.array(range_.min, dtype), np.array(range_.max, dtype)
    lo, hi = bound(case, "--min"), bound(case, "--max")
    lo, hi = (least if lo is None else lo), (most if hi is None else hi)
    x = case.x.elements
    if case.scaled:
        y, raised, lowered, zero = expected_scaled(case, lo, hi)
    else:
        zero = 0
        y = np.asarray(clipped(x, lo, hi)).astype(dtype)
        raised, lowered = int((y > x).sum()), int((y < x).sum())
    return Expected(case.x.like(y), raised, lowered, 0, np.zeros(x.shape, bool), 0, zero)


def expected(case):
    """The result for a case that clipper must accept."""
    with np.errstate(all="ignore"):
        if case.above == "min":
            return expected_min(case)
        return (expected_floats if case.x.dtype in FLOATS else expected_integers)(case)


def expected_min(case):
    """max(Min, min(x, Max)): where min is above max every element becomes min. Expects arrays that cross."""
    lo, hi = bound(case, "--min"), bound(case, "--max")
    where = crossed(lo, hi, case.x.dtype)
    high = case.x.like(np.where(where, lo, hi).astype(stored_type(case.x.dtype)))
    found = expected(Case(case.x, case.parameters | {"--max": high}))
    found.result.elements = np.where(where & ~found.nans, lo, found.result.elements)  # also a zero of the other sign
    found.result.elements = replaced_nan(case, found.result.elements, found.nans, lo, hi)
    return found


def expected_by_profile(case, profile):
    """The elements of a case with two arrays as bounds, by the rules of another profile than native."""
    bits = contract.bits_type(case.x.dtype)
    lo, hi = (np.ascontiguousarray(bound(case, option)).view(bits) for option in ("--min", "--max"))
    plan = contract.Plan(profile, case.x.dtype, lo, hi, profile.above, None, None, None, {})
    return case.x.like(contract.limited_by_both(plan, np.ascontiguousarray(case.x.elements).view(bits)).view(stored_type(case.x.dtype)))


# Golden files --------------------------------------------------------------------------------------------


def golden_files(count, size):
    """Cases as files of data/arrays/, by name: the elements of all tensors by dtype, and a table that refers to them."""
    pools = {dtype: bytearray() for dtype in DTYPES}

    def stored(tensor):
        pool = pools[tensor.dtype]
        elements = Tensor(tensor.dtype, tensor.elements, tensor.fortran).data()  # little-endian, in the order of the file
        header = tensor.header()
        fortran = "True" if b"'fortran_order': True" in header else "False"
        start = len(pool) // tensor.elements.itemsize
        pool.extend(elements)
        return f"{tensor.dtype};{tensor.descr};{fortran};{tensor.shape};{start};{tensor.elements.size}"

    rows = ["\t".join(("dtype", "words", "in", *(option[2:] for option in OPTIONS), "out"))]
    for seed in range(count):
        case = Draw(random.Random(seed), np.random.default_rng(seed)).case(size, DTYPES[seed % len(DTYPES)])
        words = [word for option, given in case.parameters.items()
                 for word in (option, given if isinstance(given, str) else f"@{option[2:]}.npy")]
        words += ["--nan", case.nan] if case.nan else []
        arrays = [stored(case.arrays()[option]) if option in case.arrays() else "" for option in OPTIONS]
        rows.append("\t".join((case.x.dtype, " ".join(words), stored(case.x), *arrays, stored(expected(case).result))))
    for seed in range(count, count + count // 5):
        draw, profile = Draw(random.Random(seed), np.random.default_rng(seed)), PROFILES[seed % len(PROFILES)]
        case = draw.case_of_profile(size, profile)
        arrays = [stored(case.arrays()[option]) if option in case.arrays() else "" for option in OPTIONS]
        words = f"--profile {profile.name} --min @min.npy --max @max.npy"
        rows.append("\t".join((case.x.dtype, words, stored(case.x), *arrays, stored(expected_by_profile(case, profile)))))
    files = {f"arrays/{dtype}.npy": Tensor(dtype, np.frombuffer(bytes(pool), stored_type(dtype))).file() for dtype, pool in pools.items()}
    return files | {"arrays/cases.tsv": ("\n".join(rows) + "\n").encode()}


# Random cases --------------------------------------------------------------------------------------------


class Draw:
    """Draws shapes, elements and cases."""

    def __init__(self, rng, generator):
        self.rng = rng
        self.numpy = generator

    def chance(self, probability):
        return self.rng.random() < probability

    # Shapes

    def shape(self, count):
        """A shape of at most `count` elements."""
        rank = self.rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 6])
        shape, left = [], max(count, 1)
        for axis in range(rank):
            most = max(1, round(left ** (1 / self.rng.uniform(1, rank - axis))))
            size = self.rng.choice([1, 2, 3, 7, most, self.rng.randint(1, most)])
            shape.append(min(size, left))
            left //= max(shape[-1], 1)
        self.rng.shuffle(shape)
        if self.chance(0.03) and rank:
            shape[self.rng.randrange(rank)] = 0
        return tuple(shape)

    def parameter_shape(self, shape):
        """A shape that broadcasts to `shape`."""
        kind = self.rng.randrange(8)
        if kind == 0:
            return ()
        if kind == 1:
            return (1,) * self.rng.randint(0, len(shape))
        if kind == 2:
            return shape
        tail = shape[self.rng.randint(0, len(shape)):] if kind < 5 else shape
        if kind == 3 and shape:  # one axis: per channel
            axis = self.rng.randrange(len(shape))
            return (shape[axis],) + (1,) * (len(shape) - axis - 1)
        ones = self.rng.random()
        return tuple(1 if self.chance(ones) else size for size in tail)

    # Elements

    def edges(self, dtype):
        if dtype in INTEGERS:
            info = np.iinfo(dtype)
            numbers = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 100, info.max // 2, -1, -100,
                       2**24 + 1, 2**53 + 1, 2**53 - 1]
            return np.array([number for number in numbers if info.min <= number <= info.max], dtype)
        one = np.array([0, 1, 6, 0.1, np.inf], np.float32 if dtype == "bfloat16" else dtype)
        unsigned = np.dtype(f"u{stored_type(dtype).itemsize}")
        bits = narrowed(one, dtype).view(unsigned) if dtype == "bfloat16" else one.view(unsigned)
        near = np.concatenate([bits, bits[1:4] + unsigned.type(1), bits[1:5] - unsigned.type(1), np.array([1, 2], unsigned)])
        return np.concatenate([near, near | unsigned.type(1 << (8 * unsigned.itemsize - 1))]).view(stored_type(dtype))

    def nans(self, dtype, count):
        unsigned = np.dtype(f"u{stored_type(dtype).itemsize}")
        infinity = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}[dtype]
        payload = np.maximum(self.bits(count, unsigned) % unsigned.type(infinity & -infinity), 1).astype(unsigned)
        sign = self.numpy.integers(0, 2, count).astype(unsigned) << unsigned.type(8 * unsigned.itemsize - 1)
        return (payload | unsigned.type(infinity) | sign).view(stored_type(dtype))

    def bits(self, count, unsigned):
        return np.frombuffer(self.numpy.bytes(count * unsigned.itemsize), unsigned)

    def elements(self, dtype, shape, nan=False, style=None):
        """Elements: edges, numbers around zero or any bits; NaN only if `nan`."""
        count = math.prod(shape)
        style = style or self.rng.choice(["edges", "near", "any", "mixed"])
        stored = stored_type(dtype)
        unsigned = np.dtype(f"u{stored.itemsize}")
        anything = self.bits(count, unsigned).view(stored)
        if dtype in INTEGERS:
            near = self.numpy.integers(*((-20, 21) if np.iinfo(dtype).min else (0, 60)), count).astype(dtype)
        else:
            near = narrowed(self.numpy.normal(0, 10, count).astype(np.float32 if in_float32(dtype) else np.float64), dtype) \
                if in_float32(dtype) else self.numpy.normal(0, 10, count)
        edges = self.numpy.choice(self.edges(dtype), count)
        if style == "mixed":
            which = self.numpy.integers(0, 3, count)
            found = np.choose(which, [edges, near.astype(stored), anything])
        else:
            found = {"edges": edges, "near": near.astype(stored), "any": anything}[style]
        found = found.copy()
        if dtype in FLOATS:
            if nan and style != "any":
                found = np.where(self.numpy.random(count) < 0.1, self.nans(dtype, count), found)
            if not nan:
                bad = is_nan(found, dtype)
                found[bad] = edges[bad]
        return found.reshape(shape)

    def tensor(self, dtype, elements):
        """A file with a random memory order and byte order."""
        return Tensor(dtype, elements, self.chance(0.4), self.chance(0.25))

    # Bounds

    def bounds(self, dtype, shapes):
        """Elements of min and max with min <= max wherever both meet."""
        style = self.rng.choice(["edges", "near", "any", "mixed"])
        lo, hi = (self.elements(dtype, shape, style=style) for shape in shapes)
        both = np.broadcast_shapes(*shapes)
        if not all((*both, 1)):
            return lo, hi
        number = wide(lo, dtype)
        met = np.broadcast_to(number, both)
        ahead = len(both) - hi.ndim
        axes = tuple(range(ahead)) + tuple(ahead + i for i, size in enumerate(hi.shape) if size == 1)
        least = met.max(axis=axes).reshape(hi.shape)
        low = least > wide(hi, dtype)
        if dtype == "bfloat16":
            return lo, np.where(low, narrowed(least, dtype), hi)
        return lo, np.where(low, least, hi).astype(stored_type(dtype))

    @staticmethod
    def text(dtype, element):
        if dtype in INTEGERS:
            return str(int(element))
        number = float(wide(np.array([element], stored_type(dtype)), dtype)[0])
        return str(Decimal(number)) if math.isfinite(number) else repr(number)  # exact: info does not round it

    def factors(self, dtype, shape, kind, is_bias):
        """Finite elements of scale or bias; `kind` is the array's dtype."""
        count = math.prod(shape)
        if kind in INTEGERS:
            info = np.iinfo(kind)
            few = self.numpy.integers(*((-5, 6) if info.min else (0, 9)), count).astype(kind)
            far = self.numpy.choice(np.array([info.min, info.max, info.max // 2, 2**53 + 1], kind), count)
            return np.where(self.numpy.random(count) < (0.5 if is_bias else 0.1), far, few).reshape(shape)
        few = self.numpy.choice(np.array([0, -0.0, 1, -1, 0.5, 2, 3, 1e-3, 0.1, -7.25, 1e-30, 1e30]), count)
        found = np.where(self.numpy.random(count) < 0.5, few, self.numpy.normal(0, 3, count))
        return found.astype(kind).reshape(shape)

    def factor(self, x_dtype, shape, option):
        """Scale or bias: a number's text, or a Tensor."""
        integral = x_dtype in ("int64", "uint64") and self.chance(0.7)
        if self.chance(0.35):
            if integral:
                return str(self.rng.choice([0, 1, -1, 2, 3, -7, 100, 2**53 + 1, 2**63 - 1, -2**63, 2**64 - 1]))
            number = float(self.factors(x_dtype, (), "float32", False))
            return repr(number)
        kind = self.rng.choice(["int64", "uint64"]) if integral else self.rng.choice(["float32", "float64"])
        return self.tensor(kind, self.factors(x_dtype, self.parameter_shape(shape), kind, option == "--bias"))

    # Cases

    def case(self, count, dtype=None):
        """A case that clipper must accept, with at least one array and at most `count` elements."""
        dtype = dtype or self.rng.choice(DTYPES)
        shape = self.shape(count)
        x = self.tensor(dtype, self.elements(dtype, shape, nan=True))
        while True:
            case = Case(x)
            low, high = self.bounds(dtype, [self.parameter_shape(shape), self.parameter_shape(shape)])
            for option, elements in (("--min", low), ("--max", high)):
                if self.chance(0.2):
                    continue
                number = elements.size == 1 and self.chance(0.4)
                case.parameters[option] = self.text(dtype, elements.ravel()[0]) if number else self.tensor(dtype, elements)
            for option in ("--scale", "--bias"):
                if self.chance(0.25):
                    case.parameters[option] = self.factor(dtype, shape, option)
            if case.arrays():
                break
        if dtype in FLOATS and self.chance(0.15):
            case.nan = self.rng.choice([word for word in ("keep", "min", "max", "3.5", "-0.0")
                                        if word not in ("min", "max") or f"--{word}" in case.parameters])
        return case

    def case_of_profile(self, count, profile):
        """A case of another profile than native: two arrays, in which min may be above max, and which have NaNs."""
        dtype = self.rng.choice([dtype for dtype in profile.dtypes if dtype in FLOATS or self.chance(0.2)])
        shape = (*self.shape(count), 2)  # an array of one element would be a number
        x = self.tensor(dtype, self.elements(dtype, shape, nan=True))
        shapes = [shape if profile.arrays == "same" or self.chance(0.5) else shape[self.rng.randrange(len(shape)):] for _ in range(2)]
        bounds = (self.tensor(dtype, self.elements(dtype, each, nan=True)) for each in shapes)
        return Case(x, dict(zip(("--min", "--max"), bounds)))

    def other_shape(self, case):
        """Another shape to which the case's arrays broadcast."""
        shape = list(np.broadcast_shapes(*(array.shape for array in case.arrays().values())))
        shape = [self.rng.choice([1, 2, 5, 0]) if size == 1 and self.chance(0.8) else size for size in shape]
        ahead = [self.rng.choice([1, 2, 3]) for _ in range(self.rng.randint(0, max(0, AXES - len(shape))))]
        while ahead and math.prod(ahead) * math.prod(shape) > 20_000:
            ahead.pop()
        return (*ahead, *shape)
