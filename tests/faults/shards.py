#!/usr/bin/env python3
"""Runs shards in random schedules on one or several mounts of a file system. Prints a row of figures as JSON.

    shards.py CLIPPER [--schedules N] [--mounts A:B:C] [--disturb]

A schedule runs shards in any order and at once; kills, stops and repeats them; starts --finalize at any time and shards of
other runs ("strangers") with the same OUT. At every instant and on every mount OUT must be as before or complete. What
--finalize says of shards must be true. After its exit 0 OUT must be complete, and another run must be able to write OUT.
libclipper_faults.so, next to CLIPPER, kills and stops processes at a call.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
from functools import partial
from multiprocessing import Pool
from pathlib import Path

sys.dont_write_bytecode = True

import figures  # noqa: E402
from attempts import FINALIZE, SHARD, STRANGER  # noqa: E402
from disturb import DISTURBANCES, Disturber  # noqa: E402
from schedules import Outcome, Schedule  # noqa: E402
from settings import random_setting  # noqa: E402

ENOUGH = 100  # so many schedules must have done everything in ALWAYS
ALWAYS = (SHARD, FINALIZE, STRANGER, "late shards", "stopped", "harms", "killed before their record",
          "killed after their record", "killed before OUT", "killed cleaning up")


def try_schedule(clipper: Path, directories: list[Path], disturb: str | None, seed: int) -> Outcome:
    source = random.Random(seed)
    setting, roots = random_setting(source), [directory / str(seed) for directory in directories]
    roots[0].mkdir()
    schedule = Schedule(clipper, source, setting, roots, Disturber(disturb, len(roots)))
    outcome = schedule.outcome
    try:
        schedule.run()
    except TimeoutError:
        schedule.violation(f"still running after the time limit: {[(each.kind, each.shard) for each in schedule.running]}")
    except OSError as error:
        schedule.violation(repr(error))
    finally:
        schedule.abandon()
        shutil.rmtree(roots[0], ignore_errors=True)
    begin = f"--first {seed}: {setting.shards} shards, {len(setting.tensor)} bytes"
    outcome.violations = [f"{begin}: {text}" for text in outcome.violations]
    return outcome


def parsed() -> argparse.Namespace:
    parser = figures.parser(__doc__, "clipper", "the clipper to try")
    parser.add_argument("--schedules", type=int, default=100, help="number of schedules (default: 100)")
    parser.add_argument("--first", type=int, default=1, help="seed of the first schedule; the next ones count up (default: 1)")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)),
                        help="number of schedules at once (default: all CPUs; 1 with --disturb)")
    parser.add_argument("--mounts", default=os.environ.get("CLIPPER_MOUNTS") or tempfile.gettempdir(),
                        help="A:B:C, mounts of one file system (default: $CLIPPER_MOUNTS, or the directory for temporary files)")
    parser.add_argument("--disturb", action="store_true", help="disturb the file system with the program $CLIPPER_DISTURB")
    parser.add_argument("--name", default="", help="name of the file system, for the row of figures")
    arguments = parser.parse_args()
    if arguments.disturb and "CLIPPER_DISTURB" not in os.environ:
        parser.error("--disturb needs $CLIPPER_DISTURB, which tests/engines/gluster and moosefs set")
    return arguments


def unfired(arguments: argparse.Namespace, total: Outcome) -> list[str]:
    """The things that no schedule has done."""
    wanted = [*ALWAYS, *(each.name for each in DISTURBANCES if arguments.disturb)]
    never = [name for name in wanted if not total.counts[name]]
    return [f"never done: {name}" for name in never] if arguments.schedules >= ENOUGH else []


def main() -> int:
    arguments, total = parsed(), Outcome()
    tried = figures.Figures(" ".join(["schedules of shards", *(["on", arguments.name] if arguments.name else [])]))
    disturb = os.environ["CLIPPER_DISTURB"] if arguments.disturb else None
    mounts = [Path(mount).resolve() for mount in arguments.mounts.split(":")]
    seeds = range(arguments.first, arguments.first + arguments.schedules)
    with (tempfile.TemporaryDirectory(prefix="shards-", dir=mounts[0], ignore_cleanup_errors=True) as directory,
          Pool(1 if disturb else arguments.processes) as pool):
        directories = [mount / Path(directory).name for mount in mounts]
        for outcome in pool.imap_unordered(partial(try_schedule, arguments.clipper, directories, disturb), seeds):
            total.counts += outcome.counts
            total.violations += outcome.violations
    print("shards:", ", ".join(f"{count:,} {name}" for name, count in sorted(total.counts.items())))
    fired = sum(count for name, count in total.counts.items() if name in ("stopped", "disturbances") or name.startswith("killed"))
    tried.add(arguments.schedules, fired, total.violations + unfired(arguments, total))
    return tried.printed()


if __name__ == "__main__":
    sys.exit(main())
