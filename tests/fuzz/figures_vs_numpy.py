#!/usr/bin/env python3
# torture clipper: 40 1 | 400 | 4000
"""Runs each line of the manual's table of figures beside its line of numpy, over random tensors of small integers, whose sums float64 has."""

import re
from pathlib import Path

import trials
from trials import np

MANUAL = Path(__file__).parents[2] / "app/generate/clipper-statistics.7.in"


def rows():
    """The options and the numpy expression of each line."""
    section = MANUAL.read_text().partition(".SH FIGURES OF THE ELEMENTS")[2]
    table = section.partition("\nLines of options, and of numpy")[2].partition(".nf\n")[2].partition(".fi\n")[0].replace("\\", "")
    return [re.split("  +", line) for line in table.splitlines()]


def iqr(x):
    return np.subtract(*np.percentile(x, (75, 25)))


def check_table(trial):
    shape = trial.rng.choice([(2, 3, 4, 5), (1, 1, 7, 9), (5, 2, 1, 5), (2, 3, 40, 51)])
    dtype, order = trial.rng.choice(["f4", ">f4", "f2"]), trial.rng.choice("CF")
    arrays = {f"{i}.npy": np.asarray(trial.generator.integers(1, 33, (shape[0] + i, *shape[1:])), dtype, order=order) for i in range(2)}
    pool = np.concatenate(list(arrays.values())).astype("f8")
    for name, array in arrays.items():
        np.save(trial.path(name), array)
    for options, line in rows():
        expected = {name: eval(line, {"np": np, "x": array.astype("f8"), "pool": pool, "iqr": iqr}).astype(dtype) for name, array in arrays.items()}
        if not all(np.isfinite(array).all() for array in expected.values()):
            continue  # a divisor of 0 is refused
        run = trial.run("--force", *options.split(), "--output-dir", "out", *arrays)
        found = {name: np.load(trial.path("out") / name) for name in arrays} if run.code == 0 else {}
        same = found and all(found[name].tobytes() == each.tobytes() and found[name].dtype == each.dtype for name, each in expected.items())
        trial.check(same, f"{dtype} {order} {shape}: {options}: not {line} {run.err}")


if __name__ == "__main__":
    trials.main("lines of the manual against numpy", check_table)
