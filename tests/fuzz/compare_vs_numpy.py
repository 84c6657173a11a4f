#!/usr/bin/env python3
"""Compares random tensors with `clipper compare` and with numpy, and checks that both agree. For integers and dates, where numpy
rounds or wraps, uses Python's integers and fractions."""

import decimal
import json
import math
from fractions import Fraction

import trials
from trials import FLOATS, INTEGERS, edges, np, save, with_other_trues

BATCH = 40  # pairs per run of clipper
COMPLEX = [np.dtype("c8"), np.dtype("c16")]
TIMES = [np.dtype(f"{kind}8{unit}") for kind in "mM" for unit in ("[ns]", "[D]", "[25s]")]
NAT = -(1 << 63)
decimal.getcontext().prec = 60
UNIT = 1 << 1074  # of every float64, as an integer


def tensors(rng, generator, dtype):
    """Two tensors of one shape. Most of their elements are equal."""
    if dtype in COMPLEX:
        part = np.dtype(f"f{dtype.itemsize // 2}")
        actual, expected = tensors(rng, generator, part)
        parts = [np.stack([tensor, np.where(generator.random(tensor.shape) < 0.9, other, tensor)], -1)
                 for tensor, other in ((actual, rng.choice([actual, expected])), (expected, expected))]
        return tuple(np.ascontiguousarray(tensor).view(dtype)[..., 0] for tensor in parts)
    if dtype in TIMES:
        return tuple(tensor.view(dtype) for tensor in tensors(rng, generator, np.dtype("i8")))
    if dtype == bool:
        return tuple((tensor & 1).view(bool) for tensor in tensors(rng, generator, np.dtype("u1")))
    shape = rng.choice([(), (0,), (7,), (300,), (3, 0), (5, 11), (2, 3, 4), (40, 60), (2500,), (3, 1, 900), (200, 350)])
    count = math.prod(shape)
    known = edges(dtype)
    unsigned = known.dtype
    bits = generator.bit_generator.random_raw(count)
    expected = np.where(generator.random(count) < 0.3, generator.choice(known, count), bits.astype(unsigned))
    if dtype in FLOATS and rng.random() < 0.5:
        expected = generator.normal(0, 10, count).astype(dtype).view(unsigned)
    actual = expected.copy()
    changed = generator.random(count) < rng.choice([0, 0.001, 0.1, 1])
    near = expected + generator.integers(-5, 6, count).astype(unsigned)
    actual[changed] = np.where(generator.random(count) < 0.7, near, generator.choice(known, count))[changed]
    return actual.view(dtype).reshape(shape), expected.view(dtype).reshape(shape)


def tolerance(rng):
    """A random tolerance. At most 19 digits, because for integers clipper uses no more digits of --rtol."""
    return rng.choice(["0", "0", "1", "2", "1e-3", "0.1", "0.3", "1e-7", "1e300", "1e-320", "1000000000000000003",
                       f"{rng.randrange(10**9)}e{rng.randrange(-15, 5)}", repr(rng.random())])


def random_rule(rng):
    """Random options; sometimes without those that have their default."""
    rule = {"--atol": tolerance(rng), "--rtol": tolerance(rng)}
    if rng.random() < 0.3:
        rule["--ulp"] = str(rng.choice([0, 1, 3, 1000, 1 << 40, (1 << 64) - 1]))
    if rng.random() < 0.3:
        rule["--nan"] = "differ"
    return {name: text for name, text in rule.items() if text != "0" or rng.random() < 0.5}


def judged_integers(actual, expected, rule):
    """For each pair whether it matches, and its difference."""
    whole = math.floor(Fraction(rule.get("--atol", "0")))
    relative = Fraction(rule.get("--rtol", "0"))
    differences = [abs(a - e) for a, e in zip(actual.tolist(), expected.tolist())]
    allowed = [whole + math.floor(relative * abs(e)) for e in expected.tolist()]
    return [d <= most for d, most in zip(differences, allowed)], differences


def judged_times(actual, expected, rule):
    dates = actual.dtype.kind == "M"
    a, e = actual.view("i8"), expected.view("i8")
    match, differences = judged_integers(a, e, {**rule, "--rtol": "0"} if dates else rule)
    for i in np.flatnonzero((a == NAT) | (e == NAT)).tolist():
        match[i], differences[i] = a[i] == e[i] and rule.get("--nan") != "differ", 0
    return match, differences


