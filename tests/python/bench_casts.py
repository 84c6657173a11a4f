"""Times of casts in memory relative to the shortest lines of numpy: python tests/python/bench_casts.py [OPTION...] [SIZE...].

Prints Markdown: a row per kind and size, with the range over the pairs of dtypes and the worst of them. The time of a pair is
the least of many calls of each, which take turns; results are new arrays. `beside C order` are relative to the same call of
clipper's with an array in C order and this machine's byte order, `files` to the same call with the first dtype.
"""

import argparse
import datetime
import os
import pathlib
import platform
import tempfile
import time

import clipper
import ml_dtypes  # noqa: F401 adds its dtypes to numpy
import numpy as np

TABLE = pathlib.Path(__file__).resolve().parents[2] / "tests/bench/casts.md"
INTEGERS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]
DTYPES = [*INTEGERS, "f2", "f4", "f8"]
ROUNDS = 12


def cast(x, to, threads):
    return lambda: clipper.clip(x, 10, 90, to=to, threads=threads), lambda: np.clip(x, 10, 90).astype(to)


def scale(x, to, threads):
    ours = lambda: clipper.clip(x, 0, 90, scale=0.5, bias=1, to=to, threads=threads)
    return ours, lambda: np.clip(x.astype("f4") * np.float32(0.5) + np.float32(1), 0, 90).astype(to)


def stretch(x, to, threads):
    high = np.float32(255 if to == "u1" else 1)
    lines = lambda: (np.clip(x, 10, 90).astype("f4") - 10) * (high / np.float32(80))
    ours = lambda: clipper.clip(x, 10, 90, stretch=(0, int(high)), to=to, threads=threads)
    return ours, (lambda: np.rint(lines()).astype(to)) if to == "u1" else lines


def normalise(x, to, threads):
    return lambda: clipper.clip(x, subtract=40, divide=20, to=to, threads=threads), lambda: (x.astype("f4") - 40) / 20


def layout(change):
    def beside_c_order(x, to, threads):
        view = change(x)
        return cast(view, to, threads)[0], cast(np.ascontiguousarray(view, x.dtype), to, threads)[0]

    return beside_c_order, lambda x, to, threads: cast(change(x), to, threads)


def files(x, to, threads):
    """Clips two files of x: as elements of `to`, and as they are."""
    directory = tempfile.TemporaryDirectory()
    bounds = {"b": (False, False), "M": ("1970-01-11", "1970-04-01"), "m": (np.timedelta64(10, "s"), np.timedelta64(90, "s"))}

    def clip(name, elements):
        path = f"{directory.name}/{name}.npy"
        np.save(path, elements)
        low, high = bounds.get(elements.dtype.kind, (10, 90))
        return lambda: clipper.clip_file(path, f"{directory.name}/out.npy", low, high, threads=threads)

    return clip("other", x.astype(to)), clip("same", x)


