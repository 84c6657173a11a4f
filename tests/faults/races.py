"""Races for one file: several clippers, or clipper and a writer that knows nothing of it."""

import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

import loops
from checks import found, prepare
from loops import Outcome
from conservation import clipped
from modes import BATCH, Files, Mode, archives, in_place, numbers, one_file
from process import Run
from zip_bytes import DEFLATED, STORED

PROCESSES = 8


@dataclass(frozen=True)
class Race:
    mode: Mode
    against: str  # "clippers", "truncation" or "growth"
    after: float = 0  # seconds, until the writer writes
    size: int = 0  # bytes, to which the writer truncates the file

    @property
    def name(self) -> str:
        """The file that is contested."""
        (name,) = self.mode.before
        return name

    def clipped(self, times: int) -> bytes:
        content = self.mode.before[self.name]
        for _ in range(times):
            content = clipped(content, self.mode.bias)
        return content


def contests() -> list[Mode]:
    return [in_place("in place", numbers(10_000)), in_place("direct", numbers(2 * BATCH // 4), "--direct"),
            archives(10_000, DEFLATED)[1]]


def cases(runs: int, seed: int) -> Iterator[Race]:
    """`runs` races of each kind."""
    source = random.Random(seed)
    values = numbers(100_000)
    for mode in contests():
        for _ in range(runs):
            yield Race(mode, "clippers")
    for mode in (one_file("new", (), values), in_place("in place", values), *archives(100_000, STORED)[:2]):
        start = time.monotonic()
        loops.clean_run(mode)
        duration = time.monotonic() - start
        for i in range(runs):
            after, size = source.uniform(0, duration), source.randrange(len(*mode.before.values()))
            yield Race(mode, "growth" if i % 2 else "truncation", after, size)


def race_clippers(race: Race) -> tuple[list[str], bool]:
    """Each clipper succeeds, or refuses at once and changes nothing. The file is as if the successful clippers had run one
    after the other."""
    prepare(race.mode.before)
    pids = [loops.clipper.start_plain(*race.mode.arguments) for _ in range(PROCESSES)]
    codes = sorted(loops.clipper.wait(pid) for pid in pids)
    run = loops.clipper.ended(0, b"")
    successes = codes.count(0)
    texts = []
    if successes == 0 or successes + codes.count(5) != PROCESSES:
        texts.append(f"exit codes {codes}: {run.stderr}")
    if len(run.stderr.splitlines()) != PROCESSES - successes:
        texts.append(f"{PROCESSES - successes} lines expected on stderr: {run.stderr}")
    if found() != {race.name: race.clipped(successes)}:
        texts.append(f"{successes} successes, but the file was not clipped {successes} times: {sorted(found())}")
    return texts, 0 < successes < PROCESSES


def race_writer(race: Race) -> tuple[list[str], bool]:
    """The writer opens the file before clipper starts, and writes to it meanwhile."""
    prepare(race.mode.before)
    writer = os.open(race.name, os.O_WRONLY | os.O_APPEND)

    def write(_: int) -> None:
        time.sleep(race.after)
        if race.against == "growth":
            os.write(writer, b"more")
        else:
            os.ftruncate(writer, race.size)

    run = loops.clipper.run(race.mode, None, write)
    os.close(writer)
    return writer_violations(race, run, found()), run.code != 0


def writer_violations(race: Race, run: Run, files: Files) -> list[str]:
    """Exit 3 if clipper notices the change before its work, 4 during its work. It cannot notice a change after its last look."""
    old = race.mode.before[race.name]
    written = old + b"more" if race.against == "growth" else old[:race.size]
    wanted = race.mode.before | race.mode.after if run.code == 0 else {race.name: written}
    if run.code == 0 and race.name not in race.mode.after:
        wanted[race.name] = written
    texts = [] if run.code in (0, 3, 4) else [f"exit {run.code}"]
    lines = run.stderr.splitlines()
    if len(lines) > 1 or (run.code and not lines) or not all(line.startswith("clipper: ") for line in lines):
        texts.append(f"on stderr: {run.stderr!r}")
    if files != wanted:
        texts.append(f"exit {run.code}, but the files are wrong: {sorted((name, len(text)) for name, text in files.items())}")
    return texts


def try_race(race: Race) -> Outcome:
    texts, fired = (race_clippers if race.against == "clippers" else race_writer)(race)
    what = f"'{race.mode.name}' against {race.against} after {race.after * 1000:.3f} ms, size {race.size}"
    return Outcome(1, int(fired), [f"{what}: {text}" for text in texts])
