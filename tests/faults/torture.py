#!/usr/bin/env python3
"""Tries to break clipper and prints one table of the results. Exits with 1 if there were violations.

    scripts/torture [--nightly | --release] [PART...]    runs these parts (default: all)
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True

from machines import MACHINES  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
FUZZ = ROOT / "tests/fuzz"


@dataclass(frozen=True)
class Row:
    """A command that prints violations and, as its last line, a JSON object: `what`, `cases`, `violations`; `fired` and
    `seconds` if it knows them; `skipped`, the reason, if the machine cannot run it."""
    part: str
    command: str
    per_commit: str | None  # arguments added to the command; None: only run if the part is named
    nightly: str
    release: str


BUILD = "build/torture"  # copies by scripts/torture
SCHEDULES = f"python3 tests/faults/shards.py {BUILD}/clipper"
FAULTS, POWER = f"python3 tests/faults/faults.py {BUILD}", f"python3 tests/faults/power.py {BUILD}"


def fuzz_rows():
    """The rows that the programs in tests/fuzz have after "torture": the arguments for a commit, which may be -, a night and a release. Run
    by tests/fuzz/run, which adds sanitizers, unless the row names a program to test."""
    for path in sorted([*FUZZ.glob("*_fuzz.cpp"), *FUZZ.glob("*.py")]):
        for name, cells in re.findall(r"^(?:///|#) torture(?: (\S+))?: (.*)$", path.read_text(), re.MULTILINE):
            commit, nightly, release = (cell.strip() for cell in cells.split("|"))
            plain = f"python3 tests/fuzz/{path.name} {BUILD}/clipper" if name == "clipper" else f"tests/fuzz/run {name or path.stem}"
            yield Row("fuzz", plain, None if commit == "-" else commit, nightly, release)


ROWS = (
    Row("faults", f"{FAULTS} calls", "--runs 2000", "--runs 6000", ""),
    Row("faults", f"{FAULTS} errnos", "--runs 2000", "--runs 6000", ""),
    Row("faults", f"{FAULTS} outsiders", "--runs 3000", "--runs 12000", ""),
    Row("faults", f"{FAULTS} ticks", "--runs 60", "--runs 400", ""),
    Row("faults", f"{FAULTS} signals", "--runs 1000", "--runs 6000", ""),
    Row("faults", f"{FAULTS} pairs", "--runs 2000", "--runs 20000", "--runs 200000"),
    Row("faults", f"{FAULTS} stale", "--runs 50", "--runs 500", "--runs 5000"),
    Row("faults", f"{FAULTS} arrays", "--runs 300", "--runs 1200", ""),
    Row("faults", f"{FAULTS} allocations", "--runs 1000", "--runs 6000", ""),
    Row("faults", f"{FAULTS} compound", "--runs 100", "--runs 1000", "--runs 2000"),
    Row("hostile", f"python3 tests/faults/hostile.py {BUILD}", "", "", ""),
    Row("limits", f"python3 tests/faults/limits.py {BUILD}", "--runs 300", "--runs 1200", ""),
    Row("kills", f"{FAULTS} kills", "--runs 40", "--runs 1000", "--runs 10000"),
    Row("races", f"{FAULTS} races", "--runs 50", "--runs 500", "--runs 1000"),
    Row("power", f"{POWER} ext4", "--runs 40", "--runs 200", "--runs 1000"),
    Row("power", f"{POWER} xfs", "--runs 40", "--runs 200", "--runs 1000"),
    Row("power", f"python3 tests/faults/disorder.py {BUILD}/clipper", "--runs 125", "--runs 500", "--runs 2500"),
    Row("systems", f"python3 tests/faults/systems.py {BUILD}", None, "", "--runs 100"),
    Row("shards", SCHEDULES, "--schedules 60", "--schedules 1000", "--schedules 10000"),
    Row("networks", f"tests/engines/gluster distributed {SCHEDULES} --name GlusterFS,distributed", None, "--schedules 100 --disturb", "--schedules 1000 --disturb"),
    Row("networks", f"tests/engines/gluster replicated {SCHEDULES} --name GlusterFS,replicated", None, "--schedules 100 --disturb", "--schedules 1000 --disturb"),
    Row("networks", f"tests/engines/gluster dispersed {SCHEDULES} --disturb --name GlusterFS,dispersed", None, "--schedules 30", "--schedules 100"),
    Row("networks", f"tests/engines/gluster sharded {SCHEDULES} --disturb --name GlusterFS,sharded", None, "--schedules 30", "--schedules 100"),
    Row("networks", f"tests/engines/moosefs {SCHEDULES} --disturb --name MooseFS", None, "--schedules 100", "--schedules 1000"),
    Row("networks", f"tests/engines/sshfs {SCHEDULES} --name sshfs", None, "--schedules 30", "--schedules 100"),
    *fuzz_rows(),
    *(Row("machines", f"python3 tests/faults/machines.py {BUILD} {name.replace(' ', '_')}", None, "", "") for name in MACHINES),
)
PARTS = list(dict.fromkeys(row.part for row in ROWS))
HEAD = ("what", "cases", "faults fired", "violations", "seconds")


def figures(command: str) -> dict:
    """Runs a command and returns its figures. A command that prints no figures counts as one violation."""
    print(f"torture: {command}", file=sys.stderr)
    last, start = "", time.monotonic()
    with subprocess.Popen(command.split(), cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if last:
                print(last, end="")
            last = line
    try:
        return {"fired": "", "seconds": round(time.monotonic() - start)} | json.loads(last)
    except ValueError:
        print(last, end="")
        return {"what": command, "cases": 0, "fired": 0, "violations": 1, "seconds": 0}


def cells(found: dict) -> list[str]:
    if "skipped" in found:
        return [found["what"], f"SKIPPED: {found['skipped']}", "", "", ""]
    return [found["what"], *(f"{found[key]:,}" if found[key] != "" else "" for key in ("cases", "fired", "violations", "seconds"))]


def table(lines: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [list(HEAD), ["---"] + ["---:"] * (len(HEAD) - 1), *lines])


def main() -> int:
    parser = argparse.ArgumentParser(prog="torture", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="one of " + ", ".join(PARTS))
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument("--nightly", action="store_const", dest="scale", const="nightly", help="try many more cases, also on other file systems: takes hours")
    scale.add_argument("--release", action="store_const", dest="scale", const="release", help="try all cases, or as many random ones as a release needs: takes days")
    parser.add_argument("--day", type=int, choices=range(1, 8), help="run a seventh of the rows, another one on each day of a week")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    if not arguments.scale and not arguments.parts:  # a commit's cases are the same each time: red means the change
        os.environ.setdefault("CLIPPER_SEED", "1")
    rows = [(row, getattr(row, arguments.scale or "per_commit")) for row in ROWS if row.part in (arguments.parts or PARTS)]
    if arguments.parts:  # what is named runs, even if a commit does not run it
        rows = [(row, row.nightly if more is None else more) for row, more in rows]
    rows = [row for row in rows if row[1] is not None]
    if arguments.day:
        rows = rows[arguments.day - 1::7]
    found = [figures(f"{row.command} {more}".strip()) for row, more in rows]
    print(table([cells(each) for each in found]))
    return 1 if any(each["violations"] for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
