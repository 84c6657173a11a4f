"""The performance targets, each with the samples that it limits."""

from collections.abc import Callable
from dataclasses import dataclass

from samples import Ratio, Samples

CACHED, UNCACHED = 64 << 10, 16 << 20
DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bfloat16")
LEVELS = ("baseline", "v3", "v4")
LIBRARIES = {"numpy": "numpy", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


def size_text(size):
    return f"{size >> 20} MiB" if size >> 20 else f"{size >> 10} KiB"


def level(samples):
    """The highest SIMD level that this CPU has."""
    return max((name.split("/")[2] for name in samples if name.startswith("clip/")), key=LEVELS.index, default="")


def kernel(samples, work, dtype, size):
    return f"{work}/{dtype}/{level(samples)}/{size}"


def in_memory(samples, dtype, size):
    """How the library clips a tensor in memory: it writes large results past the caches."""
    return f"streamed/{dtype}/{size}" if size == UNCACHED else kernel(samples, "clip", dtype, size)


@dataclass(frozen=True)
class Target:
    part: str
    what: str
    limit: float | None  # None: measured without a target
    measured: Callable[[Samples], Ratio | None]
    at_least: bool = False
    unit: str = ""
    in_readme: bool = False

    def reached(self, ratio):
        if self.limit is None:
            return None
        return ratio.median >= self.limit if self.at_least else ratio.median <= self.limit


def time(what, limit, name, reference, part="files", in_readme=False):
    return Target(part, what, limit, lambda samples: samples.ratio(name, reference), in_readme=in_readme)


def bounds_time(what, limit, name, reference):
    return time(what, limit, name, reference, "bounds")


def beside_numbers(limit, tensor, *shapes):
    """One row for each shape of min and max."""
    return [bounds_time(f"bounds of shape {shape} on {tensor} / numbers as bounds", limit, f"clipper, {shape} on {tensor}",
                        f"clipper, numbers on {tensor}") for shape in shapes]


def scale_beside_numbers(tensor, shape):
    return bounds_time(f"scale and bias of shape {shape} on {tensor} / numbers as scale and bias", None,
                       f"clipper, scale and bias {shape} on {tensor}", f"clipper, scale and bias numbers on {tensor}")


def memory(name):
    def measured(samples):
        return Ratio(samples.median(name), min(samples[name]), max(samples[name])) if name in samples else None
    return Target("files", f"peak memory, 16 GiB sparse input, {name.removeprefix('MiB ')}", 32, measured, unit=" MiB")


def worst_memory(part, what, limit, with_archives=False):
    """The worst of all commands of clipper of this part."""
    def measured(samples):
        names = [name for name in samples
                 if name.startswith(("MiB clipper, ", "MiB clipper info")) and ("archive" in name) == with_archives]
        worst = max(names, key=samples.median, default=None)
        return worst and Ratio(samples.median(worst), min(samples[worst]), max(samples[worst]), worst.removeprefix("MiB "))
    return Target(part, f"peak memory, {what}", limit, measured, unit=" MiB")


def beside_memcpy(what, limit, work, dtypes):
    return Target("kernels", f"{what} in cache (64 KiB) / memcpy", limit, lambda samples: samples.worst(
        (dtype, kernel(samples, work, dtype, CACHED), f"memcpy/{CACHED}") for dtype in dtypes))


def beside_library(library, size):
    what = f"clip of {size_text(size)} / {LIBRARIES[library]}, one thread"
    return Target("kernels", what, 1, lambda samples: samples.worst(
        (dtype, in_memory(samples, dtype, size), f"{library}/{dtype}/{size}/1") for dtype in DTYPES))


def beside_library_on_two_threads(library):
    what = f"clip of {size_text(UNCACHED)} / {LIBRARIES[library]}, two threads"
    return Target("kernels", what, 1, lambda samples: samples.worst(
        (dtype, f"threads/{dtype}/{UNCACHED}/2", f"{library}/{dtype}/{UNCACHED}/2") for dtype in DTYPES))


SCALE_LIMITS = (
    (1.4, ["float32", "float64"]),
    (2.5, ["bfloat16"]),
    (3, ["float16"]),
    (4, ["int8", "uint8"]),
    (6, ["int16", "int32", "uint16", "uint32"]),
)

TARGETS = (
    time("file to new file / `cp`", 0.5, "clipper", "cp", in_readme=True),
    time("file to new file / numpy script (load, clip, save)", 0.33, "clipper", "numpy script", in_readme=True),
    time("file to new file, float16 / numpy script", 0.05, "clipper, float16", "numpy script, float16"),
    Target("files", "scale, bias and clip, file to new file / `cp`", 0.7, lambda samples: samples.worst(
        (dtype, f"clipper, scale and bias of {dtype}", f"cp, {dtype}") for dtype in DTYPES)),
    time("replacing a file / `cp` over a file", 0.85, "clipper over a file", "cp over a file", in_readme=True),
    time("in place, nothing changes / `cp`", 0.25, "clipper in place, nothing changes", "cp"),
    time("`cat in \\| clipper - - > out` / `cat in \\| cat > out`", 1.1, "cat | clipper", "cat | cat", in_readme=True),
    time("file to new file on tmpfs / `cp`", None, "clipper to tmpfs", "cp to tmpfs"),
    time("float32 to uint8, file to new file / `cp` of the input", 0.45, "clipper, float32 to uint8", "cp"),
    time("uint8 to float32, file to new file / `cp` of the result", 1, "clipper, uint8 to float32", "cp"),
    time("uint16 with `--min 1% --max 99% --stretch 0:255 --to uint8` / numpy script", 0.35, "clipper, uint16 stretched to uint8",
         "numpy script, uint16 stretched to uint8"),
    time("file to /dev/null / `cat`", None, "clipper to /dev/null", "cat to /dev/null"),
    time("`clipper in - \\| cat` / `cat in \\| cat`", None, "clipper | cat", "cat | cat to /dev/null"),
    time("`cat in \\| clipper - - \\| cat` / `cat in \\| cat \\| cat`", None, "cat | clipper | cat", "cat | cat | cat"),
    time("1,000 elements / `cp`", 1.1, "clipper, 1,000 elements", "cp, 1,000 elements", in_readme=True),
    time("1,000 elements, static program / `cp`", 0.9, "static clipper, 1,000 elements", "cp, 1,000 elements", in_readme=True),
    time("10,000 files of 4 KiB in one process / `cp -r`", 0.8, "clipper, many files", "cp -r, many files"),
    *beside_numbers(1.1, "(N,C,H,W)", "(C,1,1)", "(1,C,1,1)"),
    *beside_numbers(1.5, "(H,W)", "(W,)", "(1,W)"),
    *beside_numbers(1.5, "(H,W,3)", "(3,)"),
    *beside_numbers(2.2, "(H,W)", "(H,W)"),
    scale_beside_numbers("(N,C,H,W)", "(C,1,1)"),
    scale_beside_numbers("(H,W,3)", "(3,)"),
    bounds_time("`--min 1% --max 99%` / numpy script (percentile, clip, save)", 0.15, "clipper, 1% and 99% on (H,W)",
                "numpy script, 1% and 99%"),
    bounds_time("`--min 1% --max 99%` / numbers as bounds", 2.5, "clipper, 1% and 99% on (H,W)", "clipper, numbers on (H,W)"),
    bounds_time("`info --percentile 1,50,99` / np.percentile", None, "clipper info --percentile", "np.percentile"),
    worst_memory("bounds", "arrays and percentiles", 32),
    time("stored archive / the same data as .npy", 1.3, "clipper, stored archive", "clipper, .npy of an archive's size", "archives"),
    time("stored archive / numpy script (load, clip, savez)", None, "clipper, stored archive", "numpy script, stored archive",
         "archives"),
    time("compressed archive / numpy script (load, clip, savez_compressed)", 0.6, "clipper, compressed archive",
         "numpy script, compressed archive", "archives"),
    worst_memory("archives", "archives", 64, with_archives=True),
    *(memory(f"MiB {how}, {threads} threads") for how in ("to /dev/null", "in place") for threads in (2, 16)),
    beside_memcpy("clip", 1.3, "clip", DTYPES),
    *(beside_memcpy(f"scale, bias and clip of {', '.join(dtypes)}", limit, "scale_bias_clip", dtypes)
      for limit, dtypes in SCALE_LIMITS),
    Target("kernels", "clip and count in cache (64 KiB) / clip", 1.25, lambda samples: samples.worst(
        (dtype, kernel(samples, "clip_and_count", dtype, CACHED), kernel(samples, "clip", dtype, CACHED)) for dtype in DTYPES)),
    *(beside_library(library, size) for size in (CACHED, UNCACHED) for library in LIBRARIES),
    *(beside_library_on_two_threads(library) for library in ("onnxruntime", "openvino")),
    Target("kernels", "two threads / one, speed in cache", 1.8, lambda samples: samples.worst(
        ((dtype, f"threads/{dtype}/{CACHED}/1", f"threads/{dtype}/{CACHED}/2") for dtype in DTYPES), min), at_least=True),
)
