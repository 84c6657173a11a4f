"""Times of clipper.clip relative to np.clip, one thread and all: python tests/python/bench.py [OPTION...] [SIZE...].

Prints Markdown: a row per size, with ranges over the dtypes. A cell of a size and a dtype is the median of the ratios
clipper / np.clip of interleaved rounds, every second one in reverse order. New results are allocated anew in each call, as
users do, in pages that this machine has (back_memory); clips in place of 10^6 elements or more begin with the same unclipped
elements in each round. bfloat16, which np.clip does not take, is
compared with np.minimum(np.maximum()).

The cells of earlier runs are kept in build/module/bench.json, so that a run may measure a few sizes or dtypes.
"""

import argparse
import datetime
import json
import mmap
import os
import pathlib
import platform
import statistics
import time

import clipper
import ml_dtypes
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
CELLS = ROOT / "build/module/bench.json"
TABLE = ROOT / "tests/bench/module.md"

DTYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16".split()
SIZES = [16, 100, 10**4, 10**5, 10**6, 10**7, 10**8]
RESULTS = {"new": "a new array", "out": "`out=y`", "place": "`out=x`"}
BOUNDS = {"full": "arrays of x's shape", "channel": "arrays of 64, the last axis", "scalar": "arrays of one element"}
CHANNELS = 64
PASSES = 3  # over all cells, so that the rounds of a cell are not all in the same seconds


def bounds_of(kind, dtype, count):
    """min and max for clipper and np.clip, and x's shape."""
    numbers = dtype.type(20), dtype.type(90)
    if kind == "numbers":
        return (20, 90), numbers, (count,)
    if kind == "scalar":
        arrays = tuple(np.array(number) for number in numbers)
        return arrays, arrays, (count,)
    channels = min(CHANNELS, count)
    shape = (count // channels, channels)
    arrays = tuple(np.full(shape if kind == "full" else channels, number) for number in numbers)
    return arrays, arrays, shape


def np_clip(dtype):
    if dtype.name != "bfloat16":
        return np.clip
    return lambda x, lo, hi, out=None: np.minimum(np.maximum(x, lo, out=out), hi, out=out)


def timed(call, repeats):
    steps = range(repeats)
    begin = time.perf_counter(), time.process_time()
    for _ in steps:
        call()
    return (time.perf_counter() - begin[0]) / repeats, (time.process_time() - begin[1]) / repeats


def back_memory(size):
    """Makes the pages that the next call gets such that this machine has: a virtual machine's host takes free ones back after two
    seconds, and gives them again at ten times the cost. The first call of a round would pay for all."""
    mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE).close()


def measure(calls, prepare, count, seconds):
    """The times of each call in each round, wall clock and CPU. The calls take turns."""
    once = max(timed(call, 3 if count < 10**6 else 1)[0] for call in calls)  # the first calls also start threads
    repeats = 1 if count >= 10**6 else max(1, int(0.002 / once))
    rounds = []
    for i in range(max(2, min(15, int(seconds / (once * repeats * len(calls)))))):
        times = {}
        for place in range(len(calls))[:: -1 if i % 2 else 1]:
            if prepare:
                prepare()
            times[place] = timed(calls[place], repeats)
        rounds.append([times[place] for place in range(len(calls))])
    return rounds


def medians(rounds):
    """np.clip's time, the median of the ratios to it of one thread and of all, and the latter in CPU seconds."""
    ratio = lambda call, clock: statistics.median(times[call][clock] / times[-1][clock] for times in rounds)
    numpy = statistics.median(times[-1][0] for times in rounds)
    return {"numpy": numpy, "one": ratio(0, 0), "all": ratio(1, 0), "all, CPU": ratio(1, 1)}


