"""Measures clips to numbers as bounds: every round runs every command once, in turn."""

import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

from processes import SCRIPT, Command, hyperfine, in_shell, peak_memory, scratch_directory, take_turns, warm
from targets import DTYPES

SMALL, SMALL_RUNS = 1000, 300  # elements; runs of each command in a round
MANY, MANY_BYTES = 10_000, 4096
HEADER = 128  # bytes of the header that numpy writes
BLOCK = 4 << 20  # elements that are generated at a time


def write_tensor(path, dtype, shape, low, high):
    random = np.random.default_rng(1)
    array = np.lib.format.open_memmap(path, "w+", dtype, shape)
    elements = array.reshape(-1)
    for start in range(0, elements.size, BLOCK):
        block = elements[start : start + BLOCK]
        block[:] = random.random(block.size, np.float32) * (high - low) + low
    array.flush()


def write_header(file, dtype, size):
    """Writes the header of `size` bytes of elements."""
    kind = np.dtype("V2" if dtype == "bfloat16" else dtype)
    np.lib.format.write_array_header_1_0(file, {"descr": kind.str, "fortran_order": False, "shape": (size // kind.itemsize,)})
    assert file.tell() == HEADER


def write_sparse(path, size):
    with open(path, "wb") as file:
        write_header(file, "float32", size - HEADER)
        file.truncate(size)


def write_inputs(size):
    write_tensor("float32.npy", np.float32, (size // 4,), -10, 10)
    write_tensor("float16.npy", np.float16, (size // 2,), -10, 10)
    write_tensor("inside.npy", np.float32, (size // 4,), 0, 6)
    write_tensor("bytes.npy", np.uint8, (size // 4,), 0, 256)
    write_tensor("uint16.npy", np.uint16, (size // 4,), 0, 65536)
    write_tensor("small.npy", np.float32, (SMALL,), -10, 10)
    shutil.copy("float32.npy", "old-cp.npy")
    shutil.copy("float32.npy", "old-clipper.npy")
    for name in ("float32", "float16"):
        shutil.copy(f"{name}.npy", f"scaled-{name}.npy")
    os.mkdir("small")
    os.mkdir("many")
    write_tensor("many/0.npy", np.float32, ((MANY_BYTES - HEADER) // 4,), -10, 10)
    for i in range(1, MANY):
        shutil.copyfile("many/0.npy", f"many/{i}.npy")


def commands(clipper, i):
    """The commands of round `i`. Each round writes the many files to a new directory: after many files were deleted, ext4
    without a journal needs 0.3 ms to find a free inode."""
    clip = f"{clipper} --min 0 --max 6"
    return [
        Command("cp", "cp float32.npy out.npy"),
        Command("clipper", f"{clip} float32.npy out.npy"),
        Command("clipper in place, nothing changes", f"{clip} --in-place inside.npy"),
        Command("numpy script", f"{SCRIPT} clip float32.npy out.npy"),
        Command("numpy script, float16", f"{SCRIPT} clip float16.npy out.npy"),
        Command("clipper, float16", f"{clip} float16.npy out.npy"),
        Command("cp over a file", "cp float32.npy old-cp.npy"),
        Command("clipper over a file", f"{clip} float32.npy old-clipper.npy"),
        Command("cat | cat", in_shell("cat float32.npy | cat > out.npy")),
        Command("cat | clipper", in_shell(f"cat float32.npy | {clip} - - > out.npy")),
        Command("cat to /dev/null", in_shell("cat float32.npy > /dev/null")),
        Command("clipper to /dev/null", f"{clip} float32.npy /dev/null"),
        Command("cat | cat to /dev/null", in_shell("cat float32.npy | cat > /dev/null")),
        Command("clipper | cat", in_shell(f"{clip} float32.npy - | cat > /dev/null")),
        Command("cat | cat | cat", in_shell("cat float32.npy | cat | cat > /dev/null")),
        Command("cat | clipper | cat", in_shell(f"cat float32.npy | {clip} - - | cat > /dev/null")),
        Command("clipper, float32 to uint8", f"{clip} --to uint8 --round half-even float32.npy out.npy"),
        Command("clipper, uint8 to float32", f"{clip} --to float32 bytes.npy out.npy"),
        Command("clipper, uint16 stretched to uint8", f"{clipper} --min 1% --max 99% --stretch 0:255 --to uint8 uint16.npy out.npy"),
        Command("numpy script, uint16 stretched to uint8", f"{SCRIPT} stretch uint16.npy out.npy"),
        Command("cp to tmpfs", "cp float32.npy tmpfs/out.npy"),
        Command("clipper to tmpfs", f"{clip} float32.npy tmpfs/out.npy"),
        Command("cp -r, many files", f"cp -r many cp-{i}"),
        Command("clipper, many files", in_shell(f"exec {clip} --output-dir clipper-{i} many/*.npy")),
    ]


def measure_small(clipper, i, samples):
    """Runs cp, clipper and, if scripts/package has built it, the static program in turn, each with a new output file. A copy of clipper,
    as an installed one is: what a linker has written lies in smaller pieces in the page cache, and starts 7 % slower."""
    warm("small.npy")
    os.sync()
    scan = ("--parameter-scan", "n", str(i * SMALL_RUNS), str((i + 1) * SMALL_RUNS - 1))
    programs = {"cp": "cp", "clipper": f"{Path(shutil.copy(clipper, 'copy-of-clipper')).absolute()} --min 0 --max 6"}
    static = Path(clipper).parent / "static/clipper"
    if static.exists():
        programs["static clipper"] = f"{static} --min 0 --max 6"
    commands = (f"{program} small.npy 'small/{name}-{{n}}.npy'" for name, program in programs.items())
    times = hyperfine(*scan, *commands)
    for place, name in enumerate(programs):
        seconds, cpu = (median(figures) for figures in zip(*times[place::len(programs)], strict=True))
        samples[f"{name}, 1,000 elements"].append(seconds)
        samples[f"CPU {name}, 1,000 elements"].append(cpu)


def measure_scaled(clipper, i, samples):
    """Scales and clips the same bytes as each dtype. The bits of float16 and float32 are numbers in the other float dtypes, too:
    subnormal numbers, which take the CPU more time, would be rare in a user's file."""
    for dtype in DTYPES:
        path = Path(f"scaled-{'float16' if dtype.endswith('float16') else 'float32'}.npy")
        with path.open("r+b") as file:
            write_header(file, dtype, path.stat().st_size - HEADER)
        option = " --dtype bfloat16" if dtype == "bfloat16" else ""
        row = [Command(f"cp, {dtype}", f"cp {path} out.npy"),
               Command(f"clipper, scale and bias of {dtype}",
                       f"{clipper}{option} --scale 0.5 --bias 1 --min 0 --max 6 {path} out.npy")]
        take_turns(row, i, (path,), samples)


def measure_times(clipper, rounds, samples):
    for i in range(rounds):
        print(f"bench: whole processes, round {i + 1} of {rounds}", file=sys.stderr)
        take_turns(commands(clipper, i), i, ("float32.npy", "float16.npy", "inside.npy", "bytes.npy", "uint16.npy"), samples)
        measure_scaled(clipper, i, samples)
        measure_small(clipper, i, samples)


def measure_memory(clipper, size, samples):
    write_sparse("sparse.npy", size)
    for threads in (2, 16):
        for name, files in (("to /dev/null", "sparse.npy /dev/null"), ("in place", "--in-place sparse.npy")):
            print(f"bench: memory, {threads} threads, {name}", file=sys.stderr)
            memory = peak_memory(f"{clipper} --min 0 --max 6 --threads {threads} {files}")
            samples[f"MiB {name}, {threads} threads"].append(memory)


def measure(clipper, directory, size, rounds, samples):
    """Measures with tensors of `size` bytes in a temporary directory below `directory`."""
    with scratch_directory(directory, 12 * size), tempfile.TemporaryDirectory(prefix="bench-", dir="/dev/shm") as tmpfs:
        os.symlink(tmpfs, "tmpfs")
        write_inputs(size)
        clipper = shlex.quote(str(clipper))
        measure_times(clipper, rounds, samples)
        measure_memory(clipper, 16 << 30, samples)
