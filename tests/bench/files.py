"""Measures clips to numbers as bounds: every round runs every command once, in turn."""

import os
import shlex
import shutil
import sys
from statistics import median

import numpy as np

from processes import SCRIPT, Command, hyperfine, in_shell, peak_memory, scratch_directory, take_turns, warm

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


def write_sparse(path, size):
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": ((size - HEADER) // 4,)})
        assert file.tell() == HEADER
        file.truncate(size)


def write_inputs(size):
    write_tensor("float32.npy", np.float32, (size // 4,), -10, 10)
    write_tensor("float16.npy", np.float16, (size // 2,), -10, 10)
    write_tensor("inside.npy", np.float32, (size // 4,), 0, 6)
    write_tensor("small.npy", np.float32, (SMALL,), -10, 10)
    shutil.copy("float32.npy", "old-cp.npy")
    shutil.copy("float32.npy", "old-clipper.npy")
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
        Command("cp -r, many files", f"cp -r many cp-{i}"),
        Command("clipper, many files", in_shell(f"exec {clip} --output-dir clipper-{i} many/*.npy")),
    ]


def measure_small(clipper, i, samples):
    """Runs cp and clipper in turn, each with a new output file."""
    warm("small.npy")
    os.sync()
    scan = ("--parameter-scan", "n", str(i * SMALL_RUNS), str((i + 1) * SMALL_RUNS - 1))
    times = hyperfine(*scan, "cp small.npy small/cp-{n}.npy", f"{clipper} --min 0 --max 6 small.npy small/clipper-{{n}}.npy")
    for name, runs in (("cp", times[::2]), ("clipper", times[1::2])):
        seconds, cpu = (median(figures) for figures in zip(*runs, strict=True))
        samples[f"{name}, 1,000 elements"].append(seconds)
        samples[f"CPU {name}, 1,000 elements"].append(cpu)


def measure_times(clipper, rounds, samples):
    for i in range(rounds):
        print(f"bench: whole processes, round {i + 1} of {rounds}", file=sys.stderr)
        take_turns(commands(clipper, i), i, ("float32.npy", "float16.npy", "inside.npy"), samples)
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
    with scratch_directory(directory, 9 * size):
        write_inputs(size)
        clipper = shlex.quote(str(clipper))
        measure_times(clipper, rounds, samples)
        measure_memory(clipper, 16 << 30, samples)
