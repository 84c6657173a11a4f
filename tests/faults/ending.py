"""The end of a schedule: OUT is in place, only permitted files are left, and further runs can write the same OUT."""

import os
import subprocess
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from attempts import DONE, KILLED, SHARD, STRANGER
from beside import ALIAS, IN, OF_SHARD, OUT, OWN_NAMES, RUN
from modes import TEMPORARY
from settings import OPERATION, OTHER_OPERATION
from watch import PATIENCE

if TYPE_CHECKING:
    from schedules import Schedule

FURTHER = 2  # shards of another run


def finish(schedule: "Schedule") -> None:
    """Called after all processes have ended. Another run writes the same OUT; then the first run, repeated, must remove what
    late shards have left."""
    if not schedule.watch.is_in_place():
        schedule.violation("--finalize has ended with 0, and not every mount sees it")
    expect_nothing_but(schedule, lambda name: may_be_left(schedule, name))
    run_all(schedule, OTHER_OPERATION, FURTHER, schedule.other_new)
    expect_nothing_but(schedule, lambda name: name != RUN and may_be_left(schedule, name))
    if schedule.source.random() < 0.3:
        shards = schedule.setting.shards
        run_all(schedule, OPERATION, shards, schedule.new)
        own = RUN, schedule.names.common, *map(schedule.names.part, range(shards)), *map(schedule.names.record, range(shards))
        expect_nothing_but(schedule, lambda name: name not in own and may_be_left(schedule, name))


def run_all(schedule: "Schedule", operation: tuple[str, ...], shards: int, new: bytes) -> None:
    schedule.watch.history.append(new)
    words = [("--shard", f"{shard}/{shards}", *operation, *schedule.setting.words, IN) for shard in range(shards)]
    for each in (*words, ("--finalize", *schedule.source.choice(((), words[0])))):
        root = schedule.source.choice(schedule.roots)
        run = subprocess.run([schedule.clipper, *(root / word if word == IN else word for word in each), root / OUT],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=schedule.limit)
        if run.returncode or run.stderr:
            schedule.violation(f"a further run, {' '.join(each[:2])}: exit {run.returncode}, {run.stderr!r}")
    if not schedule.watch.is_in_place():
        schedule.violation("a further run's OUT is not in place")


def may_be_left(schedule: "Schedule", name: str) -> bool:
    """Killed processes, strangers, and shards that ended after the last --finalize had begun may leave files."""
    if name.startswith(ALIAS) and schedule.outcome.counts["servers killed"]:  # a client may not see the link
        return True
    if TEMPORARY.fullmatch(name):
        return any(attempt.code == KILLED or attempt.disturbed for attempt in schedule.ended)
    ends = [(attempt.begin, attempt.code == DONE) for attempt in schedule.truth.cleaners]
    last = max((begin for begin, done in ends if done), default=min(ends)[0])
    late = {attempt.shard for attempt in schedule.ended if attempt.kind == SHARD and attempt.end > last}
    if schedule.names.fingerprint in name:
        of_shard = OF_SHARD.fullmatch(name)
        return int(of_shard[1]) in late if of_shard else bool(late) and name == schedule.names.common
    return bool(schedule.outcome.counts[STRANGER] or late) and bool(name.startswith(RUN) or OF_SHARD.fullmatch(name))


def expect_nothing_but(schedule: "Schedule", allowed: Callable[[str], bool]) -> None:
    """Waits until only allowed files are left, because a mount may show removed names for a while."""
    end = time.monotonic() + PATIENCE
    while left := [name for name in os.listdir(schedule.roots[0]) if name not in OWN_NAMES and not allowed(name)]:
        if time.monotonic() > end:
            run = (schedule.roots[0] / RUN).read_text() if RUN in left else ""
            schedule.violation(f"left: {sorted(left)} {run}")
            return
        time.sleep(0.1)
