"""Measures whole processes: hyperfine measures time, time(1) memory. Every round runs every command once, in turn."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

SMALL, SMALL_RUNS = 1000, 300  # elements; runs of each command in a round
MANY, MANY_BYTES = 10_000, 4096
HEADER = 128  # bytes of the header that numpy writes
BLOCK = 4 << 20  # elements that are generated at a time


@dataclass(frozen=True)
class Command:
    name: str
    line: str


def in_shell(text):
    return f"sh -c {shlex.quote(text)}"


def write_tensor(path, dtype, elements, low, high):
    random = np.random.default_rng(1)
    array = np.lib.format.open_memmap(path, "w+", dtype, (elements,))
    for start in range(0, elements, BLOCK):
        block = array[start : start + BLOCK]
        block[:] = random.random(block.size, np.float32) * (high - low) + low
    array.flush()


def write_sparse(path, size):
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": ((size - HEADER) // 4,)})
        assert file.tell() == HEADER
        file.truncate(size)


def write_inputs(size):
    write_tensor("float32.npy", np.float32, size // 4, -10, 10)
    write_tensor("float16.npy", np.float16, size // 2, -10, 10)
    write_tensor("inside.npy", np.float32, size // 4, 0, 6)
    write_tensor("small.npy", np.float32, SMALL, -10, 10)
    shutil.copy("float32.npy", "old-cp.npy")
    shutil.copy("float32.npy", "old-clipper.npy")
    os.mkdir("small")
    os.mkdir("many")
    write_tensor("many/0.npy", np.float32, (MANY_BYTES - HEADER) // 4, -10, 10)
    for i in range(1, MANY):
        shutil.copyfile("many/0.npy", f"many/{i}.npy")


def commands(clipper, i):
    """The commands of round `i`. Each round writes the many files to a new directory: after many files were deleted, ext4
    without a journal needs 0.3 ms to find a free inode."""
    clip = f"{clipper} --min 0 --max 6"
    script = f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).with_name('numpy_script.py')))}"
    return [
        Command("cp", "cp float32.npy out.npy"),
        Command("clipper", f"{clip} float32.npy out.npy"),
        Command("clipper in place, nothing changes", f"{clip} --in-place inside.npy"),
        Command("numpy script", f"{script} float32.npy out.npy"),
        Command("numpy script, float16", f"{script} float16.npy out.npy"),
        Command("clipper, float16", f"{clip} float16.npy out.npy"),
        Command("cp over a file", "cp float32.npy old-cp.npy"),
        Command("clipper over a file", f"{clip} float32.npy old-clipper.npy"),
        Command("cat | cat", in_shell("cat float32.npy | cat > out.npy")),
        Command("cat | clipper", in_shell(f"cat float32.npy | {clip} - - > out.npy")),
        Command("cp -r, many files", f"cp -r many cp-{i}"),
        Command("clipper, many files", in_shell(f"exec {clip} --output-dir clipper-{i} many/*.npy")),
    ]


def hyperfine(*arguments):
    """The time of one run of each command, in seconds."""
    done = subprocess.run(["hyperfine", "--shell=none", "--style=none", "--runs=1", "--export-json=times.json", *arguments],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return [result["median"] for result in json.loads(Path("times.json").read_text())["results"]]


def warm(*paths):
    """Reads the files into the page cache."""
    subprocess.run(["cat", *paths], check=True, stdout=subprocess.DEVNULL)


def measure_large(clipper, i, samples):
    """Before each command, removes the last output and syncs, so that no command waits for another's writes."""
    warm("float32.npy", "float16.npy", "inside.npy")
    row = commands(clipper, i)[:: -1 if i % 2 else 1]
    settle = ("--prepare", in_shell("rm -f out.npy; sync"))
    times = hyperfine(*(word for command in row for word in (*settle, command.line)))
    for command, seconds in zip(row, times, strict=True):
        samples[command.name].append(seconds)


def measure_small(clipper, i, samples):
    """Runs cp and clipper in turn, each with a new output file."""
    warm("small.npy")
    os.sync()
    scan = ("--parameter-scan", "n", str(i * SMALL_RUNS), str((i + 1) * SMALL_RUNS - 1))
    times = hyperfine(*scan, "cp small.npy small/cp-{n}.npy", f"{clipper} --min 0 --max 6 small.npy small/clipper-{{n}}.npy")
    samples["cp, 1,000 elements"].append(median(times[::2]))
    samples["clipper, 1,000 elements"].append(median(times[1::2]))


def measure_times(clipper, rounds, samples):
    for i in range(rounds):
        print(f"bench: whole processes, round {i + 1} of {rounds}", file=sys.stderr)
        measure_large(clipper, i, samples)
        measure_small(clipper, i, samples)


def measure_memory(clipper, size, samples):
    """Peak resident memory, by time(1): a direct child of this process would start with this process's memory."""
    write_sparse("sparse.npy", size)
    clip = [*shlex.split(clipper), "--min", "0", "--max", "6"]
    for threads in (2, 16):
        for name, files in (("to /dev/null", ["sparse.npy", "/dev/null"]), ("in place", ["--in-place", "sparse.npy"])):
            print(f"bench: memory, {threads} threads, {name}", file=sys.stderr)
            subprocess.run(["time", "--format=%M", "--output=memory", *clip, "--threads", str(threads), *files], check=True)
            samples[f"MiB {name}, {threads} threads"].append(int(Path("memory").read_text()) / 1024)


def measure(clipper, directory, size, rounds, samples):
    """Measures with tensors of `size` bytes in a temporary directory below `directory`."""
    if shutil.disk_usage(directory).free < 9 * size:
        sys.exit(f"bench: {directory} needs {9 * size >> 20} MiB of free space; use --dir or --quick")
    with tempfile.TemporaryDirectory(prefix="bench-", dir=directory) as scratch:
        before = os.getcwd()
        os.chdir(scratch)
        try:
            write_inputs(size)
            clipper = shlex.quote(str(clipper))
            measure_times(clipper, rounds, samples)
            measure_memory(clipper, 16 << 30, samples)
        finally:
            os.chdir(before)