def times_of(kind, result, name, count, seconds):
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    own, others, shape = bounds_of(kind, dtype, count)
    original = np.random.default_rng(1).integers(0, 120, shape, np.uint8).astype(dtype)
    x = original.copy()
    out = {"new": None, "out": np.empty_like(x), "place": x}[result]
    other = np_clip(dtype)
    calls = [
        lambda: clipper.clip(x, *own, out=out, threads=1),
        lambda: clipper.clip(x, *own, out=out),
        lambda: other(x, *others, out=out),
    ]
    prepares = {"place": lambda: np.copyto(x, original), "new": lambda: back_memory(x.nbytes + x.nbytes // 4)}
    prepare = prepares.get(result) if count >= 10**6 else None
    return measure(calls, prepare, count, seconds)


def seconds_text(seconds):
    for unit, factor in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def range_text(numbers, text):
    return text(min(numbers)) if len(numbers) == 1 else f"{text(min(numbers))} to {text(max(numbers))}"


def row(elements, name, cells):
    ratio = lambda what: range_text([cell[what] for cell in cells], "{:.2f}".format)
    half = [f"{1 / cell['all']:.0f}" for cell in cells if cell["dtype"] == "float16"]
    texts = [f"{elements:,}", name, range_text([cell["numpy"] for cell in cells], seconds_text)]
    texts += [ratio("one"), ratio("all"), ratio("all, CPU"), *(half or [""])]
    return "| " + " | ".join(texts) + " |"


def table(cells, column, names):
    """The rows of the cells whose `column` is in `names`."""
    keys = {(cell["elements"], name) for cell in cells for name in names if cell[column] == name}
    order = sorted(keys, key=lambda key: (key[0], list(names).index(key[1])))
    head = "np.clip | 1 thread | all threads | CPU seconds, all threads | float16, times faster"
    lines = [f"| elements | {column} | {head} |", "|---:|---|---:|---:|---:|---:|---:|"]
    for elements, name in order:
        chosen = [cell for cell in cells if (cell["elements"], cell[column]) == (elements, name)]
        lines.append(row(elements, names[name], chosen))
    return "\n".join(lines) + "\n"


def page(cells):
    model = next(line for line in open("/proc/cpuinfo") if line.startswith("model name")).split(":")[1].strip()
    dtypes = len({cell["dtype"] for cell in cells})
    numbers = [cell for cell in cells if cell["bounds"] == "numbers"]
    arrays = [cell for cell in cells if cell["bounds"] != "numbers"]
    return (
        f"# clipper.clip relative to np.clip\n\nWritten by `tests/python/bench.py --write`, {datetime.date.today()}: "
        f"{model}, {len(os.sched_getaffinity(0))} CPUs, Linux {platform.release()}, "
        f"Python {platform.python_version()}, numpy {np.__version__}.\n"
        f"Clipper's time / np.clip's time: the range over {dtypes} dtypes of medians of ratios. "
        f"New arrays of 32 MiB or more\nare new pages, which the kernel clears.\n\n"
        f"## Numbers as bounds\n\n{table(numbers, 'result', RESULTS)}\n"
        f"## Arrays as bounds, result in a new array\n\n{table(arrays, 'bounds', BOUNDS)}"
    )


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = lambda text: int(float(text))
    parser.add_argument("sizes", nargs="*", type=size, default=SIZES, metavar="SIZE", help="elements")
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=DTYPES)
    parser.add_argument("--results", nargs="*", choices=RESULTS, default=list(RESULTS), help="with numbers as bounds")
    parser.add_argument("--bounds", nargs="*", choices=BOUNDS, default=list(BOUNDS), help="that are arrays")
    parser.add_argument("--seconds", type=float, default=0.05, help="for a cell, which has at least six rounds")
    parser.add_argument("--cells", action="store_true", help="print the cells instead of the tables")
    parser.add_argument("--write", action="store_true", help=f"write all cells so far to {TABLE.relative_to(ROOT)}")
    return parser.parse_args()


def kinds(options, elements):
    arrays = options.bounds if elements <= 10**7 else []  # four larger arrays may not fit into memory
    return [("numbers", result) for result in options.results] + [(bounds, "new") for bounds in arrays]


def main():
    options = arguments()
    cells = json.loads(CELLS.read_text()) if CELLS.exists() else {}
    now = {}
    for elements in options.sizes:
        keys = [(*kind, dtype, elements) for kind in kinds(options, elements) for dtype in options.dtypes]
        rounds = {key: [] for key in keys}
        for _ in range(PASSES):
            for key in keys:
                rounds[key] += times_of(*key, options.seconds / PASSES)
        for bounds, result, dtype, _ in keys:
            found = medians(rounds[bounds, result, dtype, elements])
            now[f"{bounds} {result} {elements} {dtype}"] = {
                "bounds": bounds, "result": result, "elements": elements, "dtype": dtype, **found
            }
    cells |= now
    CELLS.parent.mkdir(parents=True, exist_ok=True)
    CELLS.write_text(json.dumps(cells, indent=1))
    if options.write:
        TABLE.write_text(page(list(cells.values())))
    if options.cells:
        for key, found in now.items():
            print(key, *(f"{name} {found[name]:.3g}" for name in ("numpy", "one", "all", "all, CPU")))
    else:
        print(page(list(now.values())))


main()
