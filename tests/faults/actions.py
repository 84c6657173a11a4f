"""The actions of an outsider: what another process does to a file or directory while clipper is stopped.

The outsider knows nothing of clipper. It moves files aside but loses none."""

import itertools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from modes import numbers, tensor

MOVED = ".moved"
PRIVATE = 0o600
HEADER = 128  # bytes of the header that tensor() writes


@dataclass(frozen=True)
class Stuff:
    """The outsider's own tensors: one of the input's shape, one of another shape."""
    same: bytes
    other: bytes

    @staticmethod
    def for_shape(count: int) -> "Stuff":
        return Stuff(tensor(numbers(count, 99)), tensor(numbers(count // 2 + 7, 98)))


def free(path: str, suffix: str) -> str:
    """A new name beside the path: an outsider that acts twice loses no file either."""
    return next(name for number in itertools.count() if not os.path.lexists(name := f"{path}{suffix}{number or ''}"))


def away(path: str, _: Stuff) -> None:
    os.rename(path, free(path, MOVED))


def put(path: str, content: bytes) -> None:
    """Like `mv x moved; cp new x`. Creates the file if there is none."""
    make_room(path)
    Path(path).write_bytes(content)


def make_room(path: str) -> None:
    if os.path.lexists(path):
        os.rename(path, free(path, MOVED))


def rename_over(path: str, stuff: Stuff) -> None:
    Path(path + ".new").write_bytes(stuff.same)
    os.rename(path + ".new", path)


def overwrite(path: str, content: bytes, at: int) -> None:
    """Writes into the file without truncating it."""
    fd = os.open(path, os.O_WRONLY)
    os.pwrite(fd, content, at)
    os.close(fd)


def overwrite_secretly(path: str, content: bytes) -> None:
    """Like rsync --inplace -t: the file has its old modification time again."""
    was = os.stat(path)
    overwrite(path, content, HEADER)
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def append(path: str, _: Stuff) -> None:
    with open(path, "ab") as file:
        file.write(b"more")


def truncate(path: str, _: Stuff) -> None:
    os.truncate(path, os.stat(path).st_size // 2)


def symlink(path: str, stuff: Stuff) -> None:
    other = free(path, ".other")
    Path(other).write_bytes(stuff.same)
    make_room(path)
    os.symlink(os.path.basename(other), path)


def directory(path: str, stuff: Stuff) -> None:
    make_room(path)
    os.mkdir(path)
    Path(path, "inside.npy").write_bytes(stuff.same)


def fifo(path: str, _: Stuff) -> None:
    make_room(path)
    os.mkfifo(path)


def swap_directory(path: str, stuff: Stuff) -> None:
    """Puts another directory in its place, with files of the same names, except clipper's random names, and one more."""
    names = [name for name in os.listdir(path) if not re.search(r"\.[0-9a-f]{16}$|-[0-9a-f]{16}$|\.\d+$", name)]
    os.rename(path, path + MOVED)
    os.mkdir(path)
    for name in [*names, "stranger.npy"]:
        if not os.path.isdir(os.path.join(path + MOVED, name)):
            Path(path, name).write_bytes(stuff.same)


def link_directory(path: str, stuff: Stuff) -> None:
    """Like swap_directory, but the new directory is a symbolic link."""
    swap_directory(path, stuff)
    os.rename(path, path + ".other")
    os.symlink(os.path.basename(path) + ".other", path)


@dataclass(frozen=True)
class Action:
    do: Callable[[str, Stuff], None]
    of_directory: bool = False
    may_be_absent: bool = False
    writes: bool = False  # changes the file itself, which clipper may have open
    hides: bool = False  # gives the file its old time
    protects: bool = False  # changes the mode to PRIVATE

    def applies(self, path: str) -> bool:
        if not os.path.lexists(path):
            return self.may_be_absent and os.path.isdir(os.path.dirname(path))
        return os.path.isdir(path) == self.of_directory


ACTIONS = {
    "rename away": Action(away),
    "put another": Action(lambda path, stuff: put(path, stuff.same), may_be_absent=True),
    "put another shape": Action(lambda path, stuff: put(path, stuff.other), may_be_absent=True),
    "rename over": Action(rename_over, may_be_absent=True),
    "truncate and rewrite": Action(lambda path, stuff: Path(path).write_bytes(stuff.same), writes=True),
    "overwrite": Action(lambda path, stuff: overwrite(path, stuff.same, 0), writes=True),
    "overwrite elements": Action(lambda path, stuff: overwrite(path, stuff.same[HEADER:], HEADER), writes=True),
    "overwrite, old time": Action(lambda path, stuff: overwrite_secretly(path, stuff.same[HEADER:]), writes=True, hides=True),
    "append": Action(append, writes=True),
    "truncate": Action(truncate, writes=True),
    "unlink": Action(lambda path, _: os.unlink(path)),
    "link": Action(lambda path, _: os.link(path, free(path, ".hard"))),
    "put a symlink": Action(symlink, may_be_absent=True),
    "put a directory": Action(directory, may_be_absent=True),
    "put a FIFO": Action(fifo, may_be_absent=True),
    "chmod 600": Action(lambda path, _: os.chmod(path, PRIVATE), protects=True),
    "chmod 0": Action(lambda path, _: os.chmod(path, 0)),
    "rename directory away": Action(away, of_directory=True),
    "swap directory": Action(swap_directory, of_directory=True),
    "link directory": Action(link_directory, of_directory=True),
}
