"""Random cases of the topics of clips_vs_exact.py: each function gives a Case. array_cases.Draw has those that data/ has, too."""

import math
from dataclasses import replace
from fractions import Fraction

from trials import np

import contract
import exact
from array_cases import Draw
from contract import DTYPES, FLOAT8, FLOATS, FORMATS, INTS, NAT, is_nan, nearest, numbers, stored_type
from conversion import ROUNDS
from exact import BOUNDS, FACTORS, NORMALIZATION, Case, Tensor
from figures import STATISTICS, has_figures

ALL = [*DTYPES, *FLOAT8]
PAIRS = [(source, target) for source in ALL for target in ALL]
PROFILES = {row.name: row for row in contract.PROFILES}

# Casts ---------------------------------------------------------------------------------------------------

NUMBERS = [*range(-3, 4), *(sign * 2**power + step for power in (7, 8, 15, 16, 24, 31, 32, 53, 63, 64) for sign in (1, -1) for step in (-1, 0, 1)),
           *(Fraction(each, 2) for each in (-257, -5, -3, -1, 1, 3, 5, 253, 255, 509, 511)), 65504, 65520, 65519,
           Fraction(1, 2**24), Fraction(1, 2**25), Fraction(1, 2**133), Fraction(1, 2**134), 2**128, 1 + Fraction(1, 2**8) + Fraction(1, 2**30)]
BOUND_TEXTS = ["0", "-0.0", "1", "-1", "0.5", "-2.5", "6", "127", "128", "-128", "254.5", "255.5", "256", "-0.6", "0.1", "65504", "65519", "65520",
               "-70000", "2147483647.5", "16777217", "9007199254740993", "9007199254740992.5", "9223372036854775807", "18446744073709551615", "1e30", "1e39"]
SCALES = ["1", "2", "-1", "0.5", "0.1", "255", "1e-3", "3", "-0.017", "1e10", "0.00784313725490196", "100"]
BIASES = ["0", "0.5", "-0.5", "128", "-1", "0.1", "1e10", "-3", "9007199254740993", "2.5"]
NANS = ["error", "keep", "min", "max", "0", "-0.0", "2.5", "-1", "100", "300", "2049", "16777217", "1e39"]


RULES = [("mean-3std", "mean+3std"), ("median-4.4478mad", "median+4.4478mad"), ("25%-1.5iqr", "75%+1.5iqr"), ("mean-0.1std", "median"),
         ("median-mad", "90%+0.001mad"), ("mean", "mean+1iqr"), ("10%-2std", "median+0.7iqr"), ("median", "median"), ("mean+3std", "mean-3std"),
         ("-absmax/127", "absmax / 127"), ("median-3*1.4826*mad", "median+3*1.4826*mad"), ("mean - 2 std", "mean + 2*std"), ("-3rms", "0.5*95%+max/3")]