def judged_complex(actual, expected, rule):
    """In complex128, quartered where that overflows. numpy's modulus is not always the nearest float64."""
    modulus = lambda x: np.array([math.hypot(each.real, each.imag) for each in x.tolist()])
    a, e = actual.astype("c16"), expected.astype("c16")
    atol, rtol = float(rule.get("--atol", "0")), float(rule.get("--rtol", "0"))
    finite = np.isfinite(a) & np.isfinite(e)
    differences = np.where(a == e, 0.0, modulus(a - e))
    quarter = modulus(a / 4 - e / 4) <= atol / 4 + rtol * modulus(e / 4)
    plain = np.isfinite(differences) & np.isfinite(modulus(e))
    match = finite & np.where(plain, differences <= atol + rtol * modulus(e), quarter)
    if "--ulp" in rule:
        parts = [[abs(x - y) for x, y in zip(places(a), places(e))] for a, e in
                 ((actual.real.copy(), expected.real.copy()), (actual.imag.copy(), expected.imag.copy()))]
        match |= finite & np.array([max(ulps) <= int(rule["--ulp"]) for ulps in zip(*parts)], bool)
    match |= a == e
    if rule.get("--nan") != "differ":
        match |= np.isnan(a) & np.isnan(e)
    nan = np.isnan(a) | np.isnan(e)
    return match.tolist(), np.where(nan, 0, np.nan_to_num(differences, nan=0.0, posinf=np.inf)).tolist()


def places(tensor):
    """The rank of each float among all floats. As Python's integers, because differences do not fit into int64."""
    top = 1 << (8 * tensor.itemsize - 1)
    return [-(bits - top) if bits >= top else bits for bits in tensor.view(f"u{tensor.itemsize}").tolist()]


def judged_floats(actual, expected, rule):
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    atol, rtol = float(rule.get("--atol", "0")), float(rule.get("--rtol", "0"))
    finite = np.isfinite(a) & np.isfinite(e)
    differences = np.where(a == e, 0.0, np.abs(a - e))
    half = np.abs(a / 2 - e / 2) <= atol / 2 + rtol * np.abs(e / 2)
    match = finite & np.where(np.isfinite(differences), differences <= atol + rtol * np.abs(e), half)
    if "--ulp" in rule:
        near = [abs(x - y) <= int(rule["--ulp"]) for x, y in zip(places(actual), places(expected))]
        match |= finite & np.array(near, bool)
    match |= a == e
    if rule.get("--nan") != "differ":
        match |= np.isnan(a) & np.isnan(e)
    return match.tolist(), np.nan_to_num(differences, nan=0.0, posinf=np.inf).tolist()


def judged(actual, expected, rule):
    """The results in C order, for files of any memory order."""
    kinds = {"c": judged_complex, "M": judged_times, "m": judged_times}
    judge = judged_floats if actual.dtype in FLOATS else kinds.get(actual.dtype.kind, judged_integers)
    return judge(actual.ravel(), expected.ravel(), rule)


def index_in(shape, position):
    return [int(each) for each in np.unravel_index(position, shape)]


def wrong_words(said, actual, expected, order, rule):
    """What is wrong with clipper's report on two tensors, or None. The first mismatch is the first in EXPECTED's memory order."""
    match, differences = judged(actual, expected, rule)
    shape = expected.shape
    positions = np.arange(expected.size).reshape(shape).ravel(order).tolist()
    mismatches = [position for position in positions if not match[position]]
    largest = max(differences, default=0)
    at = next((position for position in positions if differences[position] == largest), None)
    number = float if actual.dtype in FLOATS + COMPLEX else int
    found = (said["compared"], said["mismatches"], said["status"], [each["index"] for each in said["first"]],
             said["largest"] and (number(said["largest"]["difference"]), said["largest"]["index"]))
    right = (expected.size, len(mismatches), int(bool(mismatches)), [index_in(shape, each) for each in mismatches[:1]],
             (largest, index_in(shape, at)) if largest else None)
    return None if found == right else f"clipper says {found}\n  oracle says  {right}"


