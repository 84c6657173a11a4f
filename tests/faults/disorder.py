#!/usr/bin/env python3
"""Simulates power cuts after which the disk has only some of the unsynced writes. Prints a row of figures as JSON.

strace logs the writes of a run. For a cut after N calls the script computes what must be on the disk: data after an fsync
of the file, names after an fsync of the directory. Of the unsynced data it keeps all, none, or random sectors of 512
bytes; of the unsynced names the first few, because file systems log changes of names in order.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True

import figures  # noqa: E402
from modes import UNFINISHED, VERSION_AT, Mode, archives, batches, in_place, many_files, numbers, one_file, replacement  # noqa: E402
from zip_bytes import DEFLATED  # noqa: E402

CALLS = "openat,pwrite64,pwritev,write,fsync,fdatasync,syncfs,linkat,renameat,renameat2,unlinkat,fallocate,ftruncate"
SECTOR = 512


@dataclass
class File:
    """A file's content that is certainly on the disk, and its unsynced writes."""
    disk: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes]] = field(default_factory=list)


def put(content: bytearray, offset: int, data: bytes) -> None:
    content.extend(bytes(max(0, offset + len(data) - len(content))))
    content[offset : offset + len(data)] = data


class Disk:
    """The files of one directory."""

    def __init__(self, files: dict[str, bytes]):
        self.open: dict[int, File | None] = {}  # None: the directory
        self.names = {name: File(bytearray(content)) for name, content in files.items()}
        self.synced = dict(self.names)  # the names on the disk
        self.pending: list[dict[str, File | None]] = []  # unsynced changes of names; None: removed

    def rename(self, change: dict[str, File | None]) -> None:
        self.pending.append(change)
        apply_names(self.names, change)

    def apply(self, call: str, words: list[str], result: int) -> None:
        if result < 0:
            return
        if call == "openat":
            self.open[result] = self.opened(*words[1:3])
        elif call in ("pwrite64", "pwritev"):
            data = b"".join(unhex(text) for text in words[1:-1])
            self.open[int(words[0])].pending.append((int(words[-1]), data[:result]))
        elif call in ("fsync", "fdatasync"):
            self.sync(self.open[int(words[0])])
        elif call == "syncfs":
            for file in [*self.open.values(), *self.names.values()]:
                if file:
                    self.sync(file)
        elif call == "linkat":
            source = words[0] if words[-1] == "AT_EMPTY_PATH" else base(words[1])
            self.rename({base(words[-2]): self.open[int(source)]})
        elif call in ("renameat", "renameat2"):
            comes_out = self.names[base(words[3])] if words[-1] == "RENAME_EXCHANGE" else None
            self.rename({base(words[3]): self.names[base(words[1])], base(words[1]): comes_out})
        elif call == "unlinkat":
            self.rename({base(words[1]): None})
        elif call == "fallocate":
            put(self.open[int(words[0])].disk, int(words[2]) + int(words[3]), b"")
        else:
            raise AssertionError(f"{call}: not understood")

    def opened(self, path: str, flags: str) -> File | None:
        if "O_TMPFILE" in flags:
            return File()
        if "O_DIRECTORY" in flags:
            return None
        if base(path) not in self.names:
            if "O_CREAT" not in flags:
                return File()  # a file of the operating system
            self.rename({base(path): File()})
        return self.names[base(path)]

    def sync(self, file: File | None) -> None:
        if file is None:
            for change in self.pending:
                apply_names(self.synced, change)
            self.pending.clear()
        else:
            for write in file.pending:
                put(file.disk, *write)
            file.pending.clear()

    def has_something_to_lose(self) -> bool:
        return bool(self.pending) or any(file and file.pending for file in [*self.open.values(), *self.names.values()])

    def after_power_cut(self, source: random.Random) -> dict[str, bytes]:
        names = dict(self.synced)
        for change in self.pending[: source.randint(0, len(self.pending))]:
            apply_names(names, change)
        return {name: survived(file, source) for name, file in names.items()}


def apply_names(names: dict[str, File], change: dict[str, File | None]) -> None:
    for name, file in change.items():
        if file is None:
            del names[name]
        else:
            names[name] = file


def survived(file: File, source: random.Random) -> bytes:
    content = bytearray(file.disk)
    share = source.choice((0, 0.02, 0.5, 0.98, 1))
    for offset, data in file.pending:
        end = offset + len(data)
        for start in range(offset - offset % SECTOR, end, SECTOR):
            begin, stop = max(start, offset), min(start + SECTOR, end)
            if source.random() < share:
                put(content, begin, data[begin - offset : stop - offset])
    return bytes(content)


