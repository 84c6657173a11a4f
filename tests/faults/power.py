#!/usr/bin/env python3
"""Cuts the power while clipper runs: shuts its file system down with an ioctl at a random instant. Prints a row of figures as
JSON.

    power.py BUILD ext4|xfs [--runs N]

The file system is an image in BUILD, mounted in a private mount namespace: the kernel unmounts it, even if this program is
killed. Needs root and loop devices.
"""

import ctypes
import fcntl
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

sys.dont_write_bytecode = True

import checks  # noqa: E402
import direct  # noqa: E402
import figures  # noqa: E402
from checks import found, prepare  # noqa: E402
from modes import Mode, archives, batches, few_changes, in_place, many_files, numbers, one_file, replacement  # noqa: E402
from process import Clipper, Run  # noqa: E402
from zip_bytes import STORED  # noqa: E402

SHUTDOWN = 0x8004587D  # the ioctl of ext4 and XFS
FLAGS = (1, 2)  # shut down after or without flushing the file system's log
CLONE_NEWNS = 0x20000
SIZE = 320 << 20  # bytes; XFS needs 300 MiB


def power_modes() -> list[Mode]:
    """The modes that promise something about power cuts."""
    return [
        in_place("in place", numbers(100_000)),
        few_changes("in place, few changes", "--in-place", "in.npy"),
        few_changes("new, --sync, few changes", "--sync", "in.npy", "out.npy", made="out.npy"),
        many_files("3 files in place", ("--in-place",), "", durable=True),
        one_file("new, --sync", ("--sync",), numbers(100_000), durable=True),
        replacement("replace, --sync", ("--sync",), durable=True),
        in_place("direct", batches(4), "--direct"),
        archives(100_000, STORED)[1],
    ]


class Disk:
    """A file system in an image file."""

    def __init__(self, kind: str, directory: Path):
        self.kind, self.image, self.place = kind, directory / "image", directory / "mounted"
        self.place.mkdir()
        with open(self.image, "wb") as file:
            file.truncate(SIZE)
        quiet = {"ext4": ["-q", "-F"], "xfs": ["-q"]}[kind]
        command(f"mkfs.{kind}", *quiet, str(self.image))

    @contextmanager
    def mounted(self) -> Iterator[Path]:
        """Mounts the file system and makes it the current directory."""
        command("mount", "-o", "loop", "-t", self.kind, str(self.image), str(self.place))
        os.chdir(self.place)
        try:
            yield self.place
        finally:
            os.chdir("/")
            command("umount", str(self.place))

    def shut_down(self, flag: int) -> None:
        fd = os.open(self.place, os.O_RDONLY)
        fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", flag))
        os.close(fd)


def command(*words: str) -> None:
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


def hide_mounts() -> None:
    """Makes further mounts private to this process and its children. They disappear when these end."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    command("mount", "--make-rprivate", "/")


def cut(disk: Disk, clipper: Clipper, mode: Mode, after: float, flag: int) -> tuple[Run, list[str]]:
    """Shuts the file system down during a run. Returns the run, and the violations that a new mount shows."""
    ended = False

    def shut_down(pid: int) -> None:
        nonlocal ended
        time.sleep(after)
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        disk.shut_down(flag)

    with disk.mounted():
        prepare(mode.before)
        os.sync()
        run = clipper.run(mode, None, shut_down)
    with disk.mounted():
        return run, violations(clipper, mode, run, ended)


def violations(clipper: Clipper, mode: Mode, run: Run, ended: bool) -> list[str]:
    """Checks the files. The exit code counts only if the run ended before the cut: a real power cut would end the process, too,
    and after the ioctl fsync succeeds on XFS although the log has dropped the data."""
    texts = [] if run.code in (0, 4, 5, 6) else [f"exit {run.code}: {run.stderr}"]
    lost = run if ended else replace(run, code=-9)  # new names may be lost and temporary files may stay
    if mode.direct:
        more, again = direct.interrupted(clipper, mode, lost)
        return texts + more + (direct.finish(clipper, mode) if again else [])
    files = found()
    return texts + checks.content_violations(mode, lost, files) + checks.litter_violations(mode, None, lost, files)


def duration(disk: Disk, clipper: Clipper, mode: Mode) -> float:
    """The duration of an undisturbed run in seconds. Ends the program if the run fails."""
    with disk.mounted():
        prepare(mode.before)
        os.sync()
        start = time.monotonic()
        run = clipper.run(mode)
        seconds = time.monotonic() - start
        if run.code or found() != mode.before | mode.after:
            sys.exit(f"power: {mode.name} fails without a power cut: exit {run.code}: {run.stderr}")
    return seconds


def cut_often(disk: Disk, clipper: Clipper, runs: int, seed: int, tried: figures.Figures) -> None:
    source = random.Random(seed)
    modes = [(mode, duration(disk, clipper, mode)) for mode in power_modes()]
    for i in range(runs):
        mode, seconds = modes[i % len(modes)]
        after, flag = source.uniform(0, seconds), FLAGS[i // len(modes) % len(FLAGS)]
        run, texts = cut(disk, clipper, mode, after, flag)
        when = f"'{mode.name}' on {disk.kind}, cut after {after * 1000:.3f} ms with flag {flag}"
        tried.add(1, run.code != 0, [f"{when}: {text}" for text in texts])


def obstacle(kind: str) -> str:
    """Why this machine cannot run the test, or ""."""
    if os.geteuid():
        return "not root"
    if not shutil.which(f"mkfs.{kind}"):
        return f"no mkfs.{kind}"
    return "" if os.path.exists("/dev/loop-control") else "no loop devices"


def main() -> int:
    parser = figures.parser(__doc__, "build", "build directory with clipper and libclipper_faults.so")
    parser.add_argument("kind", choices=["ext4", "xfs"], help="the file system to use")
    figures.add_runs(parser, 40, "number of power cuts")
    arguments = parser.parse_args()
    tried = figures.Figures(f"power cuts, {arguments.kind}")
    skipped = obstacle(arguments.kind)
    with tempfile.TemporaryDirectory(prefix="power-", dir=arguments.build) as scratch:
        try:
            if not skipped:
                hide_mounts()
                disk = Disk(arguments.kind, Path(scratch))
                with disk.mounted():
                    pass
        except OSError as error:
            skipped = str(error)
        if skipped:
            tried.skip(skipped)
        else:
            cut_often(disk, Clipper(arguments.build), arguments.runs, arguments.seed, tried)
    return tried.printed()


if __name__ == "__main__":
    sys.exit(main())
