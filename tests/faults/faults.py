#!/usr/bin/env python3
"""Makes clipper's system calls and allocations fail, kills clipper, and checks which files are left.

Prints the violations and, as the last line, the figures as JSON. Exits with 1 if there were violations.

    faults.py BUILD calls [--runs N]         each system call fails (EIO, ENOSPC, EINTR), is short, or meets a signal
    faults.py BUILD signals [--runs N]       SIGTERM or SIGINT before or after each system call: what is in place is said
    faults.py BUILD errnos [--runs N]        each system call fails with each other errno that its man page lists
    faults.py BUILD allocations [--runs N]   each allocation fails, alone or with all that follow it
    faults.py BUILD kills [--runs N]         SIGKILL or another fatal signal at N random instants in each mode
    faults.py BUILD compound [--runs N]      N times per mode: --direct is interrupted, resumed and interrupted again
    faults.py BUILD races [--runs N]         N races per kind: several clippers, or clipper and a writer, use one file
    faults.py BUILD stale [--runs N]         N times: IN changes between two shards, and its time is shown late
    faults.py BUILD outsiders [--runs N]     at each system call another process acts once: renames, truncates, ...
    faults.py BUILD ticks [--runs N]         the same, but only writes, where the file system counts in seconds
    faults.py BUILD pairs [--runs N]         before clipper gives a file its name another process acts, and again soon after
    faults.py BUILD arrays [--runs N]        at each system call another process changes or removes an array of --scale
    faults.py BUILD one MODE FAULT           runs one case and prints what happened

For calls, signals, errnos, allocations, outsiders, ticks and arrays N is the size of a random sample of all cases. The sample has at least one
case of each kind, even if these are more than N. Without --runs these parts try all cases. --modes REGEX leaves out all modes in whose
names it does not occur.
"""

import argparse
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path

sys.dont_write_bytecode = True

import arrays  # noqa: E402
import errnos  # noqa: E402
import figures  # noqa: E402
import loops  # noqa: E402
import outsiders  # noqa: E402
import pairs  # noqa: E402
import races  # noqa: E402
import stale  # noqa: E402
from loops import Outcome  # noqa: E402

WAITING = 8  # cases at once for each CPU if they wait


@dataclass(frozen=True)
class Part:
    """`cases` lists the cases, in this process; `work` tries one case, in a process of the pool."""
    what: str
    cases: Callable[[int, int], Iterable]
    work: Callable[..., Outcome]
    waits: bool = False  # clipper mostly waits: more cases at once


PARTS = {
    "calls": Part("system call faults", loops.call_cases, loops.try_fault),
    "signals": Part("signals at system calls", loops.signal_cases, loops.try_fault),
    "errnos": Part("system call faults, all other errnos", errnos.cases, loops.try_fault),
    "allocations": Part("allocation faults", loops.allocation_cases, loops.try_fault),
    "kills": Part("kills at random instants", loops.kill_cases, loops.try_kill),
    "compound": Part("faults of resumed runs", loops.compound_cases, loops.try_compound),
    "outsiders": Part("another process that acts once", outsiders.cases, outsiders.try_case),
    "ticks": Part("another process that writes in the same second", outsiders.ticks, outsiders.try_case, waits=True),
    "pairs": Part("two actions of other processes", pairs.cases, pairs.try_case),
    "arrays": Part("another process that changes an array", arrays.cases, arrays.try_case),
    "stale": Part("an input that changes between two shards, with its old time", stale.cases, stale.try_case),
    "races": Part("races", races.cases, races.try_race),
}


def begin(build: Path, directory: Path) -> None:
    """Gives each process a directory of its own."""
    os.chdir(tempfile.mkdtemp(dir=directory))
    loops.begin(build)


def run_part(part: Part, arguments: argparse.Namespace, directory: Path) -> int:
    found = figures.Figures(part.what)
    begin(arguments.build, directory)
    loops.chosen = arguments.modes
    cases = list(part.cases(arguments.runs, arguments.seed))
    with Pool(arguments.processes * (WAITING if part.waits else 1), begin, (arguments.build, directory)) as pool:
        for outcome in pool.imap_unordered(part.work, cases, chunksize=4):
            found.add(outcome.cases, outcome.fired, outcome.violations)
    return found.printed()


def parsed() -> argparse.Namespace:
    parser = figures.parser(__doc__, "build", "build directory with clipper and libclipper_faults.so")
    parser.add_argument("part", choices=[*PARTS, "one"], help="what to try; described above")
    parser.add_argument("mode", nargs="?", help="for one: the name of a mode, as violations print it")
    parser.add_argument("fault", nargs="?", help="for one: INDEX:FAULT:once|ever, or an outsider's INDEX:ACTION:TARGET[:killed]")
    figures.add_runs(parser, 0, "number of cases, see above")
    parser.add_argument("--modes", type=re.compile, default="", help="a regular expression; see above")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)),
                        help="number of cases at once (default: all CPUs)")
    parser.add_argument("--directory", help="where clipper reads and writes its files (default: BUILD)")
    return parser.parse_args()


def main() -> int:
    arguments = parsed()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell without job control starts background jobs that ignore it, and so would clipper
    with tempfile.TemporaryDirectory(prefix="faults-", dir=arguments.directory or arguments.build) as scratch:
        try:
            if arguments.part == "one":
                begin(arguments.build, Path(scratch))
                show = loops.show if arguments.fault.endswith((":once", ":ever")) else outsiders.show
                return show(arguments.mode, arguments.fault)
            return run_part(PARTS[arguments.part], arguments, Path(scratch))
        finally:
            os.chdir("/")


if __name__ == "__main__":
    sys.exit(main())