class Casts(Draw):
    """Draws casts. Elements are those near numbers where a result changes."""

    pool = None

    def near_number(self, dtype, number):
        """The element nearest to a number, or one of its neighbours."""
        step = self.rng.choice([-2, -1, -1, 0, 0, 0, 1, 1, 2])
        bits = 8 * stored_type(dtype).itemsize
        if dtype in INTS:
            limits = np.iinfo(dtype)
            return min(max(math.floor(number) + step, int(limits.min)), int(limits.max)) % (1 << bits)
        return (nearest(number, dtype) + step) % (1 << bits)

    def target(self, dtype):
        """A number at which elements of a dtype change, or NUMBERS."""
        if self.chance(0.4):
            return self.rng.choice(NUMBERS)
        if dtype in INTS:
            limits = np.iinfo(dtype)
            return self.rng.choice([int(limits.min), int(limits.max), 0, self.rng.randint(int(limits.min), int(limits.max))]) \
                + Fraction(self.rng.choice([-2, -1, 0, 1, 2]), 2)
        form = FORMATS[dtype]
        bits = self.rng.choice([self.rng.randrange(form.last + 1), form.last, self.rng.randrange(1 << form.fraction)])
        low = contract.value(bits, dtype)
        unit = low - contract.value(bits - 1, dtype) if bits else Fraction(0)
        return self.rng.choice([1, -1]) * (low + unit * Fraction(self.rng.choice([0, 1, 2]), 2))

    def draw_pool(self, case):
        dtype = case.x.dtype
        scale, bias = (case.parameters.get(option, default) for option, default in (("--scale", "1"), ("--bias", "0")))
        inverse = isinstance(scale, str) and isinstance(bias, str) and Fraction(scale) != 0
        bits = []
        for _ in range(100):
            number = self.target(case.to) - int(case.parameters.get("--zero-point", 0))
            for option, inverts in (("--divide", Fraction.__mul__), ("--subtract", Fraction.__add__)):
                if isinstance(given := case.parameters.get(option), str) and self.chance(0.8):
                    number = inverts(Fraction(number), Fraction(given))
            if inverse and self.chance(0.8):
                number -= Fraction(bias)
                number = number * Fraction(scale) if case.divides else number / Fraction(scale)
            bits.append(self.near_number(dtype, number))
        pool = np.array(bits, f"u{stored_type(dtype).itemsize}").view(stored_type(dtype))
        pool = np.concatenate([pool, super().elements(dtype, (30,), nan=True)])
        self.has_nan = dtype in FORMATS and self.chance(0.5 if case.to in FORMATS or "--nan" in case.parameters else 0.1)
        pool = pool[~is_nan(pool, dtype)]
        if case.to in FLOAT8 and self.chance(0.8):
            pool = self.representable(case, pool)
        self.pool = np.concatenate([pool, self.nans(dtype, 4) if self.has_nan else pool[:0]])

    @staticmethod
    def representable(case, pool):
        """Of a pool the elements that a float8 without infinity has after all steps; all if that depends on an array."""
        try:
            exact.result(replace(case, x=Tensor(case.x.dtype, pool)))
        except exact.Beyond as refusal:
            return pool if refusal.where.all() else pool[~refusal.where]
        except contract.Refused:
            pass
        return pool

    def elements(self, dtype, shape, nan=False, style=None):
        if self.pool is None or not nan:
            return super().elements(dtype, shape, nan, style)
        return self.numpy.choice(self.pool, math.prod(shape)).reshape(shape)

    def cast(self, source, target, count):
        rng, given, shape = self.rng, {}, self.shape(count)
        case = Case(Tensor(source, np.zeros(shape, stored_type(source))), given)
        if source != target or self.chance(0.6):
            given["--to"] = target
        if self.chance(0.3):
            given["--round"] = rng.choice(list(ROUNDS))
        if target in INTS and "--to" in given and self.chance(0.3):
            given["--zero-point"] = str(rng.choice([0, 1, 3, 100, 127, 128, -1, -128, -100]))
        if "--to" in given and self.chance(0.6 if target in FLOAT8 else 0.2):
            given["--saturate"] = ""
        if source in FORMATS and self.chance(0.4):
            given["--nan"] = rng.choice(NANS)
        for option, texts in (("--scale", SCALES), ("--bias", BIASES)):
            if self.chance(0.3):
                given[option] = rng.choice(texts) if self.chance(0.7) else self.factor(source, shape, option)
        case.divides = "--scale" in given and self.chance(0.4) and self.divisor(given["--scale"])
        self.draw_bounds(case, target)
        for option, side in (("--replace-below", "--min"), ("--replace-above", "--max")):
            if side in given and self.chance(0.25) or self.chance(0.01):
                given[option] = rng.choice(["0", "1", "7", "-1", "100"] + ([] if "--round" in given or case.to in INTS else ["nan", "-0.5", "0.1", "inf"]))
        if self.chance(0.1) and not any(option.startswith("--replace") for option in given):
            given["--min-above-max"] = rng.choice(["min", "max"])
        if self.chance(0.25):
            self.normalization(case)
        if not {"--to", "--round", "--replace-below", "--replace-above", *NORMALIZATION} & {*given} and not case.divides:
            given["--round"] = rng.choice(list(ROUNDS))
        self.draw_pool(case)
        case.x = self.tensor(source, self.elements(source, shape, nan=True))
        return case

    def normalization(self, case):
        """--stretch between two bounds, --subtract or --divide; seldom what is refused."""
        rng, given = self.rng, case.parameters
        if case.x.dtype in INTS and not {"--to", "--round"} & {*given} and self.chance(0.9):
            given["--round"] = rng.choice(list(ROUNDS))
        if {*BOUNDS} <= {*given} and "--min-above-max" not in given and self.chance(0.8) or self.chance(0.02):
            ends = ["0", "1", "255", "127", "-1", "-128", "0.1", "0.2", "-0.7", "0.9", "1.1", "65504", "1e-3", "7", "3"]
            if case.to in INTS and self.chance(0.9):
                limits = np.iinfo(case.to)
                ends = [text for text in ("0", "1", "7", "100", "127", "255", "-1", "-128", "65535") if limits.min <= int(text) <= limits.max]
            given["--stretch"] = f"{rng.choice(ends)}:{rng.choice(ends)}"
        options = [option for option in ("--subtract", "--divide") if self.chance(0.6)] if "--stretch" not in given or self.chance(0.02) else []
        for option in options or ([] if "--stretch" in given else ["--subtract"]):
            given[option] = rng.choice(SCALES) if self.chance(0.6) else self.factor(case.x.dtype, case.x.shape, "--bias")
            if option == "--subtract" and case.x.dtype in ("int64", "uint64") and self.chance(0.4):
                given[option] = str(rng.choice([2**53 + 1, 2**62 + 3, 1700000000000000001, 2**64 - 1, -(2**63)]))
            if option == "--divide" and not self.divisor(given[option]) and self.chance(0.9):
                given[option] = rng.choice(SCALES)

    def nodata(self, case):
        """--nodata for some of the elements, for none or for all, and numbers that no element has."""
        rng, given, x = self.rng, case.parameters, case.x
        texts = [rng.choice(["-9999", "0", "nan", "0.1", "255", "inf", "1e300"])] if self.chance(0.4) else []
        if x.elements.size:
            marks = [x.elements.flat[rng.randrange(x.elements.size)] for _ in range(rng.choice([1, 1, 2]))]
            for mark in marks:
                number = numbers(np.array([mark], x.elements.dtype), x.dtype)[0]
                texts.append(str(int(number)) if x.dtype in INTS else "nan" if number != number else repr(float(number)))
            elements = x.elements.copy()
            elements[self.numpy.random(x.shape) < rng.choice([0, 0.01, 0.3, 0.9, 1])] = marks[0]
            case.x = x.like(elements)
        given["--nodata"] = " ".join(texts or ["-9999"])
        if self.chance(0.5):
            given["--nodata-to"] = rng.choice(["0", "7", "127", "-1"] + ["nan", "-9999", "0.1"] * (case.to in FORMATS))

    def draw_bounds(self, case, target):
        rng, given, source = self.rng, case.parameters, case.x.dtype
        for side in BOUNDS:
            if self.chance(0.5):
                given[side] = self.bound_text(side, target)
        if not case.arithmetic and self.chance(0.1):
            given |= zip(BOUNDS, rng.choice([("1%", "99%"), ("25%", "75%"), ("0%", "99.9%")]))
        elif self.chance(0.15):
            for side in BOUNDS:
                given.pop(side, None)
            kind = case.arithmetic if case.casts and case.arithmetic not in (None, object) and self.chance(0.5) else source
            if case.profile is exact.OWN and self.chance(0.4):
                kind = rng.choice([*INTS, "float16", "float32", "float64"])
            arrays = [self.tensor(kind, each) for each in self.bounds(kind, [self.parameter_shape(case.x.shape) for _ in BOUNDS])]
            given |= zip(BOUNDS, arrays)
            if self.chance(0.3):
                side = rng.choice(BOUNDS)
                given[side] = self.bound_text(side, target)

    def figures(self, source, target, count):
        """Percentiles, statistics and --per-axis."""
        rng, case = self.rng, self.cast(source, target, count)
        given = case.parameters
        for option in ("--subtract", "--divide", "--stretch", "--min-above-max") if self.chance(0.7) else ():
            given.pop(option, None)
        if not {*FACTORS} & {*case.arrays()} and self.chance(0.7):
            texts = sorted((percentage(rng), percentage(rng)), key=Fraction)
            given |= zip(BOUNDS, (f"{text}%" for text in texts))
            if not {*FACTORS} & {*given} and self.chance(0.4):
                given |= zip(BOUNDS, rng.choice(RULES) if self.chance(0.6) else (bound_expression(rng), bound_expression(rng)))
            if self.chance(0.3) and not any(option.startswith("--replace") for option in given):
                del given[rng.choice(BOUNDS)]
        if "--stretch" not in given and "--min-above-max" not in given:
            for option in ("--subtract", "--divide"):
                if self.chance(0.5):
                    given[option] = expression(rng) if self.chance(0.5) else rng.choice([*STATISTICS, *STATISTICS, f"{percentage(rng)}%"])
            if "--divide" in given and self.chance(0.4):
                given["--divide-zero"] = rng.choice(["keep", "keep", "error", "0.3", "-7"])
            if source in INTS and {"--subtract", "--divide"} & {*given} and not {"--to", "--round"} & {*given}:
                given["--round"] = rng.choice(list(ROUNDS))
        if not {"--subtract", "--divide", "--stretch", "--min-above-max"} & {*given} and self.chance(0.3):
            given["--stretch"] = rng.choice(["0:1", "1:0", "0:100", "7:1"])
            given["--stretch-from"] = rng.choice(["1%:99%", "50%:25%", "mean-1std:mean+1std", "median-1mad:3", "0.25:7", "-1:100%", "0:1", "0%:100%", "min:max", f"{expression(rng)}:{expression(rng)}"])
            if source in INTS and not {"--to", "--round"} & {*given}:
                given["--round"] = rng.choice(list(ROUNDS))
        if "--min-above-max" not in given and self.chance(0.25):
            self.norm(case)
        if not has_figures(case):
            given["--max"] = "50%"
            if isinstance(given.get("--min"), Tensor):
                del given["--min"]
            for option in FACTORS:
                given.pop(option, None)
        if self.chance(0.5) and any("norm" in str(given.get(option)) for option in (*BOUNDS, *FACTORS, "--stretch-from")):
            given["--norm"] = rng.choice(["2", "1", "inf"])
        if given.get("--nan") in ("min", "max") and f"--{given['--nan']}" not in given:
            del given["--nan"]
        rank = len(case.x.shape)
        if self.chance(0.7):
            axes = [rng.randrange(-rank, rank) for _ in range(rng.choice([1, 1, 1, 2]))] if rank and self.chance(0.97) else [rng.choice([0, 3, -3])]
            given["--per-axis"] = ",".join(map(str, axes))
        if self.chance(0.3):
            self.mask(case)
        return case

    def mask(self, case):
        """--mask, which often leaves nothing of some indexes along --per-axis, or of the tensor."""
        rank = len(case.x.shape)
        kept = {int(axis) % rank for axis in case.parameters.get("--per-axis", "").split(",") if axis and -rank <= int(axis) < rank}
        of_groups = kept and self.chance(0.5)
        shape = tuple(1 if (of_groups and axis not in kept) or self.chance(0.2) else size for axis, size in enumerate(case.x.shape))
        counts = self.numpy.random(shape) < self.rng.choice([0, 0.1, 0.5, 0.5, 0.9])
        kind = self.rng.choice(["bool", "uint8", "float32", "int64"])
        elements = counts * (np.float32(self.rng.choice([1, np.nan])) if kind == "float32" else 1)
        elements = np.where(counts, elements, self.rng.choice([0, -0.0])).astype(stored_type(kind))
        case.parameters["--mask"] = self.tensor(kind, elements)

    def norm(self, case):
        """--max-norm, mostly of finite elements."""
        rng, given, x = self.rng, case.parameters, case.x
        is_whole = x.dtype in INTS
        if is_whole and "--stretch" in given and "--stretch-from" not in given:
            return  # whose bounds may lie beyond the dtype only beside it
        given["--max-norm"] = rng.choice(["1", "0.5", "3", "100", "1e-3", "65504", "1e30", "0.1", "9007199254740993"])
        if self.chance(0.6):
            given["--norm"] = rng.choice(["2", "1", "inf"])
        if is_whole and not {"--to", "--round"} & {*given}:
            given["--round"] = rng.choice(list(ROUNDS))
        if not is_whole and self.chance(0.85):
            elements = x.elements.copy()
            elements[~np.isfinite(numbers(x.elements, x.dtype).astype(float))] = np.array(nearest(1, x.dtype), f"u{elements.itemsize}").view(elements.dtype)
            case.x = x.like(elements)

    def lists(self, source, target, count):
        """A cast with lists, which have a number for each index along an axis."""
        axes = []
        while not axes:
            case = self.cast(source, target, count)
            axes = [axis for axis, size in enumerate(case.x.shape) if 2 <= size <= 30 and case.x.elements.size and not exact.percentages_of(case)]
        rng, given = self.rng, case.parameters
        axis = rng.choice(axes) - rng.choice([0, len(case.x.shape)])
        takes = lambda option: isinstance(given.get(option), str) and not (option == "--scale" and case.divides)
        options = [option for option in exact.LISTS if takes(option) and self.chance(0.7)] or [rng.choice(BOUNDS)]
        is_whole = source in INTS and self.chance(0.5)
        for option in ("--replace-below", "--replace-above", "--nan") if "--stretch" in given else ():
            given.pop(option, None)  # which need not lie within the bounds of an array
        for option in options:
            last = float(given[option]) if takes(option) else 1.0
            texts = {"--scale": SCALES, "--bias": BIASES, "--subtract": BIASES, "--divide": SCALES}.get(option, BOUND_TEXTS)
            if source in INTS:  # fractions of a list are float64 numbers, which lack integers beyond 2^53
                last_whole = 2**63 if is_whole and (option in BOUNDS or source in ("int64", "uint64")) else 2**53
                is_one_kind = is_whole or option in FACTORS and source in ("int64", "uint64")  # integers are scaled exactly, fractions in float64
                texts = [text for text in texts if abs(number := Fraction(text)) < last_whole and (not is_one_kind or (number.denominator == 1) == is_whole)]
            if option in BOUNDS:
                texts = [text for text in texts if (float(text) <= last if option == "--min" else float(text) >= last)] or ["0"]
            given[option] = ",".join(rng.choice(texts) for _ in range(case.x.shape[axis]))
        given["--per-axis"] = str(axis)
        return case

    @staticmethod
    def divisor(given):
        """Whether elements can be divided by the scale."""
        if isinstance(given, str):
            return Fraction(given) != 0
        return given.dtype in FLOATS and bool((given.elements.astype("float32") != 0).all())

    def bound_text(self, side, target):
        number = self.rng.choice(BOUND_TEXTS)
        if self.chance(0.3):  # what is exact only for a later step
            number = str(self.rng.choice([2**53 + 1, 2**62 + 3, self.rng.randrange(300)])) + self.rng.choice(["", ".5", ".25", ".1", ".999999999999999999"])
        if self.chance(0.1):
            return "-inf" if (side == "--min") != self.chance(0.1) else "inf"
        if side == "--min" and self.chance(0.6) and not number.startswith("-"):
            return "-" + number
        return number


