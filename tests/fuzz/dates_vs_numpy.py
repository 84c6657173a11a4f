#!/usr/bin/env python3
"""Clips random tensors of bool, datetime64 and timedelta64 in every way to run, with bounds as text, and compares the elements with
np.clip. Bounds that the unit does not have exactly, NaT and plain numbers for dates must be refused."""

import math
import re
from fractions import Fraction

import trials
from trials import np

NAT = -(1 << 63)
UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]
FINER = {"Y": "-02", "M": "-02", "W": "T01", "D": "T01", "h": ":01", "m": ":01", "s": ".1"}
FINER |= {unit: "1" for unit in UNITS[7:-1]}


def random_dtype(rng):
    if rng.random() < 0.15:
        return np.dtype(bool)
    unit = f"[{rng.choice(['', '', '', '2', '25', '1000'])}{rng.choice(UNITS)}]"
    return np.dtype(rng.choice("mM") + "8" + unit).newbyteorder(rng.choice("<>"))


def extent(dtype):
    """Integers up to this one have dates that numpy reads and prints without overflow."""
    unit, multiplier = np.datetime_data(dtype)
    limit = {"Y": 1 << 30, "M": 1 << 33, "W": 1 << 36, "D": 1 << 38, "h": 1 << 42, "m": 1 << 48, "s": 1 << 54}.get(unit, 1 << 62)
    return limit // multiplier


def random_ticks(rng, dtype, count=1):
    size = rng.choice([100, extent(dtype)])
    return np.array([rng.randrange(-size, size) for _ in range(count)], "i8")


def tensor(rng, generator, dtype):
    shape = rng.choice([(), (0,), (7,), (300,), (3, 0), (5, 11), (40, 60), (2049,), (3, 1, 900)])
    count = int(np.prod(shape))
    if dtype == bool:
        return (generator.random(shape) < 0.5).copy(order=rng.choice("CF"))
    ticks = random_ticks(rng, dtype, count)
    ticks[generator.random(count) < rng.choice([0, 0.2, 1])] = NAT
    ticks[generator.random(count) < 0.1] = rng.choice([NAT + 1, (1 << 63) - 1, 0, -1])
    values = ticks.view(dtype.newbyteorder("=")).reshape(shape)
    return np.asarray(values.astype(dtype), order=rng.choice("CF"))


def text_of(rng, bound, dtype):
    """The bound as clipper and numpy read it."""
    if dtype == bool:
        return rng.choice([["0", "false"], ["1", "true"]][int(bound)])
    if dtype.kind == "m":
        return str(int(bound.view("i8")))
    text = np.datetime_as_string(bound)
    if np.datetime_data(dtype)[0] == "Y":  # a year alone is a number
        text += rng.choice(["-01", "-01-01", "-01-01T00:00"])
    text = text.replace("T", rng.choice("T "))
    assert np.datetime64(text, np.datetime_data(dtype)) == bound
    return text


def bounds_of(rng, dtype):
    """One or two bounds by name, as elements; min <= max."""
    native = dtype.newbyteorder("=")
    values = [False, True] if dtype == bool else sorted(random_ticks(rng, dtype, 2).tolist())
    bounds = {name: (np.bool_(value) if dtype == bool else np.array(value, "i8").view(native)[()])
              for name, value in zip(("min", "max"), values)}
    if dtype == bool and rng.random() < 0.5:
        bounds = {name: bounds[rng.choice(["min", "max"])] for name in bounds}
        if bounds["min"] > bounds["max"]:
            bounds = {"min": bounds["max"], "max": bounds["min"]}
    if rng.random() < 0.4:
        del bounds[rng.choice(["min", "max"])]
    return bounds


def percentile(rng, array):
    """A percentage, and the element that it stands for: the lower one of two. Nothing if all elements are NaT."""
    native = array.astype(array.dtype.newbyteorder("="))
    numbers = sorted(native.ravel().tolist() if native.dtype == bool else [tick for tick in native.ravel().view("i8").tolist() if tick != NAT])
    if not numbers:
        return None
    text = rng.choice(["0", "100", "50", str(rng.randrange(101)), f"{rng.randrange(100)}.{rng.randrange(1000)}"])
    element = numbers[math.floor(Fraction(text) / 100 * (len(numbers) - 1))]
    return f"{text}%", np.bool_(element) if native.dtype == bool else np.array(element, "i8").view(native.dtype)[()]


def clipped(rng, array, bounds):
    """numpy's result, its counts of elements raised, lowered and NaT, and --nan as words."""
    native = array.dtype.newbyteorder("=")
    x = array.astype(native)
    result = np.clip(x, bounds.get("min"), bounds.get("max"))
    nat = np.isnat(x) if native.kind in "mM" else np.zeros(x.shape, bool)
    counts = [int(((result > x) & ~nat).sum()), int(((result < x) & ~nat).sum()), int(nat.sum())]
    words = []
    if native.kind in "mM" and rng.random() < 0.5:
        action = rng.choice(["keep", "keep", *bounds, "replace", "error"])
        by = random_ticks(rng, array.dtype).view(native)[0]
        words = [f"--nan={text_of(rng, by, array.dtype) if action == 'replace' else action}"]
        if action not in ("keep", "error"):
            result = np.where(nat, by if action == "replace" else bounds[action], result)
    return np.asarray(result).astype(array.dtype), counts, words


