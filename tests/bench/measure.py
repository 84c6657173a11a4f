"""Runs the commands of a row in turn until its figures are quiet."""

import itertools
import mmap
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from rows import SIZE, write_inputs

SPREAD = 0.25  # a ratio is noisy if the middle half of the rounds' ratios spreads by more
OTHERS = 0.2  # a round does not count if others used more cores meanwhile
DOUBLED = 2  # times, before a figure is called noisy
LEAST = 3  # rounds that count
BACKED = 4 * SIZE  # bytes: as much as the numpy script uses
TICKS = os.sysconf("SC_CLK_TCK")
numbers = itertools.count()


@dataclass
class Figures:
    """Of a row. clipper comes first in each round."""
    what: str
    size: int  # bytes that are clipped
    in_readme: bool = False
    all_rounds: list = field(default_factory=list)  # who -> wall and CPU seconds
    others: list = field(default_factory=list)  # cores that other processes and the hypervisor used in a round

    def add(self, times, others):
        self.all_rounds.append(times)
        self.others.append(others)

    def quiet_rounds(self):
        return [times for times, others in zip(self.all_rounds, self.others) if others <= OTHERS]

    @property
    def rounds(self):
        """Those that count; all if these are too few."""
        quiet = self.quiet_rounds()
        return quiet if len(quiet) >= LEAST else self.all_rounds

    def peers(self):
        return list(self.all_rounds[0])[1:]

    def median(self, who, clock=0):
        return median(each[who][clock] for each in self.rounds)

    def spread(self, peer):
        """How far the middle half of the ratios reaches, relative to their median."""
        ratios = [each["clipper"][0] / each[peer][0] for each in self.rounds]
        low, middle, high = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else (0, 1, 1)
        return (high - low) / middle

    def is_noisy(self, peer):
        return self.spread(peer) > SPREAD or len(self.quiet_rounds()) < LEAST

    def is_quiet(self):
        return not any(map(self.is_noisy, self.peers()))


def until_quiet(figures, one_round, rounds):
    """Runs one_round(i) `rounds` times; while some of `figures` are noisy, twice as often, and again."""
    for i in range(rounds << DOUBLED):
        if i in (rounds << times for times in range(DOUBLED + 1)) and all(each.is_quiet() for each in figures):
            break
        one_round(i)


def busy():
    """CPU seconds that this machine has used so far, and that its hypervisor has used instead of it."""
    user, nice, system, _, _, *interrupts = map(int, Path("/proc/stat").read_text().partition("\n")[0].split()[1:9])
    return (user + nice + system + sum(interrupts)) / TICKS


def shell(line):
    return ["sh", "-ec", line] if set(line) & set("|<>*;") else shlex.split(line)


def run(line):
    """Wall seconds, CPU seconds, and CPU seconds of others."""
    words = shell(line)
    to_null = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    before, own, start = busy(), time.process_time(), time.perf_counter()
    _, status, usage = os.wait4(os.posix_spawnp(words[0], words, os.environ, file_actions=to_null), 0)
    wall, own = time.perf_counter() - start, time.process_time() - own
    if status:
        sys.exit(f"bench: {line}: status {os.waitstatus_to_exitcode(status)}")
    cpu = usage.ru_utime + usage.ru_stime
    return wall, cpu, busy() - before - own - cpu


def settle(before):
    """Removes the last output, and makes its pages, or others that this machine has, those that the next command gets."""
    subprocess.run(["sh", "-ec", f"rm -rf out*; {before}; sync"], check=True)
    mmap.mmap(-1, BACKED, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE).close()


def measure_row(row, rounds):
    figures = Figures(row.what, row.size, row.in_readme)
    write_inputs([*row.sides.values(), row.before])

    def one_round(i):
        found, all_wall, all_others = {who: [] for who in row.sides}, 0, 0
        for n in range(row.runs):
            for who, line in list(row.sides.items())[:: -1 if (i + n) % 2 else 1]:
                if n == 0 or row.runs == 1:
                    settle(row.before)
                wall, cpu, others = run(line.format(n=next(numbers)))
                found[who].append((wall, cpu))
                all_wall, all_others = all_wall + wall, all_others + others
        figures.add({who: tuple(map(median, zip(*times))) for who, times in found.items()}, all_others / all_wall)

    one_round(0)
    figures.all_rounds.clear()  # the first round reads the programs and the inputs from the disk
    figures.others.clear()
    until_quiet([figures], one_round, rounds)
    return figures


def peak_memory(line):
    """Peak resident memory in MiB, by time(1): a direct child of this process would start with this process's memory."""
    write_inputs([line])
    subprocess.run(["time", "--format=%M", "--output=memory", *shlex.split(line)], check=True, stdout=subprocess.DEVNULL)
    return int(Path("memory").read_text()) / 1024


@contextmanager
def scratch_directory(parent, build):
    """Changes to a temporary directory below `parent`, where the programs of `build` are those that run. They are copies, as installed
    ones are: what a linker has written lies in smaller pieces in the page cache, and starts 7 % slower."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=parent) as scratch:
        before = os.getcwd()
        os.chdir(scratch)
        os.mkdir("bin")
        for program, name in (("clipper", "clipper"), ("static/clipper", "static-clipper")):
            if (build / program).exists():
                shutil.copy(build / program, f"bin/{name}")
        os.environ["PATH"] = f"{scratch}/bin:{os.environ['PATH']}"
        try:
            yield
        finally:
            os.chdir(before)
