#!/usr/bin/env python3
"""What shards cost: bytes moved, syncs and metadata calls by formula, and as strace counts them with all shards one after the other
and at once; and the time, to that of one process. Prints Markdown.

    cost.py CLIPPER [--mib 64] [--files 500] [--rounds 5] [--directory DIR]
"""

import argparse
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

COUNTS = (1, 2, 4, 8, 16)
PREDICTED = 1000
OPERATION = ("--min", "0", "--max", "6")
READS, WRITES = {"read", "pread64", "preadv"}, {"write", "pwrite64", "pwritev"}
SYNCS, FREE = {"fsync", "fdatasync", "syncfs"}, {"close", "fcntl", "mmap", "munmap", "getdents64", "fadvise64", "lseek"}
HEADER = 128
FILE = 1 << 12  # bytes of data of one of many files


def formula_of_one(shards: int, size: int) -> dict[str, int]:
    """A tensor of `size` bytes. A shard's listing sees the markers so far. At once several may end the run, each with a sync and by
    removing what all have left."""
    return {"bytes read": size + shards * HEADER, "bytes written": size + HEADER, "syncs": shards + 3,
            "metadata calls": 27 * shards + 25, "directory entries": shards * (shards + 9) // 2 + 4}


def formula_of_many(shards: int, files: int) -> dict[str, int]:
    """Every process looks at all files before it does its own."""
    return {"bytes read": files * (FILE + 2 * HEADER), "bytes written": files * (FILE + HEADER), "syncs": 0,
            "metadata calls": 3 * shards * files + 11 * files + 6 * shards + 3}


def write_tensor(path: Path, size: int) -> None:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({size // 4},), }}".encode()
    header = b"\x93NUMPY\x01\x00" + struct.pack("<H", HEADER - 10) + text.ljust(HEADER - 11) + b"\n"
    path.write_bytes(header + random.Random(1).randbytes(size))


def all_at_once(commands: list[list]) -> None:
    processes = [subprocess.Popen(command, stdin=subprocess.DEVNULL) for command in commands]
    if any([process.wait() for process in processes]):
        sys.exit("a shard failed")


def shards_of(clipper: Path, shards: int, words: list) -> list[list]:
    return [[clipper, "--threads", "1", "--shard", f"{shard}/{shards}", *OPERATION, *words] for shard in range(shards)]


def measured(commands: list[list], directory: Path, at_once: bool) -> Counter:
    """Of all calls that name a file in the directory, or have it open. What they have made is removed."""
    logs = [directory.parent / f"log.{i}" for i in range(len(commands))]
    traced = [["strace", "-f", "-y", "-s", "0", "-o", log, *command] for log, command in zip(logs, commands)]
    for group in [traced] if at_once else [[command] for command in traced]:
        all_at_once(group)
    for path in directory.glob("out*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    total = Counter()
    for line in "".join(log.read_text() for log in logs).splitlines():
        match = re.match(r"\d+ +(\w+)\((.*)\) += (-?\d+)", line)
        if not match or str(directory) not in match[2]:
            continue
        call, result = match[1], int(match[3])
        if call in READS:
            total["bytes read"] += result
        elif call in WRITES:
            total["bytes written"] += result
        elif call in SYNCS:
            total["syncs"] += 1
        elif call == "getdents64":
            total["directory entries"] += int(re.search(r"(\d+) entries", match[2])[1]) if result > 0 else 0
        elif call not in FREE:
            total["metadata calls"] += 1
    return total


@dataclass(frozen=True)
class Row:
    shards: int
    formula: dict[str, int]
    found: tuple[Counter, ...] = ()  # one after the other, at once

    def cell(self, name: str) -> str:
        return " / ".join(f"{counts[name]:,}" for counts in (self.formula, *self.found))


def row(shards: int, formula: dict[str, int], commands: list[list], directory: Path) -> Row:
    return Row(shards, formula, tuple(measured(commands, directory, at_once) for at_once in (False, True)))


def print_table(rows: list[Row], times: dict[int, float]) -> None:
    names = list(rows[0].formula)
    head = ["shards", *names, *(["time"] if times else [])]
    print("| " + " | ".join(head) + " |\n|" + " ---: |" * len(head))
    for each in rows:
        seconds = [f"{times[each.shards]:.2f}" if each.shards in times else ""] if times else []
        print("| " + " | ".join([f"{each.shards:,}", *map(each.cell, names), *seconds]) + " |")


def times_of_one(clipper: Path, directory: Path, rounds: int) -> dict[int, float]:
    """Of all shards, to those of one process that syncs its output, too. The least of all rounds."""
    source, out = directory / "in.npy", directory / "out.npy"
    runs = {0: [[clipper, "--threads", "1", "--sync", *OPERATION, source, out]]}
    runs |= {shards: shards_of(clipper, shards, [source, out]) for shards in COUNTS}
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for shards, commands in runs.items():
            out.unlink(missing_ok=True)
            start = time.monotonic()
            all_at_once(commands)
            least[shards] = min(least[shards], time.monotonic() - start)
    return {shards: least[shards] / least[0] for shards in COUNTS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clipper", type=lambda text: Path(text).resolve())
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--directory", help="where the files are (default: the system's)")
    arguments = parser.parse_args()
    clipper, size, files = arguments.clipper, arguments.mib << 20, arguments.files
    with tempfile.TemporaryDirectory(dir=arguments.directory) as scratch:
        directory = Path(scratch).resolve() / "files"
        directory.mkdir()
        write_tensor(directory / "in.npy", size)
        source, inputs = directory / "in.npy", [directory / f"{i}.npy" for i in range(files)]
        write_tensor(source, size)
        one = [row(shards, formula_of_one(shards, size), shards_of(clipper, shards, [source, directory / "out.npy"]), directory)
               for shards in COUNTS]
        times = times_of_one(clipper, directory, arguments.rounds)
        for path in inputs:
            write_tensor(path, FILE)
        many = [row(shards, formula_of_many(shards, files),
                    shards_of(clipper, shards, ["--output-dir", directory / "out", *inputs]), directory) for shards in COUNTS]
    print(f"A tensor of {arguments.mib} MiB: formula / one after the other / at once. Time: of one process's, with --sync.\n")
    print_table([*one, Row(PREDICTED, formula_of_one(PREDICTED, size))], times)
    print(f"\n{files} tensors of {FILE} bytes: formula / one after the other / at once.\n")
    print_table([*many, Row(PREDICTED, formula_of_many(PREDICTED, files))], {})


if __name__ == "__main__":
    main()
