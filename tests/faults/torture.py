#!/usr/bin/env python3
"""Tries to break clipper and prints one table of the results. Exits with 1 if there were violations.

    scripts/torture [--nightly | --release] [PART...]    runs these parts (default: all)
"""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True

from machines import MACHINES  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Row:
    """A command that prints violations and, as its last line, a JSON object: `what`, `cases`, `violations`; `fired` and
    `seconds` if it knows them; `skipped`, the reason, if the machine cannot run it."""
    part: str
    command: str
    per_commit: str | None  # arguments added to the command; None: only run if the part is named
    nightly: str
    release: str


SCHEDULES = "python3 tests/faults/shards.py build/clipper"
FAULTS, POWER, FUZZ = "python3 tests/faults/faults.py build", "python3 tests/faults/power.py build", "tests/fuzz/run"
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
    Row("hostile", "python3 tests/faults/hostile.py build", "", "", ""),
    Row("limits", "python3 tests/faults/limits.py build", "--runs 300", "--runs 1200", ""),
    Row("kills", f"{FAULTS} kills", "--runs 40", "--runs 1000", "--runs 10000"),
    Row("races", f"{FAULTS} races", "--runs 50", "--runs 500", "--runs 1000"),
    Row("power", f"{POWER} ext4", "--runs 40", "--runs 200", "--runs 1000"),
    Row("power", f"{POWER} xfs", "--runs 40", "--runs 200", "--runs 1000"),
    Row("power", "python3 tests/faults/disorder.py build/clipper", "--runs 125", "--runs 500", "--runs 2500"),
    Row("systems", "python3 tests/faults/systems.py build", None, "", "--runs 100"),
    Row("shards", SCHEDULES, "--schedules 60", "--schedules 1000", "--schedules 10000"),
    Row("networks", f"tests/engines/gluster distributed {SCHEDULES} --name GlusterFS,distributed", None, "--schedules 100 --disturb", "--schedules 1000 --disturb"),
    Row("networks", f"tests/engines/gluster replicated {SCHEDULES} --name GlusterFS,replicated", None, "--schedules 100 --disturb", "--schedules 1000 --disturb"),
    Row("networks", f"tests/engines/gluster dispersed {SCHEDULES} --disturb --name GlusterFS,dispersed", None, "--schedules 30", "--schedules 100"),
    Row("networks", f"tests/engines/gluster sharded {SCHEDULES} --disturb --name GlusterFS,sharded", None, "--schedules 30", "--schedules 100"),
    Row("networks", f"tests/engines/moosefs {SCHEDULES} --disturb --name MooseFS", None, "--schedules 100", "--schedules 1000"),
    Row("networks", f"tests/engines/sshfs {SCHEDULES} --name sshfs", None, "--schedules 30", "--schedules 100"),
    Row("fuzz", f"{FUZZ} damaged_headers", "some", "all", "all"),
    Row("fuzz", "python3 tests/fuzz/damaged_headers.py build/clipper some one", None, "", ""),
    Row("fuzz", f"{FUZZ} headers_vs_numpy", "5000", "100000", "1000000"),
    Row("fuzz", f"{FUZZ} safetensors_vs_library", "20000", "1000000", "10000000"),
    Row("fuzz", f"{FUZZ} arrays_vs_numpy", "100", "4000", "100000"),
    Row("fuzz", "python3 tests/fuzz/arrays_vs_numpy.py build/clipper", "1000", "20000", "100000"),
    Row("fuzz", f"{FUZZ} casts_vs_fractions", "100", "4000", "100000"),
    Row("fuzz", "python3 tests/fuzz/casts_vs_fractions.py build/clipper", "1000", "100000", "1000000"),
    Row("fuzz", "python3 tests/fuzz/casts_exhaustive.py build/clipper", None, "", ""),
    Row("fuzz", "python3 tests/fuzz/float8_vs_ml_dtypes.py build/clipper", None, "", ""),
    Row("fuzz", "python3 tests/fuzz/clips_vs_frameworks.py build/clipper", None, "120000", "1200000"),
    Row("fuzz", f"{FUZZ} npz_vs_numpy", "40", "2000", "100000"),
    Row("fuzz", "python3 tests/fuzz/npz_vs_numpy.py build/clipper", "300", "10000", "100000"),
    Row("fuzz", f"{FUZZ} compare_vs_numpy", "100", "4000", "100000"),
    Row("fuzz", f"{FUZZ} dates_vs_numpy", "100", "4000", "100000"),
    Row("fuzz", f"{FUZZ} statistics_vs_exact", "100", "4000", "100000"),
    Row("fuzz", f"{FUZZ} percentiles_vs_numpy", "100", "4000", "100000"),
    Row("fuzz", f"{FUZZ} header_fuzz", "300000", "10000000", "1000000000"),
    Row("fuzz", f"{FUZZ} bounds_fuzz", "100000", "10000000", "100000000"),
    Row("fuzz", f"{FUZZ} clip_fuzz", "10000", "300000", "10000000"),
    Row("fuzz", f"{FUZZ} comparison_fuzz", "10000", "300000", "10000000"),
    Row("fuzz", f"{FUZZ} npz_fuzz", "50000", "1000000", "10000000"),
    Row("fuzz", f"{FUZZ} program_fuzz", "5000", "100000", "10000000"),
    Row("fuzz", f"{FUZZ} program_afl", None, "100000", "1000000"),
    *(Row("machines", f"python3 tests/faults/machines.py build {name.replace(' ', '_')}", None, "", "") for name in MACHINES),
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
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    rows = [(row, getattr(row, arguments.scale or "per_commit")) for row in ROWS if row.part in (arguments.parts or PARTS)]
    if arguments.parts:  # what is named runs, even if a commit does not run it
        rows = [(row, row.nightly if more is None else more) for row, more in rows]
    found = [figures(f"{row.command} {more}".strip()) for row, more in rows if more is not None]
    print(table([cells(each) for each in found]))
    return 1 if any(each["violations"] for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
