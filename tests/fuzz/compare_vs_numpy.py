#!/usr/bin/env python3
# torture: 100 | 4000 | 100000
"""Compares random and edge tensors of every dtype, of bool, dates and complex numbers, and with --any-dtype of two dtypes, with
`clipper compare` and with numpy. Status, count, first mismatch and its values, largest difference, metrics and --diff-out are those
of the rule, in numpy's float64; for integers and dates, where numpy rounds or wraps, and for an integer of 64 bits and a float, in
Python's integers and fractions. Members of archives that are no numbers must be the same, also for --verify, whatever is tolerated."""

import decimal
import json
import math
import zipfile
from fractions import Fraction

import trials
from trials import FLOATS, INTEGERS, edges, np, save, with_other_trues

BATCH = 40  # pairs per run of clipper
COMPLEX = [np.dtype("c8"), np.dtype("c16")]
TIMES = [np.dtype(f"{kind}8{unit}") for kind in "mM" for unit in ("[ns]", "[D]", "[25s]")]
WIDE = [np.dtype("i8"), np.dtype("u8")]
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


def mixed_tensors(rng, generator, one, other, absolute):
    """Two tensors of two dtypes. Most of their elements are equal, or as near as the dtypes allow; some have the distance A as a float64."""
    expected = tensors(rng, generator, other)[1]
    if rng.random() < 0.7:
        bits = generator.bit_generator.random_raw(expected.size).astype(np.uint64) >> generator.integers(0, 64, expected.size).astype(np.uint64)
        expected = bits.view(rng.choice([np.int64, np.uint64])).astype(other).reshape(expected.shape)
    actual = expected.astype(one).ravel()
    bits = actual.view(f"u{one.itemsize}")
    changed = generator.random(bits.size) < rng.choice([0, 0.1, 1])
    bits[changed] += generator.integers(-5, 6, bits.size).astype(bits.dtype)[changed]
    if one in FLOATS and other in WIDE and rng.random() < 0.5:
        at = generator.random(bits.size) < 0.1
        actual[at], expected.ravel()[at] = absolute, 0
    return actual.reshape(expected.shape), expected


def mixed_tolerance(text):
    """A for an integer and a float."""
    number = Fraction(text)
    is_long = number.denominator == 1 and len(str(number.numerator).rstrip("0")) > 17
    return number if is_long else max(number, Fraction(float(text)))


def tolerance(rng):
    """A random tolerance."""
    return rng.choice(["0", "0", "1", "2", "1e-3", "0.1", "0.3", "0.5", "1e-7", "1e300", "1e-320", "1000000000000000003", "2.99999999999999999999",
                       repr(2.0 ** -rng.randrange(60)), f"{rng.randrange(1 << 53, 1 << 64)}.{rng.randrange(100)}", f"{decimal.Decimal(rng.random()):f}",
                       f"{rng.randrange(10**9)}e{rng.randrange(-15, 5)}", f"{rng.randrange(10**25)}e{rng.randrange(-30, 5)}", repr(rng.random())])


def random_rule(rng):
    """Random options; sometimes without those that have their default."""
    rule = {"--atol": tolerance(rng), "--rtol": tolerance(rng)}
    if rng.random() < 0.3:
        rule["--ulp"] = str(rng.choice([0, 1, 3, 1000, 1 << 40, (1 << 64) - 1]))
    if rng.random() < 0.3:
        rule["--nan-differ"] = ""
    return {name: text for name, text in rule.items() if text != "0" or rng.random() < 0.5}


def judged_integers(actual, expected, rule):
    """For each pair whether it matches, and its difference."""
    absolute, relative = Fraction(rule.get("--atol", "0")), Fraction(rule.get("--rtol", "0"))
    differences = [abs(a - e) for a, e in zip(actual.tolist(), expected.tolist())]
    return [d <= absolute + relative * abs(e) for d, e in zip(differences, expected.tolist())], differences


def judged_times(actual, expected, rule):
    dates = actual.dtype.kind == "M"
    a, e = actual.view("i8"), expected.view("i8")
    match, differences = judged_integers(a, e, {**rule, "--rtol": "0"} if dates else rule)
    for i in np.flatnonzero((a == NAT) | (e == NAT)).tolist():
        match[i], differences[i] = a[i] == e[i] and "--nan-differ" not in rule, 0
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
    if "--nan-differ" not in rule:
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
    if "--nan-differ" not in rule:
        match |= np.isnan(a) & np.isnan(e)
    return match.tolist(), np.nan_to_num(differences, nan=0.0, posinf=np.inf).tolist()


