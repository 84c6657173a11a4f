#!/usr/bin/env python3
"""Runs a table of scenarios on nine file systems that lack different features. Prints a row of figures as JSON.

    systems.py BUILD [--runs N] [--only TEXT] [--scenario TEXT] [--table] [--at DIRECTORY [DIRECTORY]]

The file systems are in memory, in a private mount namespace: the kernel unmounts them, even if this program is killed. Needs
root, loop devices and FUSE.
"""

import argparse
import ctypes
import os
import random
import shutil
import signal
import string
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool
from pathlib import Path

sys.dont_write_bytecode = True

import figures  # noqa: E402
from aliases import ALIASES  # noqa: E402
from mounts import FEATURES, PLACE, ROOM, SYSTEMS, System, features, given, make_room, mounted  # noqa: E402
from place import Place  # noqa: E402
from power import command, hide_mounts  # noqa: E402
from process import Clipper  # noqa: E402
from scenarios import SCENARIOS, Scenario  # noqa: E402
from sharded import SHARDED  # noqa: E402
from strange import STRANGE  # noqa: E402

CLONE_NEWPID, DIE_WITH_PARENT = 0x20000000, 1
LETTERS = string.ascii_letters
UNKNOWN = "unknown filesystem type"  # mount's message if the kernel lacks the file system
IN_CI = os.environ.get("CI") == "true"


@dataclass(frozen=True)
class Outcome:
    cell: str
    reason: str = ""
    runs: int = 0
    fired: int = 0
    violations: tuple[str, ...] = ()


def tried(place: Place, scenario: Scenario) -> Outcome:
    if scenario.name in place.system.breaks:
        return Outcome("not tried", place.system.breaks[scenario.name])
    missing = [feature for feature in scenario.needs if feature not in place.has]
    if missing:
        return Outcome(f"no {' or '.join(missing)}")
    place.refusal, place.note, place.runs, place.fired = None, "", 0, 0
    try:
        texts = scenario.act(place)
    except (OSError, subprocess.SubprocessError) as error:
        texts = [repr(error)]
    texts += unexpected(place, scenario) if not texts else []
    cell, reason = "limit" if place.note else "ok", place.note
    if texts:
        cell, reason = "VIOLATION", ""
    elif place.refusal:
        cell, reason = f"refused, {place.refusal.code}", place.refusal.stderr.strip().removeprefix("clipper: ")
    return Outcome(cell, reason, place.runs, place.fired, tuple(texts))


def unexpected(place: Place, scenario: Scenario) -> list[str]:
    """A refusal that the scenario does not expect, or a missing one."""
    must_refuse = bool(scenario.without) and not place.has & set(scenario.without)
    if place.refusal is None:
        return ["not refused"] if must_refuse else []
    if must_refuse and place.refusal.code not in scenario.codes:
        return [f"exit {place.refusal.code}, not one of {scenario.codes}: {place.refusal.stderr}"]
    return [] if must_refuse or scenario.either else [f"refused: {place.refusal.stderr}"]


def tried_on(arguments: argparse.Namespace, system: System) -> dict[str, Outcome]:
    """Tries all scenarios on a file system, in a process of its own. A file system that cannot be mounted is skipped; in CI that
    is a violation unless the kernel lacks the file system."""
    outcomes = {}
    hide_mounts()
    make_room()
    clipper = copied(arguments.build)
    try:
        with mounted(system):
            os.chdir(PLACE)
            place = Place(clipper, system, features(), random.Random(arguments.seed), arguments.runs)
            outcomes |= {f"has {name}": Outcome("yes" if name in place.has else "no") for name in FEATURES}
            if text := surprise(place):
                print(f"systems: WARNING: {system.name} has no {text}", file=sys.stderr)
                outcomes["features"] = Outcome("fewer", violations=(f"no {text}",) if IN_CI else ())
            for scenario in (*SCENARIOS, *SHARDED, *STRANGE, *ALIASES):
                if arguments.scenario in scenario.name:
                    outcomes[scenario.name] = tried(place, scenario)
    except OSError as error:
        print(f"systems: {system.name}: SKIPPED: {error}", file=sys.stderr)
        outcomes["can be mounted"] = Outcome("no", violations=(str(error),) if IN_CI and UNKNOWN not in str(error) else ())
    return outcomes


