#!/usr/bin/env python3
"""Clips random tensors with `--min P% --max Q%` and compares the bounds with Python's fractions (sort, exact position, exact
interpolation, then the conversion of the profile, as of a typed number), and the output with numpy.clip by these bounds. Checks
the fractions themselves against numpy.percentile of the float64 copy."""

import json
import math
from fractions import Fraction

import trials
from trials import FLOATS, INTEGERS, edges, ml_dtypes, np, save

SHAPES = [(), (1,), (2,), (3,), (0,), (7,), (300,), (3, 0), (5, 11), (2, 3, 4), (2, 1, 3, 2, 1, 2), (40, 60), (17_000,), (3, 1, 9000),
          (200, 350), (150_000,)]


def random_tensor(rng, generator, dtype):
    shape = rng.choice(SHAPES)
    count = math.prod(shape)
    bits = generator.bit_generator.random_raw(count).astype(f"u{dtype.itemsize}")
    kind = rng.choice(["bits", "normal", "normal", "near", "special", "equal"])
    if kind == "normal" or (kind == "bits" and rng.random() < 0.5):
        return (generator.normal(0, 30, count)).astype("f4").astype(dtype).reshape(shape)
    if kind == "near":  # many elements share their first bits
        bits = (bits[:1] if count else bits) ^ generator.integers(0, 3 + (1 << rng.randrange(1, 7)), count).astype(bits.dtype)
    if kind == "special":
        bits = np.where(generator.random(count) < 0.5, generator.choice(edges(dtype), count), bits)
    if kind == "equal":
        bits = np.full(count, generator.choice(edges(dtype)))
    return bits.astype(f"u{dtype.itemsize}").view(dtype).reshape(shape)


def random_percentage(rng):
    return rng.choice(["0", "1", "5", "25", "50", "75", "95", "99", "99.9", "99.99999", "100", "33.3333333333333333",
                       f"{rng.uniform(0, 100):.{rng.randrange(0, 13)}f}", f"{rng.randrange(0, 1001)}e-1"])


def sorted_numbers(tensor):
    """The elements that are not NaN, -0 before 0, as fractions, infinite floats or (for a negative zero) -0.0."""
    flat = tensor.ravel()
    if tensor.dtype in INTEGERS:
        return sorted(flat.tolist())
    wide = flat[~np.isnan(flat)].astype(np.float64)
    return wide[np.lexsort((~np.signbit(wide), wide))].tolist()


def rounded(value, dtype):
    """The float of the dtype nearest to a fraction, ties to even; infinity beyond the greatest one."""
    if dtype == np.float64:
        return float(value)  # Python rounds once
    fraction_bits, lowest = {"float32": (23, -149), "float16": (10, -24), "bfloat16": (7, -133)}[dtype.name]
    if value == 0:
        return 0.0
    # A float would underflow: a percentile may lie between zero and the smallest double.
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > abs(value):
        exponent -= 1
    unit = Fraction(2) ** max(exponent - fraction_bits, lowest)
    nearest = abs(round(value / unit) * unit)  # round() to even
    return math.copysign(math.inf if nearest > float(ml_dtypes.finfo(dtype).max) else float(nearest), value)


def converted(value, dtype, profile, side):
    """The bound that the profile makes of a percentile; None if it refuses the value."""
    if dtype in INTEGERS:
        if profile == "onnx-13":
            return int(value) if value == math.trunc(value) else None
        if profile != "openvino":
            return math.trunc(value)
        inward = (math.ceil if side == "min" else math.floor)(Fraction(float(value)))  # a double
        return min(max(inward, int(np.iinfo(dtype).min)), int(np.iinfo(dtype).max))
    carriers = {"openvino": [np.float64] + [np.float32] * (dtype.itemsize == 2), "onnx-6": [np.float32]}.get(profile, [])
    bound = value
    for kind in [np.dtype(carrier) for carrier in carriers] + [dtype]:
        if bound and math.isfinite(bound):
            bound = rounded(Fraction(bound), kind)
    unsatisfiable = math.inf if side == "min" else -math.inf
    return None if bound == unsatisfiable != value else float(bound)