def judged_mixed(actual, expected, rule):
    """Of two dtypes: exact, unless float64 has all values of both."""
    if not {actual.dtype, expected.dtype} & set(FLOATS):
        return judged_integers(actual, expected, rule)
    if not {actual.dtype, expected.dtype} & set(WIDE):
        return judged_floats(actual.astype("f8"), expected.astype("f8"), rule)
    absolute, relative = mixed_tolerance(rule.get("--atol", "0")), Fraction(rule.get("--rtol", "0"))
    a, e = (tensor.tolist() if tensor.dtype in WIDE else tensor.astype("f8").tolist() for tensor in (actual, expected))
    ulps = [abs(x - y) for x, y in zip(places(actual.astype("f8")), places(expected.astype("f8")))]
    match, differences = [], []
    for x, y, apart in zip(a, e, ulps):
        if not math.isfinite(x) or not math.isfinite(y):
            match.append(False)
            differences.append(0 if x != x or y != y else math.inf)
            continue
        difference = abs(Fraction(x) - Fraction(y))
        near = "--ulp" in rule and max(apart, difference != 0) <= int(rule["--ulp"])
        match.append(near or difference <= absolute + relative * abs(Fraction(y)))
        differences.append(float(difference))
    return match, differences


def judged(actual, expected, rule):
    """The results in C order, for files of any memory order."""
    if actual.dtype != expected.dtype:
        return judged_mixed(actual.ravel(), expected.ravel(), rule)
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
    number = float if {actual.dtype, expected.dtype} & set(FLOATS + COMPLEX) else int
    found = (said["compared"], said["mismatches"], said["status"], [each["index"] for each in said["first"]],
             said["largest"] and (number(said["largest"]["difference"]), said["largest"]["index"]))
    right = (expected.size, len(mismatches), int(bool(mismatches)), [index_in(shape, each) for each in mismatches[:1]],
             (largest, index_in(shape, at)) if largest else None)
    if found != right:
        return f"clipper says {found}\n  oracle says  {right}"
    if mismatches and actual.dtype in INTEGERS + FLOATS:
        printed = [said["first"][0]["actual_element"], said["first"][0]["expected_element"]]
        for text, tensor in zip(printed, (actual, expected)):
            value = tensor.ravel()[mismatches[0]]
            same = int(text) == int(value) if tensor.dtype in INTEGERS else np.array_equal(tensor.dtype.type(float(text)), value, equal_nan=True)
            if not same:
                return f"clipper prints {text}, the file has {value}"
    return None