def run_clip(trial, words, way):
    """Clips x.npy, and returns the run and what was written."""
    if way == "in place":
        return trial.run(*words, "-i", "x.npy"), "x.npy"
    if way == "direct":
        return trial.run(*words, "-i", "--direct", "x.npy"), "x.npy"
    if way == "pipe":
        run = trial.run(*words, "-", "-", stdin=trial.path("x.npy").read_bytes())
        trial.path("y.npy").write_bytes(run.out if run.code == 0 else b"")
        return run, "y.npy"
    if way == "member":
        np.savez(trial.path("a.npz"), x=np.load(trial.path("x.npy")), other=np.array([1.5]))
        return trial.run(*words, "a.npz:x", "y.npy"), "y.npy"
    if way == "--member":
        np.savez(trial.path("a.npz"), x=np.load(trial.path("x.npy")), other=np.array([1.5]))
        run = trial.run(*words, "--member", "x", "a.npz", "b.npz")
        if run.code == 0:
            with np.load(trial.path("b.npz")) as archive:
                np.save(trial.path("y.npy"), archive["x"])
        return run, "y.npy"
    options = ["--threads", str(trial.rng.choice([1, 3])), "--chunk-size", "4096"] if trial.rng.random() < 0.3 else []
    return trial.run(*words, *options, "x.npy", "y.npy"), "y.npy"


def check_refused(trial, dtype, words):
    """A bound that must be refused instead of one that is right."""
    rng = trial.rng
    if dtype == bool:
        bad = rng.choice(["2", "-1", "0.5", "2020-01-01", "NaT", "nan"])
    elif dtype.kind == "m":
        bad = rng.choice(["1.5", "NaT", "9223372036854775808", "-9223372036854775808", "2020-01-01", "inf", "true", "nan"])
    else:
        unit, multiplier = np.datetime_data(dtype)
        good = text_of(rng, random_ticks(rng, dtype).view(dtype.newbyteorder("="))[0], dtype)
        bad = rng.choice(["0", "20200101", "2020", "true", "NaT"])
        if unit in FINER and unit != "Y" and rng.random() < 0.7:
            bad = good + FINER[unit]
        if unit == "W" and multiplier == 1 and rng.random() < 0.5:
            bad = rng.choice(["2020-01-01", "1970-01-02"])  # no Thursdays
    trial.about += f", {bad}"
    run = trial.run(*words, "--max" if rng.random() < 0.5 else "--min", bad, "x.npy", "y.npy")
    trial.check(run.code == 2 and not trial.path("y.npy").exists(), f"exit status {run.code}: {run.err}")
    if re.fullmatch(r"\d{4}-.*", bad):
        trial.check(bad in run.err, run.err)


def clip_once(trial):
    rng = trial.rng
    dtype = random_dtype(rng)
    array = tensor(rng, trial.generator, dtype)
    np.save(trial.path("x.npy"), trials.with_other_trues(array, trial.generator))
    trial.about = f"{array.dtype} {array.shape}"
    profile = [] if rng.random() < 0.7 else ["--profile", "numpy"]
    if rng.random() < 0.15:
        trial.way = "refused"
        return check_refused(trial, dtype, profile)
    trial.way = rng.choice(["file", "file", "in place", "direct", "pipe", "member", "--member"])
    bounds = bounds_of(rng, dtype)
    texts = {name: text_of(rng, bound, dtype) for name, bound in bounds.items()}
    name = rng.choice([*bounds])
    found = percentile(rng, array) if trial.way not in ("pipe", "direct") and rng.random() < 0.3 else None
    if found and bounds.get("min", found[1]) <= found[1] <= bounds.get("max", found[1]):
        texts[name], bounds[name] = found
    words = [*profile, *(f"--{name}={text}" for name, text in texts.items())]
    result, counts, nan = clipped(rng, array, bounds)
    if "--nan=error" in nan and counts[2]:
        run = trial.run(*words, *nan, "x.npy", "y.npy")
        return trial.check(run.code == 3 and "NaN at" in run.err, f"exit status {run.code}: {run.err}")
    run, output = run_clip(trial, [*words, *nan], trial.way)
    if trial.way == "direct" and run.code == 2 and nan:  # what replaces NaT may lie beyond the bounds
        return trial.check("clips every element again" in run.err, run.err)
    if not trial.check(run.code == 0 and not run.err, f"exit status {run.code}: {run.err}"):
        return None
    found = np.load(trial.path(output))
    trial.check(found.dtype == array.dtype and found.shape == array.shape and found.tobytes() == result.tobytes(),
                f"clipper: {found!r}\n  numpy:   {result!r}\n  of {array!r}")
    if trial.way == "file":
        run = trial.run("--json", *words, *nan, "x.npy", "z.npy")
        said = trials.json.loads(run.out)
        trial.check([said["raised"], said["lowered"], said["nan"]] == counts, f"counts are {run.out}, not {counts}")
        run = trial.run(*words, *nan, "x.npy", "--verify", "y.npy")
        trial.check(run.code == 0, f"--verify: {run.out}{run.err}")
        run = trial.run("info", "--stats", "--json", "x.npy")
        mean = trials.json.loads(run.out)["statistics"].get("mean")
        trial.check(dtype != bool or not array.size or mean == float(Fraction(int(array.sum()), array.size)), f"info: {run.out}")
    return None


if __name__ == "__main__":
    trials.main("dates and flags against numpy", clip_once)
