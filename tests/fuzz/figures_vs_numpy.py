#!/usr/bin/env python3
# torture build/clipper: 40 1 | 400 | 4000
"""Runs each line of the manual's table of figures beside its line of numpy, over random tensors of small integers, whose sums float64 has."""

import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from trials import np

MANUAL = Path(__file__).parents[2] / "app/generate/clipper-bounds.7.in"


def rows():
    """The options and the numpy expression of each line."""
    section = MANUAL.read_text().partition(".SS Figures of the elements")[2]
    table = section.partition(".nf\n")[2].partition(".fi\n")[0].replace("\\", "")
    return [re.split("  +", line) for line in table.splitlines()]


def result(clipper, options, arrays, directory):
    inputs = [f"{i}.npy" for i in range(len(arrays))]
    for name, array in zip(inputs, arrays):
        np.save(directory / name, array)
    subprocess.run([Path(clipper).resolve(), *options.split(), "--output-dir", "out", *inputs], check=True, cwd=directory)
    return [np.load(directory / "out" / name) for name in inputs]


def main():
    clipper, cases, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    wrong = 0
    for seed in range(first, first + cases):
        rng, generator = random.Random(seed), np.random.default_rng(seed)
        shape = rng.choice([(2, 3, 4, 5), (1, 1, 7, 9), (5, 2, 1, 5), (2, 3, 40, 51)])
        dtype, order = rng.choice(["f4", ">f4", "f2"]), rng.choice("CF")
        arrays = [np.asarray(generator.integers(1, 33, (shape[0] + i, *shape[1:])), dtype, order=order) for i in range(2)]
        pool = np.concatenate(arrays).astype("f8")
        for options, line in rows():
            with tempfile.TemporaryDirectory() as directory, np.errstate(all="ignore"):
                expected = [eval(line, {"np": np, "x": array.astype("f8"), "pool": pool}).astype(dtype) for array in arrays]
                if not all(np.isfinite(array).all() for array in expected):
                    continue  # a divisor of 0 is refused
                found = result(clipper, options, arrays, Path(directory))
            if any(a.tobytes() != b.tobytes() or a.dtype != b.dtype for a, b in zip(found, expected)):
                wrong += 1
                print(f"seed {seed}: {dtype} {order} {shape}: {options}: not {line}", flush=True)
    print(json.dumps({"what": "lines of the manual against numpy", "cases": cases * len(rows()), "violations": wrong}))
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