def unhex(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", "")) if text.startswith("\\x") else text.encode()


def base(text: str) -> str:
    return unhex(text).decode().rsplit("/", 1)[-1]


def logged_calls(log: Path) -> Iterator[tuple[str, list[str], int]]:
    """Parses the log into (call, arguments, result). Strings lose their quotes, vectors their brackets."""
    for line in log.read_text().splitlines():
        match = re.fullmatch(r"(\w+)\((.*)\)\s+= (-?\d+).*", line)
        if match:
            words = re.sub(r'[\[\]{}"]|iov_base=|iov_len=\d+,? ?', "", match[2])
            yield match[1], [word for word in re.split(r", ?", words) if word], int(match[3])


def record(binary: Path, mode: Mode) -> list[tuple[str, list[str], int]]:
    for name, content in mode.before.items():
        Path(name).write_bytes(content)
    log = Path("log")
    subprocess.run(["strace", "-o", log, "-xx", "-s", str(1 << 24), "-e", f"trace={CALLS}", binary, *mode.arguments],
                   check=True, stdin=subprocess.DEVNULL)
    calls = list(logged_calls(log))
    log.unlink()
    first = next(i for i, (call, words, _) in enumerate(calls)
                 if call == "openat" and (base(words[1]) in mode.before or "O_DIRECTORY" in words[2]))
    return calls[first:]


def clear() -> None:
    for entry in os.scandir():
        os.unlink(entry)


class Checker:
    """Checks the files after a power cut. Works in the current directory."""

    def __init__(self, binary: Path, mode: Mode):
        self.binary, self.mode = binary, mode
        self.name = next(iter(mode.after))  # a direct run has only one file
        self.new = mode.after[self.name]

    def run(self) -> subprocess.CompletedProcess:
        return subprocess.run([self.binary, *self.mode.arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False)

    def violation(self, files: dict[str, bytes], complete: bool) -> str:
        """A description of a broken promise, or ""."""
        before, after = self.mode.before, self.mode.after
        if complete:
            return "" if all(files.get(name) == after[name] for name in after) else "exit 0, but the result is missing"
        if not self.mode.direct:
            whole = all(files.get(name) in (before.get(name), after[name]) for name in after)
            return "" if whole else "neither old nor new"
        present = files[self.name]
        if present[VERSION_AT] != UNFINISHED and present not in (before[self.name], self.new):
            return "a readable mixture of old and new"
        clear()
        for name, content in files.items():
            Path(name).write_bytes(content)
        run = self.run()
        again = Path(self.name).read_bytes()
        done_before = present == self.new and run.returncode == 0 and len(files) == 1  # clipped a second time
        if run.returncode != 0:
            return f"the same command: exit {run.returncode}, {run.stderr.decode().strip()}"
        return "" if done_before or again == self.new else "the same command: exit 0, but the file is not the result"


def try_mode(binary: Path, mode: Mode, runs: int, seed: int) -> tuple[int, list[str]]:
    calls = record(binary, mode)
    clear()
    checker, source = Checker(binary, mode), random.Random(seed)
    cut, violations = 0, []
    for _ in range(runs):
        count = source.randint(0, len(calls))
        disk = Disk(mode.before)
        for call in calls[:count]:
            disk.apply(*call)
        cut += disk.has_something_to_lose()
        what = checker.violation(disk.after_power_cut(source), count == len(calls))
        if what:
            violations.append(f"{mode.name}, after {count} of {len(calls)} calls: {what}")
    return cut, violations


def modes() -> list[Mode]:
    values = numbers(20_000)
    return [one_file("new, --sync", ("--sync",), values, durable=True),
            replacement("replace, --sync", ("--sync",), durable=True),
            in_place("in place", values),
            many_files("3 files in place", ("--in-place",), "", durable=True),
            in_place("direct", batches(3), "--direct"),
            archives(70_000, DEFLATED)[1]]


def main() -> int:
    parser = figures.parser(__doc__, "binary", "the clipper to try")
    figures.add_runs(parser, 100, "number of power cuts in each mode")
    arguments = parser.parse_args()
    tried = figures.Figures("power cuts that reorder and tear writes")
    with tempfile.TemporaryDirectory(prefix="disorder-") as scratch:
        os.chdir(scratch)
        for mode in modes():
            cut, violations = try_mode(arguments.binary, mode, arguments.runs, arguments.seed)
            clear()
            tried.add(arguments.runs, cut, violations)
        os.chdir("/")
    return tried.printed()


if __name__ == "__main__":
    sys.exit(main())
