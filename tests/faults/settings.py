"""What a random schedule of shards is about: the tensor, the number of parts, and how often something is done to the processes."""

import random
import struct
from dataclasses import dataclass

MIB = 1 << 20
MAX_SIZE = 12 * MIB
OPERATION, OTHER_OPERATION = ("--min", "1", "--max", "100"), ("--min", "2", "--max", "99")  # possible with every dtype
DTYPES = ("<f2", ">f2", "<V2", "<f4", ">f4", "<f8", "|i1", "<i2", "<i4", ">i8", "|u1", "<u2", "<u4", "<u8")


@dataclass(frozen=True)
class Setting:
    """One job, and how it is treated."""
    tensor: bytes
    other: bytes  # another input of the same shape
    words: tuple[str, ...]  # of all its shards, but for the operation
    shards: int
    old: bytes | None  # OUT before
    at_once: int
    deadly: float  # the share of runs that are killed
    deaths: int  # at most
    sleepers: int  # at most
    strangers: int  # at most
    harms: int  # at most: somebody's writes into parts and records, or their removal
    extras: int  # duplicates of shards, and --finalize whenever
    disturbances: int  # at most


def random_tensors(source: random.Random) -> tuple[bytes, bytes, tuple[str, ...]]:
    """Two of one shape, with 0 to 12 MiB, half of them below 1 MiB; and what else has to be said of them."""
    descr, columns = source.choice(DTYPES), source.choice((1, 3, 64))
    row = columns * int(descr[2])
    rows = int(source.choice((2 ** source.uniform(0, 20), source.uniform(0, MAX_SIZE)))) // row
    shape = (rows,) if columns == 1 else (rows, columns)
    text = f"{{'descr': '{descr}', 'fortran_order': {source.random() < 0.5}, 'shape': {shape}, }}".encode()
    size = -(10 + len(text) + 1) % 64 + len(text) + 1
    header = b"\x93NUMPY\x01\x00" + struct.pack("<H", size) + text.ljust(size - 1) + b"\n"
    one, other = (header + source.randbytes(rows * row) for _ in range(2))
    return one, other, ("--dtype", "bfloat16") if descr == "<V2" else ()


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
