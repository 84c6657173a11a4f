"""What clipper is asked to do: the files before, and what they may be afterwards."""

import random
import struct
from array import array
from dataclasses import dataclass, field

# Applied twice it gives something else than once, and so on.
OPERATION = ("--bias", "1", "--min", "-50", "--max", "1000")
LOWEST, HIGHEST = -50.0, 1000.0
CHUNK = 4096
BATCH = 32 * CHUNK  # of a direct run
JOURNAL = ".in.npy.clipper-journal"

Files = dict[str, bytes]


def tensor(values: array) -> bytes:
    """As numpy saves it."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}".encode()
    size = -(10 + len(text) + 1) % 64 + len(text) + 1
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", size) + text.ljust(size - 1) + b"\n" + values.tobytes()


def result(values: array, times: int = 1) -> array:
    """Computed here, not by clipper; multiples of 1/4 are exact."""
    for _ in range(times):
        values = array("f", (min(max(value + 1, LOWEST), HIGHEST) for value in values))
    return values


def numbers(count: int, seed: int = 1) -> array:
    source = random.Random(seed)
    return array("f", (source.randrange(-400, 400) / 4 for _ in range(count)))


def batches(count: int) -> array:
    """As many batches and a bit; the second does not change."""
    values = numbers(count * BATCH // 4 + 500)
    values[BATCH // 4 : 2 * BATCH // 4] = array("f", [HIGHEST]) * (BATCH // 4)
    return values


@dataclass(frozen=True)
class Mode:
    """One way to run clipper. Files are given by name: before the run, and those that it makes or changes."""
    name: str
    words: tuple[str, ...]
    before: Files
    after: Files
    stdin: bytes | None = None
    stdout: bytes = b""
    durable: bool = False  # it may end with 6
    named: bool = False  # the file system has no unnamed files
    direct: bool = False
    shared: bool = False  # the only shard of an output
    threads: int = 1
    directories: tuple[str, ...] = field(default=())  # that it makes

    @property
    def arguments(self) -> list[str]:
        """A later --chunk-size or --threads is none: each mode gives its own or none."""
        chunk = [] if "--chunk-size" in self.words else ["--chunk-size", str(CHUNK)]
        return [*OPERATION, "--threads", str(self.threads), *chunk, *self.words]


def one_file(name: str, words: tuple[str, ...], values: array, **more) -> Mode:
    """IN OUT."""
    return Mode(name, (*words, "in.npy", "out.npy"), {"in.npy": tensor(values)}, {"out.npy": tensor(result(values))}, **more)


def replacement(name: str, words: tuple[str, ...], **more) -> Mode:
    """IN OUT, which exists."""
    before = {"in.npy": tensor(numbers(10_000)), "out.npy": b"something else" * 5000}
    after = {"out.npy": tensor(result(numbers(10_000)))}
    return Mode(name, (*words, "in.npy", "out.npy"), before, after, **more)


def in_place(name: str, values: array, *words: str, **more) -> Mode:
    before, after = {"in.npy": tensor(values)}, {"in.npy": tensor(result(values))}
    return Mode(name, ("--in-place", *words, "in.npy"), before, after, durable=True, **more)


def many_files(name: str, words: tuple[str, ...], directory: str, **more) -> Mode:
    values = {f"{letter}.npy": numbers(3000, i) for i, letter in enumerate("abc")}
    before = {file: tensor(each) for file, each in values.items()}
    after = {directory + file: tensor(result(each)) for file, each in values.items()}
    return Mode(name, (*words, *before), before, after, **more)


def streams() -> list[Mode]:
    values = numbers(10_000)
    source, target = tensor(values), tensor(result(values))
    return [Mode("pipe to pipe", ("-", "-"), {}, {}, source, target),
            Mode("pipe to file", ("-", "out.npy"), {}, {"out.npy": target}, source),
            Mode("file to pipe", ("in.npy", "-"), {"in.npy": source}, {}, None, target)]


def modes() -> list[Mode]:
    """All but resumed direct runs, whose files before depend on where the first run ended."""
    values = numbers(10_000)
    return [
        one_file("new", (), values),
        one_file("new, space reserved", ("--chunk-size", "262144"), numbers(300_000)),
        one_file("new, --sync", ("--sync",), values, durable=True),
        one_file("new, --no-clobber", ("--no-clobber",), values),
        one_file("new, named", (), values, named=True),
        one_file("new, named, --sync", ("--sync",), values, named=True, durable=True),
        replacement("replace", ()),
        replacement("replace, --sync", ("--sync",), durable=True),
        replacement("replace, named", (), named=True),
        in_place("in place", values),
        in_place("in place, named", values, named=True),
        in_place("direct", batches(4), "--direct", direct=True),
        *streams(),
        one_file("shard", ("--shard", "0/1"), values, shared=True, durable=True),
        replacement("shard, replace", ("--shard", "0/1"), shared=True, durable=True),
        many_files("3 files, --output-dir", ("--output-dir", "made"), "made/", directories=("made",)),
        many_files("3 files, --in-place", ("--in-place",), "", durable=True),
        one_file("new, 4 threads", (), values, threads=4),
        in_place("in place, 4 threads", values, threads=4),
        in_place("direct, 4 threads", batches(4), "--direct", direct=True, threads=4),
        many_files("3 files, --in-place, 4 threads", ("--in-place",), "", durable=True, threads=4),
    ]