def exact_sums(actual, expected):
    """The largest |a - e| / |e|, the sums of a^2, e^2, ae and (a - e)^2, and what one is in them; None if an element is not finite."""
    if not expected.size or not (np.isfinite(actual.astype(float)).all() and np.isfinite(expected.astype(float)).all()):
        return None
    whole = actual.dtype in INTEGERS and expected.dtype in INTEGERS
    exact = (lambda t: t.ravel().tolist()) if whole else (lambda t: [x * UNIT for x in t.ravel().tolist()] if t.dtype in INTEGERS else
        [n * (UNIT // d) for n, d in map(float.as_integer_ratio, t.ravel().astype(float).tolist())])
    a, e = exact(actual), exact(expected)
    d = [abs(x - y) for x, y in zip(a, e)]
    aa, ee, ae, dd = (sum(x * y for x, y in zip(*two)) for two in ((a, a), (e, e), (a, e), (d, d)))
    relative = max((Fraction(x, abs(y)) if y else math.inf for x, y in zip(d, e) if x), default=0)
    return relative, aa, ee, ae, dd, 1 if whole else UNIT


def exact_metrics(actual, expected):
    """max_relative, rmse, cosine and sqnr of two tensors by Python's integers and 60 digits; None for what does not exist."""
    sums = exact_sums(actual, expected)
    if sums is None:
        return [None] * 4
    relative, aa, ee, ae, dd, unit = sums
    number = decimal.Decimal
    rmse = (number(dd) / expected.size).sqrt() / unit
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


def check_limits(trial, actual, expected, options):
    """Compares two files of numbers with limits of the cosine and the RMSE beside the exact ones."""
    sums = exact_sums(actual, expected)
    if sums is None or actual.dtype not in INTEGERS + FLOATS or (actual == expected).all():
        return
    _, aa, ee, ae, dd, unit = sums
    _, rmse, cosine, _ = exact_metrics(actual, expected)
    shift = decimal.Decimal(10) ** trial.rng.choice((-12, -17, -40)) * trial.rng.choice((-1, 0, 1))
    for option, exact, most in (("--min-cosine", cosine, 1), ("--max-rmse", rmse, None)):
        if exact is None or most is None and exact + shift < 0:
            continue
        limit = exact + shift if most is None else max(min(exact + shift, decimal.Decimal(most)), decimal.Decimal(-most))
        limit = trial.rng.choice((limit, +limit.normalize(decimal.Context(prec=17))))
        ratio = Fraction(limit)
        if option == "--max-rmse":
            holds = dd <= ratio * ratio * expected.size * unit * unit
        else:
            holds = ae * abs(ae) >= ratio * abs(ratio) * aa * ee
        run = trial.run("compare", "-q", option, str(limit), *options)
        trial.check(run.code == int(not holds), f"exit status {run.code} with {option} {limit} of {exact}")


def wrong_differences(found, actual, expected, rule):
    """What is wrong with the output of --diff-out, or None."""
    if actual.dtype in INTEGERS:
        right = np.array(judged_integers(actual.ravel(), expected.ravel(), rule)[1], f"u{actual.itemsize}").reshape(actual.shape)
    else:
        a, e = (tensor.astype(max(tensor.dtype, np.dtype("float32"), key=lambda dtype: dtype.itemsize)) for tensor in (actual, expected))
        same = (a == e) | (np.isnan(a) & np.isnan(e) & ("--nan-differ" not in rule))
        right = np.where(same, a.dtype.type(0), np.abs(a - e))
    if found.dtype == right.dtype and np.array_equal(found, right, equal_nan=True):
        return None
    return f"--diff-out is {found.dtype} {found.tolist()}\n  oracle says   {right.dtype} {right.tolist()}"


def compare_batch(trial):
    """Compares pairs of random dtypes by one rule in one run, and the last pair with --diff-out."""
    rng, rule = trial.rng, random_rule(trial.rng)
    is_mixed = rng.random() < 0.5
    options = ["--metrics"] + [word for option in rule.items() for word in option if word]
    trial.path("got").mkdir()
    trial.path("want").mkdir()
    pairs = []
    for i in range(BATCH):
        one, other = (rng.choice(WIDE * 4 + INTEGERS + FLOATS) for _ in range(2))
        if is_mixed and one != other and i + 1 < BATCH:
            actual, expected = mixed_tensors(rng, trial.generator, one, other, float(rule.get("--atol", "0")))
        else:
            others = COMPLEX + TIMES + [np.dtype(bool)] if i + 1 < BATCH and rng.random() < 0.4 else []
            actual, expected = tensors(rng, trial.generator, rng.choice(others or INTEGERS + FLOATS))
        save(trial.path(f"got/{i:03}.npy"), with_other_trues(actual, trial.generator), rng)
        pairs.append((actual, expected, save(trial.path(f"want/{i:03}.npy"), with_other_trues(expected, trial.generator), rng)))
    run = trial.run("compare", "--json", *options, *["--any-dtype"] * is_mixed, "got", "want")
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
    check_limits(trial, *pairs[-1][:2], [f"got/{last}", f"want/{last}"])
    compare_archives(trial, options)


def others(rng):
    """Arrays of types that clipper does not read as numbers."""
    texts = ["".join(rng.choice("ab") for _ in range(3)) for _ in range(2)]
    records = np.array([(rng.randrange(3), text) for text in texts], [("n", "<i4"), ("s", "S3")])
    shape = rng.choice([(2,), (1, 2), (2, 1)])
    return {"u": np.array(texts).reshape(shape), "s": np.array(texts, "S3"), "o": np.array([*texts, rng.randrange(3)], object), "r": records,
            "v": np.array([rng.randrange(1 << 62) for _ in range(2)], np.int64).view("V8")}


def compare_archives(trial, options):
    """Compares archives with members of all types, and verifies one. `options` tolerate what they may."""
    rng = trial.rng
    limits = {"--max-mismatch": ["1", "1000", "100%"], "--min-cosine": ["-1", "0.99"], "--max-rmse": ["1e9"], "--min-sqnr": ["-100"]}
    chosen = [word for name, values in limits.items() if rng.random() < 0.4 for word in (name, rng.choice(values))]
    numbers = {"w": np.float32([1, 2])}
    mine, golden = others(rng), others(rng)
    for name in golden:
        if rng.random() < 0.6:
            golden[name] = mine[name]
    for path, members in (("mine.npz", mine), ("golden.npz", golden)):
        np.savez(trial.path(path), **numbers, **members)
    with zipfile.ZipFile(trial.path("mine.npz")) as a, zipfile.ZipFile(trial.path("golden.npz")) as b:
        right = {name: int(a.read(name) != b.read(name)) for name in a.namelist()}
    for words in (["compare", *options, *chosen, "mine.npz", "golden.npz"],
                  ["--max", "3", "--member", "w", "mine.npz", "--verify", "golden.npz", *options, *chosen]):
        run = trial.run(*words, "--json")
        lines = [json.loads(line) for line in run.out.splitlines()]
        found = {line["member"]: line["status"] for line in lines}
        trial.check(found == right and run.code == max(right.values()), f"members are {found}, not {right}, exit status {run.code}: {run.err}")
        trial.check(not any("metrics" in line for line in lines if line["member"] != "w.npy"), "bytes have metrics")


if __name__ == "__main__":
    trials.main("compare against numpy and Python's integers", compare_batch, BATCH)
