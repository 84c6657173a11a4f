"""Measures whole processes: hyperfine measures time, time(1) memory."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BACKED = 4 << 30  # bytes: as much as the numpy script uses for 1 GiB
SCRIPT = f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).with_name('numpy_script.py')))}"


@dataclass(frozen=True)
class Command:
    name: str
    line: str


def in_shell(text):
    return f"sh -c {shlex.quote(text)}"


def hyperfine(*arguments):
    """The wall time and the CPU time of one run of each command, in seconds."""
    done = subprocess.run(["hyperfine", "--shell=none", "--style=none", "--runs=1", "--export-json=times.json", *arguments],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    results = json.loads(Path("times.json").read_text())["results"]
    return [(result["median"], result["user"] + result["system"]) for result in results]


def warm(*paths):
    """Reads the files into the page cache."""
    subprocess.run(["cat", *paths], check=True, stdout=subprocess.DEVNULL)


# Allocates memory and frees it. A virtual machine's host backs memory when it is first used, twenty times slower than memory
# is used again, and takes it back some seconds after the last use. Without this, that time hits any of the commands.
BACK_MEMORY = shlex.join([sys.executable, "-c", f"import mmap; mmap.mmap(-1, {BACKED}, mmap.MAP_PRIVATE | "
                                                "mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)"])


def take_turns(commands, i, inputs, samples):
    """Runs each command once; every second round in reverse order. Before each command, removes the last output and syncs, so
    that no command waits for another's writes."""
    warm(*inputs)
    row = commands[:: -1 if i % 2 else 1]
    settle = ("--prepare", in_shell(f"rm -f out.npy out.npz tmpfs/out.npy; sync; {BACK_MEMORY}"))
    times = hyperfine(*(word for command in row for word in (*settle, command.line)))
    for command, (seconds, cpu) in zip(row, times, strict=True):
        samples[command.name].append(seconds)
        samples[f"CPU {command.name}"].append(cpu)


def peak_memory(line):
    """Peak resident memory in MiB, by time(1): a direct child of this process would start with this process's memory."""
    subprocess.run(["time", "--format=%M", "--output=memory", *shlex.split(line)], check=True, stdout=subprocess.DEVNULL)
    return int(Path("memory").read_text()) / 1024


@contextmanager
def scratch_directory(parent, size):
    """Changes to a temporary directory below `parent`, for files of `size` bytes in total."""
    if shutil.disk_usage(parent).free < size:
        sys.exit(f"bench: {parent} needs {size >> 20} MiB of free space; use --dir or --quick")
    with tempfile.TemporaryDirectory(prefix="bench-", dir=parent) as scratch:
        before = os.getcwd()
        os.chdir(scratch)
        try:
            yield
        finally:
            os.chdir(before)
