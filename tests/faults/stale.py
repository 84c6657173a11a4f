"""IN changes between two shards, and the second one's machine shows its new bytes with the old time until it has waited, as
clients of network file systems do: --finalize must refuse, or OUT must be the result of one content."""

import functools
import os
import random
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace

import loops
from actions import overwrite
from checks import found, prepare
from loops import Outcome
from modes import Mode, numbers, result, tensor

SIZE, HEADER = 4, 128
FIRST, COUNT = 1 << 19, 600_000  # elements up to which, without the header, the first part of 2 MiB goes; all elements
WRITTEN_AT = 1_700_000_000
PARTS = [Mode(f"shard {part}", ("--shard", f"{part}/2", "in.npy", "out.npy"), {}, {}, remote=True) for part in range(2)]
FINALIZE = Mode("--finalize", ("--finalize", "out.npy"), {}, {}, after_shards=(PARTS[0],))


@dataclass(frozen=True)
class Case:
    positions: tuple[int, int]  # elements that change, one of each part


def cases(runs: int, seed: int) -> Iterator[Case]:
    source = random.Random(seed)
    for _ in range(runs or 100):
        yield Case((source.randrange(FIRST), source.randrange(FIRST, COUNT)))


@functools.lru_cache(1)
def contents() -> tuple[bytes, bytes]:
    """The input and its result."""
    values = numbers(COUNT)
    return tensor(values), tensor(result(values))


def changed(content: bytes, at: int, values: array) -> bytes:
    place = HEADER + SIZE * at
    return content[:place] + values.tobytes() + content[place + SIZE:]


def try_case(case: Case) -> Outcome:
    old, new_result = contents()
    prepare({"in.npy": old})
    os.utime("in.npy", (WRITTEN_AT, WRITTEN_AT))
    first = loops.clipper.run(PARTS[0])
    for at in case.positions:
        value = array("f", [500])  # in no element of numbers()
        overwrite("in.npy", value.tobytes(), HEADER + SIZE * at)
        new_result = changed(new_result, at, result(value))
    second = loops.clipper.run(replace(PARTS[1], stale=f"{os.stat('in.npy').st_ino}:{WRITTEN_AT}"))
    joined = loops.clipper.run(FINALIZE)
    texts = [] if first.code == 0 else [f"shard 0: exit {first.code}: {first.stderr}"]
    texts += [] if second.code in (0, 4) else [f"shard 1: exit {second.code}: {second.stderr}"]
    if joined.code == 0 and found().get("out.npy") not in (contents()[1], new_result):
        texts.append("exit 0, but OUT is a mixture")
    elif joined.code not in (0, 5):
        texts.append(f"--finalize: exit {joined.code}: {joined.stderr}")
    return Outcome(1, 1, [f"{case}: {text}" for text in texts])
