"""Counts are of x * scale + bias, before its conversion to the dtype, against the bounds: checked by exact fractions."""

import math
import random
from fractions import Fraction

import clipper
import numpy as np
import pytest
from conftest import DTYPES, FLOATS, INTEGERS, dtype_of, save

CASES = 60  # per dtype


def rounded(value, carrier):
    """The float nearest to a fraction, ties to even. Other numbers, which are infinite or NaN, stay as they are."""
    if not isinstance(value, Fraction) or value == 0:
        return value
    fraction_bits, lowest, top = (23, -149, 128) if carrier == "float32" else (52, -1074, 1024)
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    unit = Fraction(2) ** max(exponent - fraction_bits, lowest)
    nearest = round(value / unit) * unit  # round() to even
    return nearest if abs(nearest) < Fraction(2) ** top else math.copysign(math.inf, 1 if value > 0 else -1)


def number(x):
    """An element as a fraction, or as an infinite float or NaN."""
    return Fraction(int(x)) if isinstance(x, np.integer) else Fraction(float(x)) if math.isfinite(x) else float(x)


def product(a, b):
    return a * b if isinstance(a, Fraction) else a * float(b)


def scaled(x, scale, bias, carrier):
    """x * scale + bias. `carrier`: None if exact, or if nothing is scaled."""
    if carrier is None:
        return x * scale + bias if isinstance(x, Fraction) else x
    x = rounded(x, carrier)
    step = rounded(product(x, rounded(scale, carrier)), carrier)
    if not isinstance(step, Fraction):
        return step
    return rounded(step + rounded(bias, carrier), carrier)


def expected(x, lo, hi, scale, bias, carrier):
    raised = lowered = nan = 0
    for element, low, high, factor, summand in zip(x.tolist() if x.dtype.kind in "iu" else x, lo, hi, scale, bias):
        g = scaled(number(x.dtype.type(element)), factor, summand, carrier)
        if g != g:
            nan += 1
            continue
        y = min(max(g, low), high)
        raised, lowered = raised + (y > g), lowered + (y < g)
    return raised, lowered, nan


def elements(rng, dtype, count):
    kind = dtype_of(dtype)
    if dtype in INTEGERS:
        info = np.iinfo(kind)
        near = [info.min, info.max, info.min // 2, info.max // 2, 0, 2**53 + 1 & info.max]
        return np.array([min(max(rng.choice(near + [rng.randrange(-200, 200)]) + rng.randrange(-3, 4), info.min), info.max)
                         for _ in range(count)], kind)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, float(np.finfo("f4").max), 65504.0, 1e-40]
    with np.errstate(all="ignore"):
        return np.array([rng.choice([rng.gauss(0, 20), rng.gauss(0, 20), rng.choice(special)]) for _ in range(count)]).astype(kind)


def limits(dtype):
    if dtype in FLOATS:
        return -math.inf, math.inf
    return Fraction(int(np.iinfo(dtype).min)), Fraction(int(np.iinfo(dtype).max))


def bounds(rng, dtype, count):
    """min and max as clip() takes them: numbers, or an array, or None; and as a number for each element."""
    ordinary = [x for x in elements(rng, dtype, 40) if not x != x and (dtype in INTEGERS or math.isfinite(x))]
    lowest, highest = limits(dtype)
    lo, hi = sorted(rng.sample(ordinary, 2), key=number)
    if rng.random() < 0.3:
        lo = hi
    if rng.random() < 0.3:  # at the limits of the dtype
        lo, hi = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype in INTEGERS else (-math.inf, math.inf)
        lo, hi = dtype_of(dtype).type(lo), dtype_of(dtype).type(hi)
    low, high = [number(lo)] * count, [number(hi)] * count
    kind = rng.choice(["numbers", "numbers", "absent", "beyond", "arrays"])
    if kind == "arrays":
        return np.full(count, lo), np.full(count, hi), low, high
    given = {"numbers": (lo, hi), "absent": rng.choice([(None, hi), (lo, None), (None, None)]),
             "beyond": (-10**60, 10**60) if dtype in INTEGERS else (None, None)}[kind]
    return *given, (low if given[0] is lo else [lowest] * count), (high if given[1] is hi else [highest] * count)


def factor(rng, dtype, count):
    """scale or bias as clip() takes it, and as a number for each element."""
    if dtype in ("int64", "uint64") and rng.random() < 0.5:
        value = rng.choice([0, 1, -1, 3, -7, 10, 2**62, -2**63])
        return (np.full(count, value) if rng.random() < 0.3 else value), [Fraction(value)] * count
    value = rng.choice([0.5, -0.5, 1.0, 10.0, -3.0, 0.1, 1e30, 1e-30, 0.0, rng.gauss(0, 2)])
    value = float(np.float32(value))
    return (np.full(count, value, rng.choice(["f4", "f8"])) if rng.random() < 0.3 else value), [Fraction(value)] * count


def is_integral(given):
    """Whether 64-bit integers are scaled exactly by this factor: a float array is not integral, whatever its values."""
    if isinstance(given, np.ndarray):
        return given.dtype.kind in "iu"
    return float(given).is_integer() and -2**63 <= given < 2**64


@pytest.mark.parametrize("dtype", DTYPES)
def test_counts(dtype, tmp_path):
    rng = random.Random(dtype)
    paths = tmp_path / "x.npy", tmp_path / "y.npy"
    counted = [0, 0, 0]
    for case in range(CASES):
        x = elements(rng, dtype, rng.choice([1, 40, 300]))
        lo, hi, low, high = bounds(rng, dtype, x.size)
        scale, scales = factor(rng, dtype, x.size)
        bias, biases = factor(rng, dtype, x.size)
        options, carrier = {"scale": scale, "bias": bias}, "float64"
        if rng.random() < 0.15:
            options, carrier, scales, biases = {}, None, [1] * x.size, [0] * x.size
        elif dtype in FLOATS and dtype != "float64":
            carrier = "float32"
        elif dtype in ("int64", "uint64") and is_integral(scale) and is_integral(bias):
            carrier = None
        save(paths[0], x)
        right = expected(x, low, high, scales, biases, carrier)
        about = f"case {case}: {lo} {hi} {options}"
        assert clipper.clip_file(*paths, lo, hi, **options)[1:4] == right, about
        direct = not options and rng.random() < 0.5
        assert clipper.clip_in_place(paths[0], lo, hi, direct=direct, **options)[1:4] == right, about
        counted = [a + b for a, b in zip(counted, right)]
    assert counted[0] > 100 and counted[1] > 100 and (dtype in INTEGERS or counted[2] > 10)
