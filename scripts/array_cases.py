"""Random cases of `--min @lo.npy --max @hi.npy --scale @s.npy --bias @b.npy`, and the golden files of some."""

import math
import random
from decimal import Decimal

import ml_dtypes
import numpy as np

import contract
from contract import DTYPES, FLOAT8, FLOATS, FORMATS, INTS, NAT, is_nan, is_time, numbers, size, stored_type
from exact import BOUNDS, FACTORS, OWN, Case, Tensor, result

OPTIONS = (*BOUNDS, *FACTORS)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
AXES = 6
PROFILES = [row for row in contract.PROFILES if row.arrays and row is not OWN]


def narrowed(found, dtype):
    """Numbers that are not NaN -> elements, rounded by ml_dtypes or numpy."""
    if dtype not in FORMATS:
        return found
    return np.asarray(found).astype(getattr(ml_dtypes, dtype, dtype)).view(stored_type(dtype))


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
        words = [word for option in case.parameters for word in (option, case.word(option))]
        arrays = [stored(case.arrays()[option]) if option in case.arrays() else "" for option in OPTIONS]
        rows.append("\t".join((case.x.dtype, " ".join(words), stored(case.x), *arrays, stored(result(case).result))))
    for seed in range(count, count + count // 5):
        draw, profile = Draw(random.Random(seed), np.random.default_rng(seed)), PROFILES[seed % len(PROFILES)]
        case = draw.case_of_profile(size, profile)
        arrays = [stored(case.arrays()[option]) if option in case.arrays() else "" for option in OPTIONS]
        words = f"--profile {profile.name} --min @min.npy --max @max.npy"
        rows.append("\t".join((case.x.dtype, words, stored(case.x), *arrays, stored(result(case).result))))
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
        if dtype in FLOAT8:
            every = np.arange(256**size(dtype)).astype(stored_type(dtype))
            return every[~is_nan(every, dtype)]
        if dtype not in FLOATS:
            info = np.iinfo(stored_type(dtype))
            least, most = (0, 1) if dtype == "bool" else (int(info.min) + is_time(dtype), int(info.max))
            known = [least, least + 1, most, most - 1, 0, 1, 2, 100, most // 2, -1, -100, 2**24 + 1, 2**53 + 1, 2**53 - 1]
            return np.array([number for number in known if least <= number <= most], stored_type(dtype))
        one = np.array([0, 1, 6, 0.1, np.inf], np.float32 if dtype == "bfloat16" else dtype)
        unsigned = np.dtype(f"u{size(dtype)}")
        bits = narrowed(one, dtype).view(unsigned)
        near = np.concatenate([bits, bits[1:4] + unsigned.type(1), bits[1:5] - unsigned.type(1), np.array([1, 2], unsigned)])
        return np.concatenate([near, near | unsigned.type(FLOATS[dtype].sign)]).view(stored_type(dtype))

    def nans(self, dtype, count):
        if is_time(dtype):
            return np.full(count, NAT)
        if dtype in FLOAT8:
            every = np.arange(256**size(dtype)).astype(stored_type(dtype))
            return self.numpy.choice(every[is_nan(every, dtype)], count)
        unsigned, form = np.dtype(f"u{size(dtype)}"), FLOATS[dtype]
        payload = np.maximum(self.bits(count, unsigned) % unsigned.type(1 << form.fraction), 1).astype(unsigned)
        sign = self.numpy.integers(0, 2, count).astype(unsigned) << unsigned.type(8 * unsigned.itemsize - 1)
        return (payload | unsigned.type(form.infinity) | sign).view(stored_type(dtype))

    def bits(self, count, unsigned):
        return np.frombuffer(self.numpy.bytes(count * unsigned.itemsize), unsigned)

    def near(self, dtype, count):
        """Numbers around zero."""
        if dtype == "bool":
            return self.numpy.integers(0, 2, count).astype("u1")
        if dtype not in FORMATS:
            return self.numpy.integers(*((-20, 21) if np.iinfo(stored_type(dtype)).min else (0, 60)), count).astype(stored_type(dtype))
        found = self.numpy.normal(0, 10, count)
        return found if dtype == "float64" else narrowed(found.astype(np.float32), dtype)

    def elements(self, dtype, shape, nan=False, style=None):
        """Elements: edges, numbers around zero or any bits; NaN only if `nan`."""
        count = math.prod(shape)
        style = style or self.rng.choice(["edges", "near", "any", "mixed"])
        stored = stored_type(dtype)
        anything = self.bits(count, np.dtype(f"u{stored.itemsize}")).view(stored)
        anything = anything & 1 if dtype == "bool" else anything
        near = self.near(dtype, count)
        edges = self.numpy.choice(self.edges(dtype), count)
        if style == "mixed":
            which = self.numpy.integers(0, 3, count)
            found = np.choose(which, [edges, near.astype(stored), anything])
        else:
            found = {"edges": edges, "near": near.astype(stored), "any": anything}[style]
        found = found.copy()
        if dtype in FORMATS or is_time(dtype):
            if nan and style != "any":
                found = np.where(self.numpy.random(count) < 0.1, self.nans(dtype, count), found)
            if not nan:
                bad = is_nan(found, dtype)
                found[bad] = edges[bad]
        return found.reshape(shape)

    def tensor(self, dtype, elements):
        """A file with a random memory order and byte order."""
        return Tensor(dtype, elements, self.chance(0.4), self.chance(0.25) and dtype not in FLOAT8)

    # Bounds

    def bounds(self, dtype, shapes):
        """Elements of min and max with min <= max wherever both meet."""
        style = self.rng.choice(["edges", "near", "any", "mixed"])
        lo, hi = (self.elements(dtype, shape, style=style) for shape in shapes)
        both = np.broadcast_shapes(*shapes)
        if not all((*both, 1)):
            return lo, hi
        met = np.broadcast_to(numbers(lo, dtype), both)
        ahead = len(both) - hi.ndim
        axes = tuple(range(ahead)) + tuple(ahead + i for i, size in enumerate(hi.shape) if size == 1)
        least = met.max(axis=axes).reshape(hi.shape)
        return lo, np.where(least > numbers(hi, dtype), narrowed(least, dtype), hi).astype(stored_type(dtype))

    @staticmethod
    def text(dtype, element):
        if dtype in INTS:
            return str(int(element))
        number = float(numbers(np.array([element], stored_type(dtype)), dtype)[0])
        return str(Decimal(number)) if math.isfinite(number) else repr(number)  # exact: info does not round it

    def factors(self, dtype, shape, kind, is_bias):
        """Finite elements of scale or bias; `kind` is the array's dtype."""
        count = math.prod(shape)
        if kind in INTS:
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
            case.parameters["--nan"] = self.rng.choice([word for word in ("keep", "min", "max", "3.5", "-0.0")
                                                      if word not in ("min", "max") or f"--{word}" in case.parameters])
        return case

    @staticmethod
    def as_numbers(case):
        """The case with the first element of each array in its place."""
        given = {option: Draw.text(array.dtype, array.elements.ravel()[0]) for option, array in case.arrays().items()}
        return Case(case.x, case.parameters | given)

    def case_of_profile(self, count, profile):
        """A case of another profile than clipper: two arrays, in which min may be above max, and which have NaNs."""
        dtype = self.rng.choice([dtype for dtype in profile.dtypes if dtype in FLOATS or self.chance(0.2)])
        shape = (*self.shape(count), 2)  # an array of one element would be a number
        x = self.tensor(dtype, self.elements(dtype, shape, nan=True))
        shapes = [shape if profile.arrays == "same" or self.chance(0.5) else shape[self.rng.randrange(len(shape)):] for _ in range(2)]
        bounds = (self.tensor(dtype, self.elements(dtype, each, nan=True)) for each in shapes)
        return Case(x, dict(zip(BOUNDS, bounds)), profile)

    def other_shape(self, case):
        """Another shape to which the case's arrays broadcast."""
        shape = list(np.broadcast_shapes(*(array.shape for array in case.arrays().values())))
        shape = [self.rng.choice([1, 2, 5, 0]) if size == 1 and self.chance(0.8) else size for size in shape]
        ahead = [self.rng.choice([1, 2, 3]) for _ in range(self.rng.randint(0, max(0, AXES - len(shape))))]
        while ahead and math.prod(ahead) * math.prod(shape) > 20_000:
            ahead.pop()
        return (*ahead, *shape)
