#!/usr/bin/env python3
"""Lets clipper's system calls and allocations fail, kills it, and checks what is left. Prints a row of figures as JSON.

    faults.py BUILD calls [--runs N]         each call with each fault; N of them, at least each kind of each call
    faults.py BUILD errnos [--runs N]        each call with all else it can fail with; N, at least each errno of each call
    faults.py BUILD allocations [--runs N]   each allocation once, and all from each on; N of them
    faults.py BUILD kills [--runs N]         SIGKILL and all other signals that end, at random instants, N in each mode
    faults.py BUILD compound [--runs N]      direct runs that end early, and so do those that resume them
    faults.py BUILD races [--runs N]         see races.py
    faults.py BUILD outsiders [--runs N]     see outsiders.py: each action at each call; N, at least each at each kind of call
    faults.py BUILD one MODE FAULT           one run, shown
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path

sys.dont_write_bytecode = True

import errnos  # noqa: E402
import loops  # noqa: E402
import outsiders  # noqa: E402
import races  # noqa: E402
from loops import Outcome  # noqa: E402

SHOWN = 20  # violations


@dataclass(frozen=True)
class Part:
    """`cases` makes the work, in this process; `work` does one of them, in any."""
    what: str
    cases: Callable[[int, int], Iterable]
    work: Callable[..., Outcome]


PARTS = {
    "calls": Part("system call faults", loops.call_cases, loops.try_fault),
    "errnos": Part("system call faults, all other errnos", errnos.cases, loops.try_fault),
    "allocations": Part("allocation faults", loops.allocation_cases, loops.try_fault),
    "kills": Part("kills at random instants", loops.kill_cases, loops.try_kill),
    "compound": Part("faults of resumed runs", loops.compound_cases, loops.try_compound),
    "outsiders": Part("another process that acts once", outsiders.cases, outsiders.try_case),
    "races": Part("races", races.cases, races.try_race),
}


def begin(build: Path, directory: Path) -> None:
    """In each process: a directory of its own."""
    os.chdir(tempfile.mkdtemp(dir=directory))
    loops.begin(build)


def run_part(part: Part, arguments: argparse.Namespace, directory: Path) -> dict:
    start = time.monotonic()
    begin(arguments.build, directory)
    cases = list(part.cases(arguments.runs, arguments.seed))
    row = {"what": part.what, "cases": 0, "fired": 0, "violations": 0}
    with Pool(arguments.processes, begin, (arguments.build, directory)) as pool:
        for outcome in pool.imap_unordered(part.work, cases, chunksize=4):
            row["cases"] += outcome.cases
            row["fired"] += outcome.fired
            for text in outcome.violations:
                row["violations"] += 1
                if row["violations"] <= SHOWN:
                    print(text)
    return row | {"seconds": round(time.monotonic() - start, 1)}


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda text: Path(text).resolve(), help="has clipper and libclipper_faults.so")
    parser.add_argument("part", choices=[*PARTS, "one"])
    parser.add_argument("mode", nargs="?", help="of one run")
    parser.add_argument("fault", nargs="?", help="of one run: INDEX:WHAT:once or ever, or an outsider's INDEX:ACTION:TARGET[:killed]")
    parser.add_argument("--runs", type=int, default=0, help="how many; all if there is an end")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--directory", help="where the files are (default: BUILD)")
    return parser.parse_args()


def main() -> int:
    arguments = parsed()
    with tempfile.TemporaryDirectory(prefix="faults-", dir=arguments.directory or arguments.build) as scratch:
        try:
            if arguments.part == "one":
                begin(arguments.build, Path(scratch))
                show = loops.show if arguments.fault.endswith((":once", ":ever")) else outsiders.show
                return show(arguments.mode, arguments.fault)
            row = run_part(PARTS[arguments.part], arguments, Path(scratch))
        finally:
            os.chdir("/")
    print(json.dumps(row))
    return 1 if row["violations"] else 0


if __name__ == "__main__":
    sys.exit(main())
