"""Times of clipper.clip relative to np.clip: python tests/python/bench.py [SIZE...]. Prints a Markdown table.

Every cell is np.clip's time, and the ratios clipper / np.clip of medians of interleaved rounds. Large results are
allocated anew in each call, as users do.
"""

import statistics
import sys
import time

import clipper
import ml_dtypes
import numpy as np

DTYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16".split()


def medians(calls, count):
    """The median seconds of each call, which take turns."""
    repeats = max(1, min(20_000, 2_000_000 // max(count, 100)))
    rounds = 31 if count <= 10**5 else 11 if count <= 10**7 else 3
    times = [[] for _ in calls]
    for _ in range(rounds):
        for call, record in zip(calls, times, strict=True):
            steps = range(repeats)
            begin = time.perf_counter()
            for _ in steps:
                call()
            record.append((time.perf_counter() - begin) / repeats)
    return [statistics.median(record) for record in times]


def text(seconds):
    for unit, factor in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def np_clip(dtype, lo, hi):
    if dtype != "bfloat16":
        return lambda x, out=None: np.clip(x, lo, hi, out=out)
    return lambda x, out=None: np.minimum(np.maximum(x, lo, out=out), hi, out=out)  # np.clip has no bfloat16


def row(dtype, count):
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    values = np.random.default_rng(1).integers(0, 120, count, np.uint8)
    x = values.astype(kind)
    lo, hi = kind.type(20), kind.type(90)
    other = np_clip(dtype, lo, hi)
    y = np.empty_like(x)
    new, new1, np_new = medians(
        [lambda: clipper.clip(x, 20, 90), lambda: clipper.clip(x, 20, 90, threads=1), lambda: other(x)], count
    )
    place, place1, np_place = medians(
        [
            lambda: clipper.clip(x, 20, 90, out=y),
            lambda: clipper.clip(x, 20, 90, out=y, threads=1),
            lambda: other(x, out=y),
        ],
        count,
    )
    own, own1, np_own = medians(
        [
            lambda: clipper.clip(x, 20, 90, out=x),
            lambda: clipper.clip(x, 20, 90, out=x, threads=1),
            lambda: other(x, out=x),
        ],
        count,
    )
    cells = [f"{text(np_new)} | {new1 / np_new:.2f} | {new / np_new:.2f}"]
    cells += [f"{text(np_place)} | {place1 / np_place:.2f} | {place / np_place:.2f}"]
    cells += [f"{text(np_own)} | {own1 / np_own:.2f} | {own / np_own:.2f}"]
    return f"| {dtype} | {count:,} | " + " | ".join(cells) + " |"


def main():
    print("| dtype | elements | np new | 1 thread | all | np out= | 1 thread | all | np in place | 1 thread | all |")
    print("|---|---:|" + "---:|" * 9)
    for count in map(int, map(float, sys.argv[1:] or ["16", "1e3", "1e5", "1e7", "1e8"])):
        for dtype in DTYPES:
            print(row(dtype, count), flush=True)


main()
