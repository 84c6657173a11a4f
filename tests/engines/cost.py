#!/usr/bin/env python3
"""Measures what shards cost. Bytes, syncs and metadata calls: a formula, and what strace counts for shards one after the other,
for shards at once, and for --finalize. Time: relative to one process. Prints Markdown; exits with 1 if a formula is wrong.

    cost.py CLIPPER [--mib 64] [--files 500] [--rounds 9] [--timed-mib 1024] [--directory DIR]
"""

import argparse
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "faults"))
from modes import header  # noqa: E402

COUNTS = (1, 2, 4, 8, 16)
MANY = 1000
TIMED = 8  # shards whose time is measured
OPERATION = ("--min", "0", "--max", "6")
READS, WRITES = {"read", "pread64", "preadv"}, {"write", "pwrite64", "pwritev"}
SYNCS, FREE = {"fsync", "fdatasync", "syncfs"}, {"close", "fcntl", "mmap", "munmap", "fadvise64", "lseek", "sync_file_range"}
TEXT = re.compile(r"\.(shards|done)(\.clipper-[0-9a-f]{16})?>|/#\d+>")  # shard files, also while they have no name
HEADER = 128
START, SAMPLES = 8 << 10, 15 << 12  # bytes that clipper reads when it opens the input, and samples to recognize it
AGE = 4  # seconds after which clipper no longer asks whether a file may have changed in the current tick of a clock
FILE = 1 << 12  # bytes of data in each file if there are many
BYTES_READ, BYTES_WRITTEN, SYNCED, METADATA = NAMES = ("bytes read", "bytes written", "syncs", "metadata calls")