def expected(numbers, text, dtype):
    """The percentile as a fraction, an infinite float or -0.0; None if all are NaN."""
    if not numbers:
        return None
    position = Fraction(text) / 100 * (len(numbers) - 1)
    low = math.floor(position)
    part = position - low
    a = numbers[low]
    if part == 0:
        return a
    b = numbers[low + 1]
    if dtype in INTEGERS:
        return a + part * (b - a)
    if math.isinf(a) or math.isinf(b):
        return (a if math.isinf(a) else b) if a == b or not (math.isinf(a) and math.isinf(b)) else math.nan
    if a == b and math.copysign(1, a) == math.copysign(1, b):
        return a
    return Fraction(a) + part * (Fraction(b) - Fraction(a))


def check_oracle(numbers, text, dtype, value):
    """numpy.percentile calculates in float64: near for float tensors without infinities."""
    if dtype in INTEGERS or len(numbers) < 2 or math.isinf(numbers[0]) or math.isinf(numbers[-1]):
        return
    with np.errstate(all="ignore"):
        near, value = np.percentile(np.array(numbers), float(text)), float(value)
    span = max(abs(numbers[0]), abs(numbers[-1]))
    if math.isfinite(near) and not math.isclose(near, value, rel_tol=1e-2, abs_tol=1e-2 * span):
        raise SystemExit(f"the oracle differs from numpy: {text}% of {len(numbers)}: {value}, numpy {near}")


def as_number(text, dtype):
    return int(text) if dtype in INTEGERS else float(text)


def same(a, b):
    return (a == b and math.copysign(1, a) == math.copysign(1, b)) if isinstance(a, float) else a == b


def clipped(tensor, low, high):
    """Elements that are not beyond a bound keep their bits."""
    lo, hi = np.array(low).astype(tensor.dtype), np.array(high).astype(tensor.dtype)
    result = np.where(tensor < lo, lo, tensor)
    return np.where(result > hi, hi, result)


def random_options(rng):
    options = ["--threads", rng.choice("1234")] if rng.random() < 0.5 else []
    if rng.random() < 0.5:
        options += ["--chunk-size", rng.choice(["4096", "8192", "65536"])]
    if rng.random() < 0.3:
        options += ["--simd", "baseline"]
    return options + rng.choice([[], [], ["--in-place"]])


def check(trial):
    """Clips a tensor."""
    rng = trial.rng
    dtype = rng.choice(INTEGERS + FLOATS)
    tensor = random_tensor(rng, trial.generator, dtype)
    texts = sorted((random_percentage(rng), random_percentage(rng)), key=Fraction)
    numbers = sorted_numbers(tensor)
    bounds = [expected(numbers, text, dtype) for text in texts]
    save(trial.path("x.npy"), tensor, rng)
    options = random_options(rng)
    if dtype.name == "bfloat16":
        options += ["--dtype", "bfloat16"]
    out = "x.npy" if "--in-place" in options else "y.npy"
    profile = rng.choice(["native", "native", "openvino", "onnx-13", "onnx-6"])
    if profile == "onnx-6" and (dtype in INTEGERS or dtype.name == "bfloat16"):
        profile = "native"
    run = trial.run("--json", "--profile", profile, "--min", f"{texts[0]}%", "--max", f"{texts[1]}%", *options, "x.npy",
                    *([] if out == "x.npy" else [out]))
    trial.about = f"{dtype} {tensor.shape}: {run.out} {run.err}"
    if any(bound is None or bound != bound for bound in bounds):
        return trial.check(run.code == 3, f"the oracle says {bounds}")
    for text, bound in zip(texts, bounds):
        check_oracle(numbers, text, dtype, bound)
    bounds = [converted(bound, dtype, profile, side) for bound, side in zip(bounds, ("min", "max"))]
    if None in bounds or bounds[0] > bounds[1]:
        return trial.check(run.code == 2, f"the oracle says {bounds}")
    if not trial.check(run.code == 0, f"exit {run.code}"):
        return
    said = json.loads(run.out)
    found, right = ([float(np.array(bound).astype(dtype)) if dtype in FLOATS else bound for bound in each]
                    for each in ([as_number(said[name], dtype) for name in ("min", "max")], bounds))
    trial.check(all(same(a, b) for a, b in zip(found, right)), f"clipper says {found}\n  oracle says  {right}")
    result = np.load(trial.path(out))
    result = result.view(dtype) if dtype.name == "bfloat16" else result.astype(dtype)
    found, right = (np.ascontiguousarray(each).view(f"u{dtype.itemsize}") for each in (result, clipped(tensor, *bounds)))
    trial.check(np.array_equal(found, right), f"the output differs from numpy.clip by {bounds}")


if __name__ == "__main__":
    trials.main("percentiles against Python's fractions", check)
