"""The random setting of a schedule: the tensor, the number of shards, and how often something happens to the processes."""

import random
from dataclasses import dataclass

from modes import header

MIB = 1 << 20
MAX_SIZE = 12 * MIB
OPERATION, OTHER_OPERATION = ("--min", "1", "--max", "96"), ("--min", "2", "--max", "64")  # exact in every dtype
DTYPES = ("<f2", ">f2", "<V2", "<f4", ">f4", "<f8", "|i1", "<i2", "<i4", ">i8", "|u1", "<u2", "<u4", "<u8", ">m8[D]", "|V1")
OPAQUE = {"<V2": ("--dtype", "bfloat16"), "|V1": ("--dtype", "float8_e4m3fn")}  # the dtypes that a header does not tell


@dataclass(frozen=True)
class Setting:
    """One run of shards, and limits for what happens to it."""
    tensor: bytes
    other: bytes  # another input of the same shape
    words: tuple[str, ...]  # options of all shards, besides the bounds
    shards: int
    old: bytes | None  # OUT before the run
    at_once: int  # max number of processes that are running
    deadly: float  # the share of processes that are killed
    deaths: int  # max number of killed processes
    sleepers: int  # max number of stopped processes
    strangers: int  # max number of shards of other runs
    harms: int  # max number of parts and records that are damaged or removed
    extras: int  # number of repeated shards and early --finalize
    disturbances: int  # max number of disturbances of the file system


def random_tensors(source: random.Random) -> tuple[bytes, bytes, tuple[str, ...]]:
    """Two tensors of one shape, with 0 to 12 MiB, half of them below 1 MiB; and the options that they need."""
    descr, columns = source.choice(DTYPES), source.choice((1, 3, 64))
    row = columns * int(descr[2])
    rows = int(source.choice((2 ** source.uniform(0, 20), source.uniform(0, MAX_SIZE)))) // row
    shape = (rows,) if columns == 1 else (rows, columns)
    start = header(descr, shape, source.random() < 0.5)
    one, other = (start + source.randbytes(rows * row) for _ in range(2))
    return one, other, OPAQUE.get(descr, ())


def random_setting(source: random.Random) -> Setting:
    tensor, other, words = random_tensors(source)
    more_than_mib = len(tensor) // MIB + source.randint(2, 5)
    return Setting(
        tensor=tensor,
        other=other,
        words=(*words, "--threads", source.choice("12"), *source.choice(((), ("--chunk-size", "4096")))),
        shards=source.choice((1, 2, 7, more_than_mib)),
        old=source.choice((None, b"something else" * 1000)),
        at_once=source.choice((1, 2, 4, 8)),
        deadly=source.choice((0, 0.3, 0.7)),
        deaths=source.randint(1, 20),
        sleepers=source.choice((0, 1, 3)),
        strangers=source.randint(0, 3),
        harms=source.choice((0, 1, 2, 3)),
        extras=source.randint(0, 6),
        disturbances=source.choice((0, 1, 1, 2)))