def exact_metrics(actual, expected):
    """max_relative, rmse, cosine and sqnr of two tensors by Python's integers and 60 digits; None for what does not exist."""
    if not expected.size or not (np.isfinite(actual.astype(float)).all() and np.isfinite(expected.astype(float)).all()):
        return [None] * 4
    whole = actual.dtype in INTEGERS
    exact = (lambda t: t.ravel().tolist()) if whole else (
        lambda t: [n * (UNIT // d) for n, d in map(float.as_integer_ratio, t.ravel().astype(float).tolist())])
    a, e = exact(actual), exact(expected)
    d = [abs(x - y) for x, y in zip(a, e)]
    aa, ee, ae, dd = (sum(x * y for x, y in zip(*two)) for two in ((a, a), (e, e), (a, e), (d, d)))
    relative = max((Fraction(x, abs(y)) if y else math.inf for x, y in zip(d, e) if x), default=0)
    number = decimal.Decimal
    rmse = (number(dd) / len(d)).sqrt() / (1 if whole else UNIT)
    cosine = number(ae) / (number(aa).sqrt() * number(ee).sqrt()) if aa and ee else None
    sqnr = math.inf if not dd else -math.inf if not ee else 10 * (number(ee) / number(dd)).log10()
    return [relative, rmse, cosine, sqnr]


def nearest(value):
    try:
        return float(value)
    except OverflowError:
        return math.inf


def wrong_metrics(said, actual, expected):
    """What is wrong with the metrics, or None. Each has a relative error of at most 1e-12; a cosine whose products cancel, and an
    SQNR near 0 dB, an absolute one of 1e-15 and 1e-12."""
    if actual.dtype not in INTEGERS + FLOATS:
        return None
    names = ("max_relative", "rmse", "cosine", "sqnr")
    right = exact_metrics(actual, expected)
    for name, value, least in zip(names, right, (0, 0, 1e-15, 1e-12)):
        found = said["metrics"][name]
        if value is None or found is None or math.inf in (abs(value), abs(float(found))):
            near = (found is None) == (value is None) and (value is None or float(found) == nearest(value))
        else:
            value, found = Fraction(value), Fraction(float(found))
            # A result below the smallest normal float64 has fewer digits.
            allowed = max(abs(value) * Fraction(1e-12), Fraction(least), Fraction(5e-324))
            near = abs(found - value) <= allowed
        if not near:
            return f"{name} is {said['metrics'][name]}, not {None if value is None else nearest(value)}"
    return None


def wrong_differences(found, actual, expected, rule):
    """What is wrong with the output of --diff-out, or None."""
    if actual.dtype in INTEGERS:
        right = np.array(judged_integers(actual.ravel(), expected.ravel(), rule)[1], f"u{actual.itemsize}").reshape(actual.shape)
    else:
        a, e = (tensor.astype(max(tensor.dtype, np.dtype("float32"), key=lambda dtype: dtype.itemsize)) for tensor in (actual, expected))
        same = (a == e) | (np.isnan(a) & np.isnan(e) & (rule.get("--nan") != "differ"))
        right = np.where(same, a.dtype.type(0), np.abs(a - e))
    if found.dtype == right.dtype and np.array_equal(found, right, equal_nan=True):
        return None
    return f"--diff-out is {found.dtype} {found.tolist()}\n  oracle says   {right.dtype} {right.tolist()}"


def compare_batch(trial):
    """Compares pairs of random dtypes by one rule in one run, and the last pair with --diff-out."""
    rng, rule = trial.rng, random_rule(trial.rng)
    options = ["--metrics"] + [word for option in rule.items() for word in option]
    trial.path("got").mkdir()
    trial.path("want").mkdir()
    pairs = []
    for i in range(BATCH):
        others = COMPLEX + TIMES + [np.dtype(bool)] if i + 1 < BATCH and rng.random() < 0.4 else []
        actual, expected = tensors(rng, trial.generator, rng.choice(others or INTEGERS + FLOATS))
        save(trial.path(f"got/{i:03}.npy"), with_other_trues(actual, trial.generator), rng)
        pairs.append((actual, expected, save(trial.path(f"want/{i:03}.npy"), with_other_trues(expected, trial.generator), rng)))
    run = trial.run("compare", "--json", *options, "got", "want")
    *lines, summary = [json.loads(line) for line in run.out.splitlines()]
    status = max((line["status"] for line in lines), default=0)
    trial.check(len(lines) == BATCH and run.code == status == summary["status"] and not run.err, f"exit status {run.code}, {len(lines)} lines: {run.err}")
    for (actual, expected, order), line in zip(pairs, lines):
        if wrong := wrong_words(line, actual, expected, order, rule) or wrong_metrics(line, actual, expected):
            trial.wrong.append(f"{actual.dtype} {actual.shape}\n  {wrong}")

    last = f"{BATCH - 1:03}.npy"
    trial.run("compare", "-q", *options, "--diff-out", "d.npy", f"got/{last}", f"want/{last}")
    if wrong := wrong_differences(np.load(trial.path("d.npy")), *pairs[-1][:2], rule):
        trial.wrong.append(wrong)


if __name__ == "__main__":
    trials.main("compare against numpy and Python's integers", compare_batch, BATCH)
