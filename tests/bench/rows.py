"""The rows of scripts/bench: commands that do the same work, in a directory with the files that they name."""

import math
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SIZE = 256 << 20  # bytes of an input
SMALL, MANY, DEFLATED = 4128, 2000, 8  # bytes of 1,000 elements; files; the part of the data that the compressed archive holds
BLOCK = 4 << 20  # elements that are generated at a time
CHANNELS, SIDE = 64, 56  # of a layer of ResNet-50: 3,136 elements of a channel follow each other
PYTHON = shlex.join([sys.executable, str(Path(__file__).with_name("numpy_script.py"))])
CLIP = "clipper --min 0 --max 6"
PIECES = "bs=512K status=none"  # for dd: clipper's blocks


def shape_of(axes, itemsize=4):
    """Of a tensor of SIZE bytes, without whose first axis there are `axes`."""
    return SIZE // itemsize // math.prod(axes), *axes


# name -> dtype, shape, and the range of the elements
INPUTS = {
    "x": ("float32", shape_of(()), -10, 10),
    "inside": ("float32", shape_of(()), 0, 6),
    "half": ("float16", shape_of((), 2), -10, 10),
    "uint8": ("uint8", (SIZE // 4,), 0, 256),
    "uint16": ("uint16", (SIZE // 4,), 0, 65536),
    "small": ("float32", (1000,), -10, 10),
    "images": ("float32", shape_of((CHANNELS, SIDE, SIDE)), -10, 10),
    "rows": ("float32", shape_of((1000,)), -10, 10),
    "pixels": ("float32", shape_of((1000, 3)), -10, 10),
    **{f"{bound}-{what}": ("float32", shape, low, low + 2) for bound, low in (("lo", -1), ("hi", 5))
       for what, shape in (("images", (CHANNELS, 1, 1)), ("pixels", (3,)), ("rows", shape_of((1000,))))},
}


@dataclass(frozen=True)
class Row:
    what: str
    sides: dict  # who -> a line for sh, in which {n} is another number in each run; clipper comes first
    size: int = SIZE  # bytes that clipper reads
    before: str = ":"  # a line for sh, before each run
    runs: int = 1  # in a round
    in_readme: bool = False


def beside_numbers(shape, kind):
    return Row(f"bounds of shape {shape}", {"clipper": f"clipper --min @lo-{kind}.npy --max @hi-{kind}.npy {kind}.npy out.npy",
                                            "numbers as bounds": f"{CLIP} {kind}.npy out.npy"})


ROWS = (
    Row("new file", {"clipper": f"{CLIP} x.npy out.npy", "cp": "cp x.npy out.npy", "numpy": f"{PYTHON} clip x.npy out.npy",
                     "numpy in blocks": f"{PYTHON} blocks x.npy out.npy", "dd": f"dd {PIECES} if=x.npy of=out.npy"}, in_readme=True),
    Row("in place", {"clipper": f"{CLIP} --in-place out.npy", "cp": "cp x.npy out.npy", "numpy": f"{PYTHON} clip out.npy out.npy",
                     "numpy in blocks": f"{PYTHON} in_place out.npy", "dd": f"dd {PIECES} conv=notrunc if=out.npy of=out.npy"},
        before="cp x.npy out.npy", in_readme=True),
    Row("pipe", {"clipper": f"cat x.npy | {CLIP} - - >out.npy", "cp": "cat x.npy | cat >out.npy",
                 "dd": f"cat x.npy | dd {PIECES} iflag=fullblock >out.npy"}, in_readme=True),
    Row("1,000 elements", {"clipper": f"{CLIP} small.npy out-{{n}}.npy", "cp": "cp small.npy out-{n}.npy",
                           "numpy": f"{PYTHON} clip small.npy out-{{n}}.npy",
                           "dd": f"dd {PIECES} if=small.npy of=out-{{n}}.npy"}, size=SMALL, runs=20, in_readme=True),
    Row("1,000 elements, static program", {"clipper": "static-clipper --min 0 --max 6 small.npy out-{n}.npy",
                                           "cp": "cp small.npy out-{n}.npy"}, size=SMALL, runs=100),
    Row(f"{MANY:,} files of 1,000 elements", {"clipper": f"{CLIP} --output-dir out-{{n}} many/*.npy", "cp": "cp -r many out-{n}"},
        size=MANY * SMALL),
    Row("in place, nothing changes", {"clipper": f"{CLIP} --in-place inside.npy", "cp": "cp inside.npy out.npy"}),
    Row("new file, float16", {"clipper": f"{CLIP} half.npy out.npy", "cp": "cp half.npy out.npy",
                              "numpy in blocks": f"{PYTHON} blocks half.npy out.npy"}),
    Row("scale, bias and clip", {"clipper": "clipper --scale 0.5 --bias 1 --min 0 --max 6 x.npy out.npy", "cp": "cp x.npy out.npy"}),
    Row("float32 to uint8", {"clipper": f"{CLIP} --to uint8 --round half-even x.npy out.npy", "cp": "cp x.npy out.npy"}),
    Row("uint8 to float32", {"clipper": f"{CLIP} --to float32 uint8.npy out.npy", "cp of the result": "cp x.npy out.npy"}, SIZE // 4),
    Row("uint16, 1% to 99% to 0:255", {"clipper": "clipper --min 1% --max 99% --stretch 0:255 --to uint8 uint16.npy out.npy",
                                       "numpy": f"{PYTHON} stretch uint16.npy out.npy"}, SIZE // 2),
    Row("to a pipe", {"clipper": f"{CLIP} x.npy - | cat >/dev/null", "cp": "cat x.npy | cat >/dev/null"}),
    beside_numbers("(C,1,1)", "images"),
    beside_numbers("(3,)", "pixels"),
    beside_numbers("the tensor", "rows"),
    Row("percentiles as bounds", {"clipper": "clipper --min 1% --max 99% x.npy out.npy", "numbers as bounds": f"{CLIP} x.npy out.npy"}),
    Row("percentiles", {"clipper": "clipper info --percentile 1,50,99 x.npy", "numpy": f"{PYTHON} percentiles x.npy"}),
    Row("stored archive", {"clipper": f"{CLIP} stored.npz out.npz", "cp": "cp stored.npz out.npz",
                           "numpy": f"{PYTHON} savez stored.npz out.npz"}),
    Row("compressed archive", {"clipper": f"{CLIP} deflated.npz out.npz", "numpy": f"{PYTHON} savez_compressed deflated.npz out.npz"},
        SIZE // DEFLATED),
)

SPARSE = 4 << 30  # bytes of a file without blocks
MEMORY = (
    *(f"{CLIP} --threads {threads} {files}" for threads in (2, 16) for files in ("sparse.npy /dev/null", "--in-place sparse.npy")),
    "clipper --min @lo-rows.npy --max @hi-rows.npy rows.npy out.npy",
    "clipper info --percentile 1,50,99 x.npy",
    f"{CLIP} deflated.npz out.npz",
)


def write_tensor(path, dtype, shape, low, high):
    random = np.random.default_rng(1)
    elements = np.lib.format.open_memmap(path, "w+", dtype, shape).reshape(-1)
    for start in range(0, elements.size, BLOCK):
        block = elements[start : start + BLOCK]
        block[:] = random.random(block.size, np.float32) * (high - low) + low


def write_archives():
    """Elements of the compressed archive have two decimals, like many measurements; np.savez_compressed halves them."""
    members = np.load("x.npy", mmap_mode="r").reshape(8, -1)
    np.savez("stored.npz", *members)
    np.savez_compressed("deflated.npz", *members[:, : members.shape[1] // DEFLATED].round(2))


def write_inputs(lines):
    """Writes what the lines name, if it is not there."""
    text = " ".join(lines)
    for name, about in INPUTS.items():
        path = Path(f"{name}.npy")
        if not path.exists() and (f"{name}.npy" in text or name == "x" and ".npz" in text or name == "small" and "many" in text):
            write_tensor(path, *about)
    if ".npz" in text and not Path("stored.npz").exists():
        write_archives()
    if "many" in text and not Path("many").exists():
        Path("many").mkdir()
        for i in range(MANY):
            Path(f"many/{i}.npy").write_bytes(Path("small.npy").read_bytes())
    if "sparse" in text:
        with open("sparse.npy", "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (SPARSE // 4,)})
            file.truncate(file.tell() + SPARSE)
