#!/usr/bin/env python3
# torture clipper: 400 1 | 6000 | 60000
"""Runs a figure beside the number that `clipper info --value` prints for it, and beside itself in each of three equal slabs: the bytes and the counts are the same."""

import json
from decimal import Decimal

import trials
from trials import FLOATS, INTEGERS, np

FIGURES = ("mean", "median", "min", "max", "std", "absmax/2", "mean+1std", "rms", "2*median-1", "min+0.25")
COUNTS = ("raised", "lowered", "replaced", "nan", "became_infinite", "became_zero")


def tensor_of(trial):
    dtype = trial.rng.choice(INTEGERS + FLOATS[:3])
    count = trial.rng.randint(1, 40)
    if dtype in FLOATS:
        tensor = (trial.generator.integers(-40, 41, count) / 4).astype(dtype)
        tensor[trial.generator.random(count) < 0.1] = np.nan
    else:
        tensor = trial.generator.integers(0, 100, count).astype(dtype)
        if dtype.itemsize == 8 and trial.rng.random() < 0.3:
            tensor += dtype.type(1 << 60)
    return tensor


def options(trial, dtype):
    """The option that gets the figure, and other options."""
    rng, more = trial.rng, []
    option = rng.choice(["--replace-below", "--replace-above", "--min", "--max", "--subtract"] + ["--nan"] * (dtype in FLOATS))
    if option == "--replace-below" or rng.random() < 0.2 and option != "--min":
        more += ["--min", rng.choice([-3, 0, 2.5, 30])]
    if option == "--replace-above" or rng.random() < 0.2 and option != "--max":
        more += ["--max", rng.choice([0, 2.5, 60])]
    if option == "--subtract" and rng.random() < 0.5:
        more += rng.choice([["--scale", 1], ["--bias", 1], ["--max-norm", "1e30"], ["--scale", "0.5"]])
    after = [["--subtract", rng.choice([1, 0.5, -7])], ["--divide", rng.choice([0.01, 3, -0.25])]]
    more += [word for words in after if rng.random() < 0.4 and words[0] not in (option, *more) for word in words]
    more += ["--round", rng.choice(["half-even", "half-away", "trunc", "floor", "ceil"])] * (rng.random() < 0.4)
    more += ["--to", rng.choice(["int8", "uint8", "int16", "int64", "float16", "float32", "float64"])] * (rng.random() < 0.6)
    return option, more


def clip(trial, path, *words):
    run = trial.run("--force", "--json", *words, path, "out.npy")
    report = json.loads(run.out or "{}")
    return run.code, np.load(trial.path("out.npy")).tobytes() if run.code == 0 else run.err, [report.get(name, 0) for name in COUNTS]


def check_figure(trial):
    tensor = tensor_of(trial)
    option, more = options(trial, tensor.dtype)
    figure = trial.rng.choice([figure for figure in FIGURES if option != "--nan" or figure not in ("min", "max")])  # which are bounds
    trial.way, trial.about = option, f"{tensor.dtype} {tensor.tolist()}"
    np.save(trial.path("x.npy"), tensor)
    np.save(trial.path("slabs.npy"), np.stack([tensor] * 3))
    code, result, counts = clip(trial, "x.npy", f"{option}={figure}", *more)
    if code == 0 and not (option == "--subtract" and more):  # whose figures are those of clipped elements
        value = json.loads(trial.run("info", "--json", f"--value={figure}", "x.npy").out)["statistics"]["values"][0]["value"]
        is_cut = isinstance(value, str) and option not in ("--min", "--max")  # beyond 2^53, info prints integers as they are bounds
        number = None if is_cut or value in (None, "inf", "-inf", "nan") else clip(trial, "x.npy", f"{option}={Decimal(value):f}", *more)
        if number and number[0] == 0:  # a typed number must be one of the dtype
            trial.check(number == (code, result, counts), f"{option} {figure} {value}: {counts} {result.hex(' ', 8)}, not {number[2]} {number[1].hex(' ', 8)}")
    slabs = clip(trial, "slabs.npy", "--per-axis=0", f"{option}={figure}", *more)
    is_exact = np.nanmax(tensor, initial=0) < 1 << 53 or figure.isalpha()  # a sum of figures beyond it is a float64 number only in arrays
    if code == 0 and slabs[0] == 0 and "--max-norm" not in more and is_exact:
        trial.check(slabs[1] == result * 3 and slabs[2] == [3 * count for count in counts], f"{figure} of each index: {slabs[2]}, not 3 * {counts}")


if __name__ == "__main__":
    trials.main("figures against numbers and against equal slabs", check_figure)
