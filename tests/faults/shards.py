#!/usr/bin/env python3
"""Random schedules of shards: in any order, at once, killed, run again, run twice, with strangers among them. Prints a row of
figures as JSON.

    shards.py CLIPPER [--schedules N]

At every instant OUT is as it was before, or complete; when every shard has ended well, it is complete. Who comes with other
parameters gets exit 5 and harms nothing. CLIPPER's neighbour libclipper_faults.so kills at a call, and stops shards, whose work
others do until they wake up.
"""

import argparse
import json
import math
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import Pool
from pathlib import Path

LIMIT = 20  # seconds, after which a schedule hangs
SHOWN = 20  # violations
MIB = 1 << 20
MOST = 12 * MIB
IN, OTHER, OUT, PARTIAL, MARKERS = map(Path, ("in.npy", "other.npy", "out.npy", "out.npy.partial", "out.npy.shards"))
OPERATION = ("--min", "1", "--max", "100")  # possible with every dtype
DTYPES = ("<f2", ">f2", "<V2", "<f4", ">f4", "<f8", "|i1", "<i2", "<i4", ">i8", "|u1", "<u2", "<u4", "<u8")
BEFORE, WRITING, MARKED, COMPLETE, PLACED = STAGES = (
    "before OUT.partial", "before the marker", "marked, others missing", "all marked, not in place", "in place")


@dataclass(frozen=True)
class Setting:
    """One job, and how it is treated."""
    tensor: bytes
    words: tuple[str, ...]  # of all its shards
    shards: int
    old: bytes | None  # OUT before
    at_once: int
    deadly: float  # the share of runs that are killed
    deaths: int  # at most
    sleepers: int  # at most
    strangers: int  # at most


@dataclass
class Attempt:
    process: subprocess.Popen
    shard: int
    kill_at: float = math.inf  # by the clock
    wake_at: float = math.inf  # likewise; it may have been stopped


@dataclass
class Outcome:
    runs: int = 0
    kills: Counter = field(default_factory=Counter)  # by stage
    sleepers: int = 0
    strangers: int = 0
    violations: list[str] = field(default_factory=list)


def random_tensor(source: random.Random) -> tuple[bytes, tuple[str, ...]]:
    """None to 12 MiB, half of them below one; and what else has to be said of it."""
    descr, columns = source.choice(DTYPES), source.choice((1, 3, 64))
    row = columns * int(descr[2])
    rows = int(source.choice((2 ** source.uniform(0, 20), source.uniform(0, MOST)))) // row
    shape = (rows,) if columns == 1 else (rows, columns)
    text = f"{{'descr': '{descr}', 'fortran_order': {source.random() < 0.5}, 'shape': {shape}, }}".encode()
    size = -(10 + len(text) + 1) % 64 + len(text) + 1
    header = b"\x93NUMPY\x01\x00" + struct.pack("<H", size) + text.ljust(size - 1) + b"\n"
    return header + source.randbytes(rows * row), ("--dtype", "bfloat16") if descr == "<V2" else ()


def random_setting(source: random.Random) -> Setting:
    tensor, words = random_tensor(source)
    more_than_mib = len(tensor) // MIB + source.randint(2, 5)
    return Setting(
        tensor=tensor,
        words=(*OPERATION, *words, "--threads", source.choice("12"), *source.choice(((), ("--chunk-size", "4096")))),
        shards=source.choice((1, 2, 7, more_than_mib)),
        old=source.choice((None, b"something else" * 1000)),
        at_once=source.choice((1, 2, 4, 8)),
        deadly=source.choice((0, 0.3, 0.7)),
        deaths=source.randint(1, 20),
        sleepers=source.choice((0, 1, 3)),
        strangers=source.randint(0, 3))