def surprise(place: Place) -> str:
    """Features that the file system should have but lacks, perhaps on an old kernel. Scenarios that need them are not tried."""
    place.has |= {name for name, there in (("a second mount", place.system.again), ("a disk", place.system.make)) if there}
    return ", ".join(sorted(FEATURES.keys() - place.system.lacks - place.has))


def table(found: dict[str, dict[str, Outcome]]) -> str:
    """The results as a Markdown table. Reasons follow it, marked with letters."""
    names = dict.fromkeys(name for outcomes in found.values() for name in outcomes)
    reasons: dict[str, str] = {}
    lines = [["", *found], ["---"] * (len(found) + 1)]
    for name in names:
        outcomes = [each.get(name, Outcome("")) for each in found.values()]
        lines.append([name, *(each.cell + letter(each.reason, reasons) for each in outcomes)])
    return "\n".join(["| " + " | ".join(line) + " |" for line in lines] + [f"{each}: {text}" for text, each in reasons.items()])


def letter(reason: str, known: dict[str, str]) -> str:
    return f" ({known.setdefault(reason, LETTERS[len(known)])})" if reason else ""


def obstacle() -> str:
    if os.geteuid():
        return "not root"
    return next((f"no {path}" for path in ("/dev/loop-control", "/dev/fuse") if not os.path.exists(path)), "")


def contain() -> None:
    """Continues in a child that is the first process of a PID namespace. When the child or its parent ends, the kernel kills all
    processes in the namespace, FUSE programs too, and unmounts what they have mounted."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWPID):
        raise OSError(ctypes.get_errno(), "unshare")
    if child := os.fork():
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    libc.prctl(DIE_WITH_PARENT, signal.SIGKILL)
    hide_mounts()
    command("mount", "-t", "proc", "proc", "/proc")


def copied(build: Path) -> Clipper:
    """Copies clipper and the shim to where every user may run them."""
    for name in ("clipper", "libclipper_faults.so"):
        shutil.copy(build / name, ROOM)
    return Clipper(ROOM)


def try_all(arguments: argparse.Namespace, all_figures: figures.Figures) -> None:
    systems = [given(*arguments.at)] if arguments.at else [system for system in SYSTEMS if arguments.only in system.name]
    with Pool(len(os.sched_getaffinity(0)), maxtasksperchild=1) as pool:
        found = dict(zip((system.name for system in systems), pool.imap(partial(tried_on, arguments), systems), strict=True))
    for system, scenarios in found.items():
        for name, outcome in scenarios.items():
            all_figures.add(outcome.runs, outcome.fired, [f"{system}, {name}: {text}" for text in outcome.violations])
    if arguments.table:
        print(table(found))


def main() -> int:
    parser = figures.parser(__doc__, "build", "build directory with clipper and libclipper_faults.so")
    figures.add_runs(parser, 6, "how often each kill and race is tried")
    parser.add_argument("--only", default="", help="only file systems whose names contain this text")
    parser.add_argument("--scenario", default="", help="only scenarios whose names contain this text")
    parser.add_argument("--at", nargs="+", type=Path, default=[], help="use this directory's file system; a second directory is another mount of the first")
    parser.add_argument("--table", action="store_true", help="print the result of each scenario on each file system")
    arguments = parser.parse_args()
    all_figures = figures.Figures("file systems")
    skipped = obstacle()
    try:
        if not skipped:
            contain()
    except OSError as error:
        skipped = str(error)
    if skipped:
        all_figures.skip(skipped)
    else:
        try_all(arguments, all_figures)
    return all_figures.printed()


if __name__ == "__main__":
    sys.exit(main())
