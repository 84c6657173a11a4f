"""Scenarios in which several processes write one output: --shard and --finalize."""

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

from actions import ACTIONS, Stuff
from checks import PLACING, SHARED, found
from modes import CHUNK, OPERATION, Mode, numbers, result, tensor
from mounts import mount_again
from place import Place, differences, refused
from process import Fault, Run, wait_for_stop
from scenarios import LARGE_NEW, LARGE_OLD, Scenario
from truth import NOTHING, OVERTAKEN

SHARDS = 4
BEFORE, AFTER = {"in.npy": LARGE_OLD}, {"in.npy": LARGE_OLD, "out.npy": LARGE_NEW}
FINALIZE = ("--finalize", "out.npy")
LOCAL = {"ext4", "XFS", "btrfs", "tmpfs"}  # elsewhere --finalize waits for missing files
OF_STOPPED = (".clipper-", ".fuse_hidden", ".ghost-ntfs-3g-", NOTHING)  # the stopped process
DECISIVE = PLACING | {"flock", "fsync", "ftruncate", "close_written"}  # a process is stopped at each of these calls


def shard(number: int) -> tuple[str, ...]:
    return (*OPERATION, "--chunk-size", str(CHUNK), "--shard", f"{number}/{SHARDS}", "in.npy", "out.npy")


def run_all(place: Place, *numbers: int) -> list[str]:
    runs = [place.run(*shard(number)) for number in numbers]
    return [f"shard: exit {run.code}: {run.stderr}" for run in runs if run.code or run.stderr]


def finished(place: Place, *again: int) -> list[str]:
    """Runs these shards and --finalize, after which OUT must be complete."""
    texts = run_all(place, *again)
    run = place.run(*FINALIZE)
    return texts + differences(AFTER) + ([f"--finalize: exit {run.code}: {run.stderr}"] if run.code or run.stderr else [])


def shards_done(place: Place) -> list[str]:
    """--finalize names the missing shards if it comes too early, and refuses a second time."""
    place.put(BEFORE)
    texts = [] if place.run(*FINALIZE).code == 5 else ["--finalize without shards: not refused with 5"]
    texts += run_all(place, 0, 2)
    early = place.run(*FINALIZE)
    texts += [] if early.code == 5 and "shards 1, 3 of 4 are missing" in early.stderr else [f"too early: {early}"]
    texts += finished(place, 1, 3)
    again = place.run(*FINALIZE)
    return texts + refused(again, 5) + differences(AFTER)


def shards_mounted_again(place: Place) -> list[str]:
    place.put(BEFORE)
    texts = []
    for number in range(SHARDS):
        texts += run_all(place, number)
        mount_again(place.system)
    return texts + finished(place)


# Processes stopped while others act ---------------------------------------------------------------------


def stopped(place: Place, words: tuple[str, ...], shards: range, meanwhile: Callable[[], list[str]]) -> Iterator[tuple[str, list[str], Run]]:
    """Stops the command, after these shards, at each decisive call and at some others, and calls `meanwhile`. Yields the call, violations and run."""
    def prepare() -> list[str]:
        place.put(BEFORE)
        return run_all(place, *shards)

    mode = Command(words)
    prepare()
    calls = [call.name for call in place.clipper.run(mode).calls]
    others = [at for at, name in enumerate(calls, 1) if name not in DECISIVE]
    chosen = {at for at, name in enumerate(calls, 1) if name in DECISIVE} | {*place.source.sample(others, min(place.often, len(others)))}
    for at in sorted(chosen) if place.system.name in LOCAL else place.source.sample(sorted(chosen), place.often):
        texts = []

        def act(pid: int) -> None:
            if wait_for_stop(pid):
                place.fired += 1
                texts.extend(meanwhile())
                os.kill(pid, signal.SIGCONT)

        texts += prepare()
        run = place.clipper.run(mode, Fault(at, "STOP"), act)
        place.runs += 1
        yield f"stopped before call {at}, {calls[at - 1]}: ", texts, run


class Command(Mode):
    """A command line without further options."""

    def __init__(self, words: tuple[str, ...]):
        super().__init__("", words, {}, {})

    @property
    def arguments(self) -> list[str]:
        return [*self.words]


def two_finalize(place: Place) -> list[str]:
    """One --finalize is stopped, another one finalizes, a late shard runs, the first continues: OUT must stay as it is."""
    texts = []
    for where, wrong, run in stopped(place, FINALIZE, range(SHARDS), lambda: finished_but_litter(place) + run_all(place, 0)):
        wrong += [] if found().get("out.npy") == LARGE_NEW else ["OUT is wrong"]
        wrong += refused(run, 5) if run.code else []
        known = re.search("shards? [1-3][^0]* of 4 (is|are) missing", run.stderr)  # not shard 0, which has run again
        wrong += [] if run.code == 0 or known or any(text in run.stderr for text in (NOTHING, OVERTAKEN)) else [f"false: {run.stderr}"]
        wrong += finished(place, *range(SHARDS))
        texts += [where + text for text in wrong]
    return texts


