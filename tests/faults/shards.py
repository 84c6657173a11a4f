#!/usr/bin/env python3
"""Random schedules of shards over one or several mounts of a file system: in any order, at once, killed, stopped, run again, run
twice, with strangers among them, and with --finalize whenever. Prints a row of figures as JSON.

    shards.py CLIPPER [--schedules N] [--mounts A:B:C] [--disturb]

At every instant, and seen from every mount, OUT is as it was before or complete; what --finalize says of shards is true; after its
exit 0 OUT is complete, and nothing keeps another run from the same OUT. CLIPPER's neighbour libclipper_faults.so kills and stops at
a call. --disturb: the file system is disturbed, too, by the program $CLIPPER_DISTURB, see disturb.py.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from functools import partial
from multiprocessing import Pool
from pathlib import Path

sys.dont_write_bytecode = True

from attempts import FINALIZE, SHARD, STRANGER  # noqa: E402
from disturb import DISTURBANCES, Disturber  # noqa: E402
from schedules import Outcome, Schedule  # noqa: E402
from settings import random_setting  # noqa: E402

SHOWN = 20  # violations
WRONG = "neither old nor new"  # of OUT, by watch.py
ENOUGH = 100  # schedules, after which everything has been done that can be done
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
        schedule.violation(f"does not come to an end: {[(each.kind, each.shard) for each in schedule.running]}")
    except OSError as error:
        schedule.violation(repr(error))
    finally:
        schedule.abandon()
        shutil.rmtree(roots[0], ignore_errors=True)
    begin = f"--first {seed}: {setting.shards} shards, {len(setting.tensor)} bytes"
    outcome.violations = [f"{begin}: {text}" for text in outcome.violations]
    return outcome


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clipper", type=lambda text: Path(text).resolve())
    parser.add_argument("--schedules", type=int, default=100)
    parser.add_argument("--first", type=int, default=1, help="the first schedule's seed")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)), help="schedules at once; 1 with --disturb")
    parser.add_argument("--mounts", default=os.environ.get("CLIPPER_MOUNTS") or tempfile.gettempdir(),
                        help="directories that show the same files (default: $CLIPPER_MOUNTS, or the system's for temporary files)")
    parser.add_argument("--disturb", action="store_true")
    parser.add_argument("--bytes", action="store_true", help="what a busy client shows late, so that --finalize refuses or leaves "
                        "something, is printed but no violation: only an OUT of wrong bytes is")
    parser.add_argument("--name", default="", help="of the file system, for the row")
    arguments = parser.parse_args()
    if arguments.disturb and "CLIPPER_DISTURB" not in os.environ:
        parser.error("--disturb needs $CLIPPER_DISTURB")
    return arguments


def unfired(arguments: argparse.Namespace, total: Outcome) -> list[str]:
    """What has never been done."""
    wanted = [*ALWAYS, *(each.name for each in DISTURBANCES if arguments.disturb)]
    never = [name for name in wanted if not total.counts[name]]
    return [f"never done: {name}" for name in never] if arguments.schedules >= ENOUGH else []


def main() -> int:
    arguments, start, total = parsed(), time.monotonic(), Outcome()
    disturb = os.environ["CLIPPER_DISTURB"] if arguments.disturb else None
    mounts = [Path(mount).resolve() for mount in arguments.mounts.split(":")]
    seeds = range(arguments.first, arguments.first + arguments.schedules)
    with (tempfile.TemporaryDirectory(prefix="shards-", dir=mounts[0], ignore_cleanup_errors=True) as directory,
          Pool(1 if disturb else arguments.processes) as pool):
        directories = [mount / Path(directory).name for mount in mounts]
        for outcome in pool.imap_unordered(partial(try_schedule, arguments.clipper, directories, disturb), seeds):
            total.counts += outcome.counts
            total.violations += outcome.violations
    violations = total.violations + unfired(arguments, total)
    print(*violations[:SHOWN], sep="\n", end="\n" if violations else "")
    if arguments.bytes:
        violations = [text for text in violations if WRONG in text]
    print("shards:", ", ".join(f"{count:,} {name}" for name, count in sorted(total.counts.items())))
    fired = sum(count for name, count in total.counts.items() if name in ("stopped", "disturbances") or name.startswith("killed"))
    what = " ".join(["schedules of shards", *(["on", arguments.name] if arguments.name else [])])
    row = {"what": what, "cases": arguments.schedules, "fired": fired, "violations": len(violations)}
    print(json.dumps(row | {"seconds": round(time.monotonic() - start, 1)}))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
