"""Scenarios of one output that several processes write."""

import json
from dataclasses import replace

from checks import found
from modes import CHUNK, OPERATION, Mode
from mounts import mount_again
from place import Place, differences
from process import Fault
from scenarios import LARGE_NEW, LARGE_OLD, Scenario

SHARDS = 4


def shard(number: int) -> tuple[str, ...]:
    return (*OPERATION, "--chunk-size", str(CHUNK), "--shard", f"{number}/{SHARDS}")


def shards_done(place: Place) -> list[str]:
    """The last one dies before it puts the output in place."""
    before = {"in.npy": LARGE_OLD}
    place.put(before)
    mode = Mode("", (*shard(SHARDS - 1)[len(OPERATION):], "in.npy", "out.npy"), before, {}, shared=True)
    for number in range(SHARDS - 1):
        run = place.run(*shard(number), "in.npy", "out.npy")
        if run.code:
            return place.judged(replace(mode, shared=False), run)
    early = place.run("--finalize", "out.npy")
    names = [call.name for call in place.clipper.run(mode).calls]
    if found().get("out.npy") != LARGE_NEW:
        return ["four shards do not make the output"]
    texts = [] if early.code == 5 else [f"--finalize too early: exit {early.code}: {early.stderr}"]
    texts += differences(before | {"out.npy": LARGE_NEW})
    return texts + finalized(place, before, mode, len(names) - names[::-1].index("rename") if "rename" in names else 0)


def finalized(place: Place, before: dict[str, bytes], mode: Mode, at: int) -> list[str]:
    if not at:
        return ["no rename puts the output in place"]
    place.put(before)
    for number in range(SHARDS - 1):
        place.run(*shard(number), "in.npy", "out.npy")
    killed = place.clipper.run(mode, Fault(at, "KILL"))
    place.fired += killed.code == -9
    if "out.npy" in found():
        return ["the output was in place before its rename"]
    run = place.run("--finalize", "out.npy")
    return differences(before | {"out.npy": LARGE_NEW}) + ([f"--finalize: {run.code}: {run.stderr}"] if run.code else [])


def shards_mounted_again(place: Place) -> list[str]:
    before = {"in.npy": LARGE_OLD}
    place.put(before)
    texts = []
    for number in range(SHARDS):
        run = place.run(*shard(number), "in.npy", "out.npy")
        texts += [f"shard {number}: exit {run.code}: {run.stderr}"] if run.code else []
        mount_again(place.system)
    return texts + differences(before | {"out.npy": LARGE_NEW})


def split(place: Place) -> list[str]:
    before = {"in.npy": LARGE_OLD}
    place.put(before)
    runs = [place.run(*shard(number), "--split-output", "in.npy", "out.npy") for number in range(SHARDS)]
    texts = [f"exit {run.code}: {run.stderr}" for run in runs if run.code]
    names = [f"out.{number:05}-of-{SHARDS:05}.npy" for number in range(SHARDS)]
    files = found()
    parts = b"".join(files.pop(name, b"")[128:] for name in names)
    if parts != LARGE_NEW[128:]:
        texts.append("the parts are not the result")
    listed = json.loads(files.pop("out.json", b"{}"))
    texts += [] if all(name in json.dumps(listed) for name in names) else ["out.json does not list the parts"]
    return texts + [f"{name} is left" for name in files.keys() - before.keys()]


SHARDED = (
    Scenario("--shard, --finalize", shards_done, without=("symbolic links",)),
    Scenario("--shard, mounted again between shards", shards_mounted_again, needs=("a disk", "symbolic links")),
    Scenario("--shard --split-output", split),
)