def write_tensor(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.write(header("<f4", (size // 4,)))
        for left in range(size, 0, -(1 << 20)):
            file.write(random.randbytes(min(left, 1 << 20)))


def all_at_once(commands: list[list]) -> None:
    processes = [subprocess.Popen(command, stdin=subprocess.DEVNULL) for command in commands]
    if any([process.wait() for process in processes]):
        sys.exit("a shard failed")


def shards_of(clipper: Path, shards: int, words: list) -> list[list]:
    return [[clipper, "--threads", "1", "--shard", f"{shard}/{shards}", *OPERATION, *words] for shard in range(shards)]


def measured(commands: list[list], directory: Path, at_once: bool = False, texts: bool = True) -> Counter:
    """Counts the calls on files in the directory. With `texts`, reading or writing a shard's text file counts as metadata call."""
    logs = [directory.parent / f"log.{i}" for i in range(len(commands))]
    traced = [["strace", "-f", "-y", "-s", "0", "-o", log, *command] for log, command in zip(logs, commands)]
    for group in [traced] if at_once else [[command] for command in traced]:
        all_at_once(group)
    total = Counter()
    for line in "".join(log.read_text() for log in logs).splitlines():
        match = re.match(r"\d+ +(\w+)\((.*)\) += (-?\d+)", line)
        if not match or str(directory) not in match[2] or match[1] in FREE:
            continue
        call, is_text = match[1], texts and TEXT.search(match[2])
        if call in READS and not is_text:
            total[BYTES_READ] += int(match[3])
        elif call in WRITES and not is_text:
            total[BYTES_WRITTEN] += int(match[3])
        elif call in SYNCS:
            total[SYNCED] += 1
        else:
            total[METADATA] += 1
    return total


@dataclass(frozen=True)
class Row:
    what: str
    count: int
    formula: dict[str, int]
    found: tuple[Counter, ...]  # shards one after the other, then at once

    def cell(self, name: str) -> str:
        return " / ".join(f"{counts[name]:,}" for counts in (self.formula, *self.found))

    @property
    def is_right(self) -> bool:
        """Ignores shards at once, because some of them repeat what others have done."""
        return all(self.formula[name] == self.found[0][name] for name in NAMES)


def print_table(rows: list[Row]) -> bool:
    """Prints the rows and returns whether every formula is right."""
    print("| | N | " + " | ".join(NAMES) + " |\n|---|" + " ---: |" * (len(NAMES) + 1))
    for row in rows:
        print(f"| {row.what} | {row.count:,} | " + " | ".join(map(row.cell, NAMES)) + " |")
    return all(row.is_right for row in rows)


def clean(directory: Path) -> None:
    for path in directory.glob("out*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def rows_of_one(clipper: Path, directory: Path, size: int) -> list[Row]:
    """The rows of one tensor of `size` bytes: its shards, and --finalize."""
    rows, source, out = [], directory / "in.npy", directory / "out.npy"
    for count in (*COUNTS, MANY):
        commands, finalize = shards_of(clipper, count, [source, out]), [[clipper, "--finalize", "--threads", "1", out]]
        found = [measured(commands, directory)]
        joined = measured(finalize, directory)
        clean(directory)
        if count != MANY:
            found.append(measured(commands, directory, at_once=True))
            clean(directory)
        rows += [Row("shards", count, shards_formula(count, size), tuple(found)),
                 Row("--finalize", count, finalize_formula(count, size), (joined,))]
    return rows


def rows_of_many(clipper: Path, directory: Path, files: int) -> list[Row]:
    rows, inputs = [], [directory / f"{i}.npy" for i in range(files)]
    for path in inputs:
        write_tensor(path, FILE)
    time.sleep(AGE)
    for count in COUNTS:
        commands, found = shards_of(clipper, count, ["--flat", "-f", "--output-dir", directory / "out", *inputs]), []
        for at_once in (False, True):
            found.append(measured(commands, directory, at_once, texts=False))
            clean(directory)
        rows.append(Row("many files", count, formula_of_many(count, files), tuple(found)))
    return rows


def shards_formula(shards: int, size: int) -> dict[str, int]:
    """For a file system of one machine. Parts have at least 1 MiB; empty parts need fewer calls."""
    empty = max(0, shards - (size >> 20))
    return {BYTES_READ: size + shards * (START + SAMPLES), BYTES_WRITTEN: size + HEADER, SYNCED: 2 * shards + 1,
            METADATA: 42 * shards - 2 * empty}


def finalize_formula(shards: int, size: int) -> dict[str, int]:
    return {BYTES_READ: size + HEADER, BYTES_WRITTEN: 0, SYNCED: 3, METADATA: 7 * shards + 81}


def formula_of_many(shards: int, files: int) -> dict[str, int]:
    """Every process looks at all files before it clips its share of them."""
    return {BYTES_READ: 2 * files * (FILE + HEADER), BYTES_WRITTEN: files * (FILE + HEADER), SYNCED: 0,
            METADATA: 3 * shards * files + 7 * files + 3 * shards + 4}


def timed(commands: list[list]) -> float:
    start = time.monotonic()
    all_at_once(commands)
    return time.monotonic() - start


def timed_round(clipper: Path, source: Path, out: Path) -> tuple[float, float, float]:
    """The times of one process with all cores, of shards at once with one thread each, and of --finalize with all cores."""
    seconds = []
    for commands in ([[clipper, "--sync", *OPERATION, source, out]], shards_of(clipper, TIMED, [source, out]), [[clipper, "--finalize", out]]):
        if "--finalize" not in commands[0]:
            out.unlink(missing_ok=True)
            os.sync()
        seconds.append(timed(commands))
    return tuple(seconds)


def print_times(clipper: Path, directory: Path, rounds: int) -> None:
    times = [timed_round(clipper, directory / "in.npy", directory / "out.npy") for _ in range(rounds)]
    clean(directory)
    for name, of in (("minimum", min), ("median", statistics.median)):
        alone, shards, finalize = (of(seconds) for seconds in zip(*times))
        ratio = of((shards + finalize) / alone for alone, shards, finalize in times)
        print(f"{name} of {rounds} rounds: one process with --sync {alone:.2f} s, {TIMED} shards {shards:.2f} s, --finalize {finalize:.2f} s; "
              f"ratio {ratio:.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clipper", type=lambda text: Path(text).resolve(), help="the clipper to measure")
    parser.add_argument("--mib", type=int, default=64, help="size of the tensor whose calls are counted; 0: count no calls (default: 64)")
    parser.add_argument("--files", type=int, default=500, help="number of small tensors whose calls are counted (default: 500)")
    parser.add_argument("--rounds", type=int, default=9, help="how often times are measured (default: 9)")
    parser.add_argument("--timed-mib", type=int, default=1024, help="size of the tensor whose time is measured (default: 1024)")
    parser.add_argument("--directory", help="where the tensors are (default: the directory for temporary files)")
    arguments = parser.parse_args()
    clipper, size = arguments.clipper, arguments.mib << 20
    with tempfile.TemporaryDirectory(dir=arguments.directory) as scratch:
        directory = Path(scratch).resolve() / "files"
        directory.mkdir()
        is_right = True
        if size:
            write_tensor(directory / "in.npy", size)
            time.sleep(AGE)
            print(f"A tensor of {arguments.mib} MiB: formula / shards one after the other / shards at once.\n")
            is_right = print_table(rows_of_one(clipper, directory, size))
            print(f"\n{arguments.files} tensors of {FILE} bytes: formula / shards one after the other / shards at once.\n")
            is_right &= print_table(rows_of_many(clipper, directory, arguments.files))
        if arguments.rounds:
            write_tensor(directory / "in.npy", arguments.timed_mib << 20)
            print(f"\n{arguments.timed_mib} MiB:\n")
            print_times(clipper, directory, arguments.rounds)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