class Schedule:
    """Of one setting, in the current directory, which has nothing else."""

    def __init__(self, clipper: Path, source: random.Random, setting: Setting):
        self.clipper, self.source, self.setting = clipper, source, setting
        self.running: list[Attempt] = []
        self.untried, self.done = set(range(setting.shards)), set()
        self.outcome, self.seen, self.content = Outcome(), None, None
        self.is_new, self.begun = False, time.monotonic()

    def run(self) -> Outcome:
        IN.write_bytes(self.setting.tensor)
        started = time.monotonic()
        self.clip(*self.setting.words, IN, OUT).check_returncode()
        self.duration = time.monotonic() - started
        self.new = OUT.read_bytes()
        OUT.unlink()
        if self.setting.old is not None:
            OUT.write_bytes(self.setting.old)
        extras = self.source.choices((self.duplicate, self.finalize), k=self.source.randint(0, 5))
        while len(self.done) < self.setting.shards or self.running or extras:
            self.step(extras)
        self.finish()
        return self.outcome

    # What is done ------------------------------------------------------------------------------------------

    def step(self, extras: list) -> None:
        if time.monotonic() > self.begun + LIMIT:
            raise TimeoutError
        active = {attempt.shard for attempt in self.running if attempt.wake_at == math.inf}
        waiting = sorted(set(range(self.setting.shards)) - self.done - active)
        if extras and self.source.random() < 0.3 / (1 + len(waiting)):
            extras.pop()()
        elif self.outcome.strangers < self.setting.strangers and self.source.random() < 0.2 and self.cannot_end():
            self.stranger()
        elif waiting and len(self.running) < self.setting.at_once:
            self.start(self.source.choice(waiting))
        else:
            time.sleep(0.0003)
        self.reap()
        self.look()

    def clip(self, *words) -> subprocess.CompletedProcess:
        return subprocess.run([self.clipper, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)

    def start(self, shard: int) -> None:
        """Perhaps to be killed, or to be stopped for a while."""
        self.untried.discard(shard)
        command = [self.clipper, "--shard", f"{shard}/{self.setting.shards}", *self.setting.words, IN, OUT]
        fault, kill_at, wake_at = None, math.inf, math.inf
        now, call = time.monotonic(), self.source.randint(1, 60)
        if self.outcome.kills.total() < self.setting.deaths and self.source.random() < self.setting.deadly:
            if self.source.random() < 0.5:
                fault = f"{call}:{self.source.choice('sa')}{signal.SIGKILL:d}:once"
            else:
                kill_at = now + self.source.uniform(0, self.duration)
        elif self.outcome.sleepers < self.setting.sleepers and self.source.random() < 0.3:
            fault, wake_at = f"{call}:s{signal.SIGSTOP:d}:once", now + self.source.uniform(0, 10 * self.duration)
            self.outcome.sleepers += 1
        shim = self.clipper.parent / "libclipper_faults.so"
        environment = {"LD_PRELOAD": str(shim), "CLIPPER_FAULT": fault} if fault else None
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        self.running.append(Attempt(process, shard, kill_at, wake_at))
        self.outcome.runs += 1

    def duplicate(self) -> None:
        """Of any shard: one that runs, one that is done, perhaps with OUT in place."""
        self.start(self.source.randrange(self.setting.shards))

    def cannot_end(self) -> bool:
        """There is a run, and it stays."""
        return bool(self.untried) and PARTIAL.exists() and any(MARKERS.glob("run*"))

    def stranger(self) -> None:
        shards, words, tensor = self.setting.shards, self.setting.words, IN
        kind = self.source.choice(("bounds", "number of shards", "tensor"))
        if kind == "bounds":
            words = (*words, "--nan", "min")
        elif kind == "number of shards":
            shards += 1
        else:
            tensor = OTHER
            tensor.write_bytes(self.setting.tensor)
        run = self.clip("--shard", f"{self.source.randrange(shards)}/{shards}", *words, tensor, OUT)
        OTHER.unlink(missing_ok=True)
        self.outcome.strangers += 1
        if run.returncode != 5 or len(run.stderr.splitlines()) != 1:
            self.violation(f"a stranger with another {kind}: exit {run.returncode}, {run.stderr!r}")

    def finalize(self) -> list[int]:
        """What it says is missing."""
        run = self.clip("--finalize", OUT)
        missing = missing_shards(run.stderr)
        none_run = "no shard of it has been run" in run.stderr or "no shards of it wait" in run.stderr
        if (run.returncode, bool(missing) or none_run) not in ((0, False), (5, True)) or len(run.stderr.splitlines()) > 1:
            self.violation(f"--finalize: exit {run.returncode}, {run.stderr!r}")
        return missing

    # What comes of it --------------------------------------------------------------------------------------

    def reap(self) -> None:
        for attempt in self.running[:]:
            process = attempt.process
            if time.monotonic() > attempt.kill_at:
                process.kill()
                process.wait()
            if time.monotonic() > attempt.wake_at:
                process.send_signal(signal.SIGCONT)
            if process.poll() is None:
                continue
            self.running.remove(attempt)
            stderr = process.stderr.read()
            process.stderr.close()
            if process.returncode == 0:
                self.done.add(attempt.shard)
            elif process.returncode == -9:
                self.outcome.kills[self.stage(attempt.shard)] += 1
            else:
                self.violation(f"shard {attempt.shard}: exit {process.returncode}, {stderr!r}")

    def stage(self, shard: int) -> str:
        """Where a killed run of it was, from what is there."""
        if not PARTIAL.exists():
            return PLACED if self.is_new else BEFORE
        marked = {int(name.split("-of-")[0]) for name in os.listdir(MARKERS) if "-of-" in name} if MARKERS.exists() else set()
        if shard not in marked:
            return WRITING
        return MARKED if len(marked) < self.setting.shards else COMPLETE

    def look(self) -> None:
        """At OUT: first old or absent, then new, and never anything else."""
        try:
            status = OUT.stat()
            seen = (status.st_ino, status.st_size, status.st_mtime_ns)
            content = OUT.read_bytes() if seen != self.seen else self.content
        except FileNotFoundError:
            seen, content = None, None
        self.seen, self.content = seen, content
        if content == self.new:
            self.is_new = True
        elif content != self.setting.old or self.is_new:
            self.violation(f"OUT is {'absent' if content is None else f'{len(content)} bytes that are neither old nor new'}")

    def finish(self) -> None:
        """Runs that came when OUT was in place have begun anew, perhaps without a mark: that is ended, too."""
        self.look()
        if not self.is_new:
            self.violation("every shard has ended well, and OUT is not in place")
        for shard in self.finalize() or (range(self.setting.shards) if self.left() else ()):
            left = self.left()
            run = self.clip("--shard", f"{shard}/{self.setting.shards}", *self.setting.words, IN, OUT)
            if run.returncode != 0:
                self.violation(f"shard {shard}, alone, with {left}: exit {run.returncode}, {run.stderr!r}")
            self.look()
        if not self.is_new:
            self.violation("OUT is not in place, not even by --finalize")
        if left := self.left():
            self.violation(f"left: {left}")

    def left(self) -> list[str]:
        return sorted({str(path) for path in Path().rglob("*")} - {IN.name, OUT.name})

    def violation(self, text: str) -> None:
        setting = self.setting
        text = f"{setting.shards} shards, {len(setting.tensor)} bytes, {setting.words}: {text}"
        if text not in self.outcome.violations:
            self.outcome.violations.append(text)


def missing_shards(text: str) -> list[int]:
    """Of "shards 0, 3 to 5 of 8 are missing"."""
    found = re.search(r"shards? (.*) of \d+ (is|are) missing", text)
    return [number for first, last in re.findall(r"(\d+)(?: to (\d+))?", found[1] if found else "")
            for number in range(int(first), int(last or first) + 1)]


def try_schedule(clipper: Path, directory: str, seed: int) -> Outcome:
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        os.chdir(scratch)
        source = random.Random(seed)
        schedule = Schedule(clipper, source, random_setting(source))
        try:
            outcome = schedule.run()
        except TimeoutError:
            outcome = schedule.outcome
            schedule.violation("does not come to an end")
        finally:
            for attempt in schedule.running:
                attempt.process.kill()
            os.chdir("/")
    outcome.violations = [f"--first {seed}: {text}" for text in outcome.violations]
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clipper", type=lambda text: Path(text).resolve())
    parser.add_argument("--schedules", type=int, default=100)
    parser.add_argument("--first", type=int, default=1, help="the first schedule's seed")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--directory", help="where the files are (default: the system's)")
    arguments = parser.parse_args()
    start, total = time.monotonic(), Outcome()
    seeds = range(arguments.first, arguments.first + arguments.schedules)
    with (tempfile.TemporaryDirectory(prefix="shards-", dir=arguments.directory) as directory,
          Pool(arguments.processes) as pool):
        for outcome in pool.imap_unordered(partial(try_schedule, arguments.clipper, directory), seeds):
            for name in ("runs", "kills", "sleepers", "strangers", "violations"):
                setattr(total, name, getattr(total, name) + getattr(outcome, name))
    kills, violations = total.kills, total.violations
    print(*violations[:SHOWN], sep="\n", end="\n" if violations else "")
    print(f"shards: {total.runs} runs, {total.strangers} strangers, {total.sleepers} stopped for a while; killed: "
          + ", ".join(f"{kills[stage]} {stage}" for stage in STAGES))
    row = {"what": "schedules of shards", "cases": arguments.schedules, "fired": kills.total(), "violations": len(violations)}
    print(json.dumps(row | {"seconds": round(time.monotonic() - start, 1)}))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