SOME = ["u1", "u2", "i4", "i8", "f2", "f4", "f8"]
ANY = lambda a, b: True
size = lambda dtype: np.dtype(dtype).itemsize
pairs = lambda sources, targets, which: [(a, b) for a in sources for b in targets if a != b and which(size(a), size(b))]
KINDS = {
    "integers become wider": (cast, pairs(INTEGERS, DTYPES, lambda a, b: a < b)),
    "integers become as wide or narrower": (cast, pairs(INTEGERS, DTYPES, lambda a, b: a >= b)),
    "floats become integers": (cast, pairs(["f2", "f4", "f8"], INTEGERS, ANY)),
    "floats become floats": (cast, pairs(["f2", "f4", "f8"], ["f2", "f4", "f8"], ANY)),
    "scale and bias": (scale, [(a, b) for a in DTYPES for b in ("u1", "f4")]),
    "stretch": (stretch, [(a, b) for a in DTYPES for b in ("u1", "f4")]),
    "subtract and divide": (normalise, [(a, "f4") for a in DTYPES]),
    "bfloat16 and float8": (cast, [*pairs(["bfloat16", "float8_e4m3fn"], SOME, ANY), *pairs(SOME, ["bfloat16", "float8_e4m3fn"], ANY)]),
    "files: bool, dates, big-endian": (files, [("u1", "?"), ("i8", "M8[D]"), ("i8", "m8[s]"), ("i8", ">i8"), ("f4", ">f4")]),
}
LAYOUTS = {
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "Fortran order": lambda x: np.asfortranarray(x.reshape(100, -1)),
    "axes in another order": lambda x: x.reshape(100, 100, -1).transpose(0, 2, 1),
    "a window": lambda x: np.pad(x.reshape(-1, 100), 8)[8:-8, 8:-8],
    "each other element": lambda x: np.repeat(x, 2)[::2],
    "each other element, big-endian": lambda x: np.repeat(x.astype(x.dtype.newbyteorder(">")), 2)[::2],
    "backwards": lambda x: x[::-1],
    "one of three channels": lambda x: np.repeat(x, 3).reshape(-1, 3)[:, 1],
    "three channels backwards": lambda x: x[: x.size // 3 * 3].reshape(-1, 3)[:, ::-1],
    "three of four channels": lambda x: np.pad(x[: x.size // 3 * 3].reshape(-1, 3), ((0, 0), (0, 1)))[:, :3],
}
OF_LAYOUTS = [*pairs(SOME, SOME, ANY), ("u1", "u1"), ("f4", "f4")]
for name, change in LAYOUTS.items():
    KINDS |= {f"{name}{beside}": (make, OF_LAYOUTS) for beside, make in zip((", beside C order", ""), layout(change))}


def least(calls):
    """The least seconds of each call, wall clock and CPU."""
    times = [[float("inf")] * 2 for _ in calls]
    for _ in range(ROUNDS):
        for call, best in zip(calls, times):
            begin = time.perf_counter(), time.process_time()
            call()
            best[:] = map(min, best, (time.perf_counter() - begin[0], time.process_time() - begin[1]))
    return times


def row(kind, count, threads):
    make, chosen = KINDS[kind]
    ratios = []
    for source, to in chosen:
        x = np.random.default_rng(0).integers(0, 100, count).astype(source)
        ours, others = least(make(x, to, threads))
        ratios.append((ours[0] / others[0], ours[1] / others[1], f"{source} to {to}"))
    above = sum(ratio > 1 for ratio, *_ in ratios)
    worst = max(ratios)
    texts = [kind, f"{count:,}", f"{len(ratios)}", f"{min(ratios)[0]:.2f} to {worst[0]:.2f}", worst[2]]
    return "| " + " | ".join([*texts, f"{above}", f"{max(cpu for _, cpu, _ in ratios):.2f}"]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    number = lambda text: int(float(text))
    parser.add_argument("sizes", nargs="*", type=number, default=[10**6], metavar="SIZE", help="elements")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="also write the table to tests/bench/casts.md")
    options = parser.parse_args()
    model = next(line for line in open("/proc/cpuinfo") if line.startswith("model name")).split(":")[1].strip()
    lines = [
        "# Casts in memory relative to numpy",
        "",
        f"Written by `tests/python/bench_casts.py --write`, {datetime.date.today()}: {model}, "
        f"{len(os.sched_getaffinity(0))} CPUs, load {os.getloadavg()[0]:.0f}, Linux {platform.release()}, "
        f"Python {platform.python_version()}, numpy {np.__version__}, threads={options.threads}.",
        "",
        "| | elements | pairs | clipper's time / numpy's | worst | above 1 | most CPU / numpy's |",
        "|---|---:|---:|---|---|---:|---:|",
    ]
    lines += [row(kind, count, options.threads) for count in options.sizes for kind in options.kinds]
    print("\n".join(lines))
    if options.write:
        TABLE.write_text("\n".join(lines) + "\n")


main()