# Arrays ---------------------------------------------------------------------------------------------------


def in_another_dtype(draw, case):
    """Gives the arrays of bounds another dtype."""
    kind = draw.rng.choice([*INTS, "float16", "float32", "float64"])
    shapes = [case.arrays()[side].shape if side in case.arrays() else () for side in BOUNDS]
    for side, elements in zip(BOUNDS, draw.bounds(kind, shapes)):
        if side in case.arrays():
            case.parameters[side] = draw.tensor(kind, elements)


# Dates ---------------------------------------------------------------------------------------------------

UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]
FINER = {"Y": "-02", "M": "-02", "W": "T01", "D": "T01", "h": ":01", "m": ":01", "s": ".1"} | {unit: "1" for unit in UNITS[7:-1]}


class Dates(Draw):
    """Draws tensors of bool, datetime64 and timedelta64 of every unit, with bounds as text."""

    def dtype(self):
        if self.chance(0.15):
            return "bool"
        return f"{self.rng.choice(['datetime64', 'timedelta64'])}[{self.rng.choice(['', '', '', '2', '25', '1000'])}{self.rng.choice(UNITS)}]"

    def ticks(self, dtype, count=1):
        """Integers, of which numpy reads and prints the dates without overflow."""
        if dtype == "bool":
            return self.numpy.integers(0, 2, count)
        unit, multiplier = np.datetime_data(np.dtype(dtype))
        limit = {"Y": 1 << 30, "M": 1 << 33, "W": 1 << 36, "D": 1 << 38, "h": 1 << 42, "m": 1 << 48, "s": 1 << 54}.get(unit, 1 << 62)
        size = self.rng.choice([100, limit // multiplier])
        return self.numpy.integers(-size, size, count)

    def elements(self, dtype, shape, nan=False, style=None):
        count = math.prod(shape)
        ticks = self.ticks(dtype, count).astype(stored_type(dtype))
        if dtype != "bool":
            ticks[self.numpy.random(count) < self.rng.choice([0, 0.2, 1])] = NAT
            ticks[self.numpy.random(count) < 0.1] = self.rng.choice([NAT + 1, (1 << 63) - 1, 0, -1])
        return ticks.reshape(shape)

    def text(self, dtype, tick):
        """An element as clipper and numpy read it."""
        if dtype == "bool":
            return self.rng.choice([["0", "false"], ["1", "true"]][tick])
        if dtype[0] == "t":
            return str(tick)
        text = np.datetime_as_string(np.array(tick).view(dtype))
        if np.datetime_data(np.dtype(dtype))[0] == "Y":  # a year alone is a number
            text += self.rng.choice(["-01", "-01-01", "-01-01T00:00"])
        return text.replace("T", self.rng.choice("T "))

    def case(self, way):
        rng, dtype = self.rng, self.dtype()
        shape = rng.choice([(), (0,), (7,), (300,), (3, 0), (5, 11), (40, 60), (2049,), (3, 1, 900)])
        x = self.tensor(dtype, self.elements(dtype, shape))
        ticks = dict(zip(BOUNDS, sorted(self.ticks(dtype, 2).tolist())))
        if self.chance(0.4):
            del ticks[rng.choice(BOUNDS)]
        given = {side: self.text(dtype, tick) for side, tick in ticks.items()}
        side = rng.choice([*given])
        if way and self.chance(0.3):
            text = rng.choice(["0", "100", "50", str(rng.randrange(101)), f"{rng.randrange(100)}.{rng.randrange(1000)}"]) + "%"
            known = x.elements[~is_nan(x.elements, dtype)]
            if known.size and ticks.get("--min", NAT) <= exact.percentile(x, text) <= ticks.get("--max", -NAT):
                given[side] = text
        if dtype != "bool" and self.chance(0.5):
            action = rng.choice(["keep", "keep", *(side[2:] for side in given), "replace", "error"])
            given["--nan"] = self.text(dtype, self.ticks(dtype)[0].item()) if action == "replace" else action
        return Case(x, given, PROFILES["clipper" if self.chance(0.7) else "numpy-2"])

    def bad_text(self, dtype):
        """What is no bound of the dtype: numbers for dates, dates for durations, parts of a unit."""
        if dtype == "bool":
            return self.rng.choice(["2", "-1", "0.5", "2020-01-01", "NaT", "nan"])
        if dtype[0] == "t":
            return self.rng.choice(["1.5", "NaT", "9223372036854775808", "-9223372036854775808", "2020-01-01", "inf", "true", "nan"])
        unit, multiplier = np.datetime_data(np.dtype(dtype))
        if unit == "W" and multiplier == 1 and self.chance(0.5):
            return self.rng.choice(["2020-01-01", "1970-01-02"])  # no Thursdays
        if unit in FINER and unit != "Y" and self.chance(0.7):
            return self.text(dtype, self.ticks(dtype)[0].item()) + FINER[unit]
        return self.rng.choice(["0", "20200101", "2020", "true", "NaT"])


# Percentiles ---------------------------------------------------------------------------------------------

SHAPES = [(), (1,), (2,), (3,), (0,), (7,), (300,), (3, 0), (5, 11), (2, 3, 4), (2, 1, 3, 2, 1, 2), (40, 60), (17_000,), (3, 1, 9000), (200, 350), (150_000,)]


def percentage(rng):
    return rng.choice(["0", "1", "5", "25", "50", "75", "95", "99", "99.9", "99.99999", "100", "33.3333333333333333",
                       f"{rng.uniform(0, 100):.{rng.randrange(0, 13)}f}", f"{rng.randrange(0, 1001)}e-1"])


def bound_expression(rng):
    """Alone, min and max are no bounds."""
    text = expression(rng)
    return text if text not in ("min", "max") else f"2*{text}"


def expression(rng):
    """A sum of numbers, figures, and multiples and parts of figures."""
    space, terms = rng.choice(["", "", " "]), []
    for _ in range(rng.choice([1, 1, 2, 2, 3])):
        number = lambda: rng.choice(["2", "3", "0.5", "1.4826", "1e-7", "127", "448", ".25", f"{rng.uniform(0, 9):.3f}"])
        figure = rng.choice([*STATISTICS, f"{percentage(rng)}%"])
        factors = "".join(f"{number()}{space}*{space}" for _ in range(rng.choice([0, 0, 1, 2])))
        if rng.random() < 0.2 and not figure.endswith("%"):
            factors += number() + space
        terms.append(factors + figure + "".join(f"{space}/{space}{number()}" for _ in range(rng.choice([0, 0, 1, 2]))))
        if rng.random() < 0.2:
            terms.append(number())
    return rng.choice(["", "", "-"]) + terms[0] + "".join(f"{space}{rng.choice('+-')}{space}{term}" for term in terms[1:])


def percentiles(draw):
    rng = draw.rng
    dtype, shape = rng.choice(ALL), rng.choice(SHAPES)
    elements, kind = draw.elements(dtype, shape, nan=True), rng.choice(["", "", "", "near", "equal"])
    bits = elements.view(f"u{elements.itemsize}").reshape(-1)
    if kind == "near" and bits.size:  # many elements share their first bits
        bits = bits[:1] ^ draw.numpy.integers(0, 3 + (1 << rng.randrange(1, 7)), bits.size).astype(bits.dtype)
    if kind == "equal" and bits.size:
        bits = np.full(bits.size, bits[0])
    profile = rng.choice(["clipper", "clipper", "openvino", "onnx-13", "onnx-6"])
    profile = PROFILES[profile] if dtype in PROFILES[profile].dtypes else exact.OWN
    texts = sorted((percentage(rng), percentage(rng)), key=Fraction)
    return Case(draw.tensor(dtype, bits.view(elements.dtype).reshape(shape)), dict(zip(BOUNDS, (f"{text}%" for text in texts))), profile)


# Cases that cannot be accepted ---------------------------------------------------------------------------


def some_array(draw, case, options):
    """A random option that has an array with elements, or None."""
    found = [option for option, array in case.arrays().items() if option in options and array.elements.size and case.x.elements.size]
    return draw.rng.choice(found) if found else None


def with_element(draw, case, option, value):
    """Changes one element of an array."""
    array = case.parameters[option]
    elements = array.elements.copy()
    elements[tuple(draw.rng.randrange(size) for size in elements.shape)] = value
    case.parameters[option] = array.like(elements)


def nan_bound(draw, case):
    option = some_array(draw, case, BOUNDS)
    if option and case.x.dtype in FORMATS:
        with_element(draw, case, option, draw.nans(case.x.dtype, 1)[0])


def min_above_max(draw, case):
    """Refused, unless --min-above-max says what is right."""
    option, dtype = some_array(draw, case, BOUNDS), case.x.dtype
    if option and {*BOUNDS} <= {*case.parameters}:
        upper = option == "--min"
        if dtype in FLOATS:
            value = np.array(nearest(math.inf if upper else -math.inf, dtype), f"u{contract.size(dtype)}").view(stored_type(dtype))
        else:
            value = getattr(np.iinfo(dtype), "max" if upper else "min")
        with_element(draw, case, option, value)
        if draw.chance(0.5):
            case.parameters["--min-above-max"] = draw.rng.choice(["min", "max"])


def wrong_shape(draw, case):
    """An array that would enlarge the tensor, or does not fit it."""
    option = some_array(draw, case, (*BOUNDS, *FACTORS))
    if not option:
        return
    array, shape, kind = case.parameters[option], case.x.shape, draw.rng.randrange(3)
    other = (draw.rng.choice([2, 3]), *shape)
    if kind == 0:  # more axes
        other = (1,) * (len(shape) - len(array.shape) + draw.rng.randint(1, 2)) + array.shape
    elif kind == 1 and shape:  # another size of one axis
        sizes = list(shape[draw.rng.randrange(len(shape)):])
        other = (sizes[0] + draw.rng.choice([1, 2]), *sizes[1:])
    if math.prod(other) <= 50_000:
        case.parameters[option] = array.like(np.broadcast_to(array.elements.ravel()[:1], other).copy())


def wrong_dtype(draw, case):
    option, dtype = some_array(draw, case, (*BOUNDS, *FACTORS)), case.x.dtype
    if not option or case.parameters[option].elements.size < 2:
        return
    is_bound = option in BOUNDS
    allowed = {dtype} if is_bound else {dtype, "float32", "float64"} | ({"int64", "uint64"} if dtype in ("int64", "uint64") else set())
    other, number = draw.rng.choice([each for each in DTYPES if each not in allowed]), 1
    if is_bound and dtype in FLOATS:  # a float tensor takes bounds of other dtypes whose numbers it has
        other, number = ("int64", 2**53 + 1) if dtype == "float64" else ("float64", 1 / 3)
    case.parameters[option] = draw.tensor(other, np.full(case.parameters[option].shape, number, stored_type(other)))


def infinite_factor(draw, case):
    option = some_array(draw, case, FACTORS)
    if option and case.parameters[option].dtype in FLOATS:
        beyond = [1e39, -3.5e38, 1e300] if case.parameters[option].dtype == "float64" and case.arithmetic == "float32" else []
        with_element(draw, case, option, draw.rng.choice([np.inf, -np.inf, np.nan, *beyond]))


def nan_refused(draw, case):
    if case.x.dtype in FORMATS:
        case.parameters["--nan"] = "error"


REFUSALS = [nan_bound, min_above_max, wrong_shape, wrong_dtype, infinite_factor, nan_refused]