def common_file_removed(place: Place) -> list[str]:
    """Somebody removes the file with all parts while --finalize is stopped. --finalize is right, or does not blame another one."""
    def remove() -> list[str]:
        for path in Path().glob("out.npy.shards.*"):
            path.unlink()
        return []

    texts = []
    for where, wrong, run in stopped(place, FINALIZE, range(SHARDS), remove):
        wrong += refused(run, 5) if run.code else []
        wrong += [] if run.code or found().get("out.npy") == LARGE_NEW else ["OUT is wrong"]
        wrong += [f"false: {run.stderr}"] if OVERTAKEN in run.stderr else []
        texts += [where + text for text in wrong]
    return texts


def late_shard(place: Place) -> list[str]:
    """A shard is stopped, another process runs the same shard and --finalize, the first continues: OUT must stay as it is."""
    texts = []
    for where, wrong, run in stopped(place, shard(0), range(1, SHARDS), lambda: finished_but_litter(place, 0)):
        wrong += [] if found().get("out.npy") == LARGE_NEW else ["OUT is wrong"]
        wrong += [f"exit {run.code}: {run.stderr}"] if run.code or run.stderr else []
        wrong += finished(place, *range(SHARDS))
        texts += [where + text for text in wrong]
    return texts


def finished_but_litter(place: Place, *again: int) -> list[str]:
    """Like finished(), but ignores what the stopped process has left or already done."""
    return [text for text in finished(place, *again) if not any(word in text for word in OF_STOPPED)]


# Damaged files ------------------------------------------------------------------------------------------


def harmed(place: Place) -> list[str]:
    """An outsider acts on a file of the shards. --finalize must be right or refuse, also after all shards ran again. After all
    leftover files are removed, a new run must succeed."""
    place.put(BEFORE)
    run_all(place, *range(SHARDS))
    kinds = sorted({kind_of(name) for name in found() if SHARED.fullmatch(name)})
    pairs = [(kind, action) for kind in kinds for action in ACTIONS if not ACTIONS[action].of_directory]
    if place.system.name not in LOCAL:
        pairs = place.source.sample(pairs, place.often)
    return [f"{action}, {kind}: {text}" for kind, action in pairs for text in harmed_once(place, kind, action)]


def kind_of(name: str) -> str:
    """The name without the run's fingerprint."""
    return re.sub(r"\.[0-9a-f]{16}", "", name)


def harmed_once(place: Place, kind: str, action: str) -> list[str]:
    place.put(BEFORE)
    run_all(place, *range(SHARDS))
    name = next(name for name in found() if kind_of(name) == kind)
    try:
        ACTIONS[action].do(name, Stuff(tensor(numbers(10)), tensor(result(numbers(20)))))
    except OSError:  # the file system does not support the action
        return []
    texts = []
    for again in ((), range(SHARDS)):
        runs = [*(place.run(*shard(number)) for number in again), place.run(*FINALIZE)]
        texts += [text for run in runs if run.code for text in refused(run, 4, 5)]
        now = Path("out.npy").read_bytes() if os.path.exists("out.npy") else None
        texts += [] if now == (None if runs[-1].code else LARGE_NEW) else ["OUT is wrong"]
        if runs[-1].code == 0:
            return texts
    for path in Path().iterdir():
        if path.name not in BEFORE:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    return texts + finished(place, *range(SHARDS))


def split(place: Place) -> list[str]:
    place.put(BEFORE)
    runs = [place.run(*shard(number)[:-2], "--split-output", "in.npy", "out.npy") for number in range(SHARDS)]
    texts = [f"exit {run.code}: {run.stderr}" for run in runs if run.code]
    names = [f"out.{number:05}-of-{SHARDS:05}.npy" for number in range(SHARDS)]
    files = found()
    parts = b"".join(files.pop(name, b"")[128:] for name in names)
    if parts != LARGE_NEW[128:]:
        texts.append("the parts are not the result")
    listed = json.loads(files.pop("out.json", b"{}"))
    texts += [] if all(name in json.dumps(listed) for name in names) else ["out.json does not list the parts"]
    return texts + [f"{name} is left" for name in files.keys() - BEFORE.keys()]


SHARDED = (
    Scenario("--shard, --finalize", shards_done),
    Scenario("--shard, mounted again between shards", shards_mounted_again, needs=("a disk",)),
    Scenario("--finalize, stopped, while another one finalizes and a shard comes late", two_finalize),
    Scenario("--finalize, stopped, while the parts are removed", common_file_removed),
    Scenario("--shard, stopped, while its part is done again and finalized", late_shard),
    Scenario("--shard, --finalize, files harmed", harmed),
    Scenario("--shard --split-output", split),
)
