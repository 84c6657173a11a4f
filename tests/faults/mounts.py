"""The file systems of systems.py: how each is made and mounted, and which features it lacks."""

import ctypes
import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from checks import has_attributes
from power import command

ROOM = Path("/mnt")  # a tmpfs that only this process and its children see
PLACE, INSIDE, IMAGE = ROOM / "file-system", ROOM / "in", ROOM / "image"  # bindfs uses INSIDE in paths
OUTSIDE, MIRROR, SPARE = ROOM / "outside", ROOM / "mirror", ROOM / "spare"
ANYONE = 1001  # the id of a user who is not root
RENAME_NOREPLACE = 1
FICLONE = 0x40049409


@dataclass(frozen=True)
class System:
    """`make` and `mount` are shell commands. They use $IMAGE, a file of `size` MiB, $INSIDE, a directory, and $PLACE, where they
    mount the file system."""
    name: str
    make: str  # creates what outlives a mount; empty if nothing does
    mount: str
    size: int = 0
    lacks: frozenset[str] = frozenset()
    lower: bool = False  # overlayfs: the test's files are in its lower layer
    breaks: Mapping[str, str] = field(default_factory=dict)  # scenarios that the file system's own defects prevent: reasons
    again: str = ""  # mounts the same files at $TWICE as another file system


def lacking(*features: str) -> frozenset[str]:
    return frozenset(features)


OVERLAY = "mount -t overlay -o lowerdir=$INSIDE/lower,upperdir=$INSIDE/disk/upper,workdir=$INSIDE/disk/work overlay $PLACE"
LAYERS = "rm -rf $INSIDE/lower $INSIDE/disk/*; mkdir $INSIDE/lower $INSIDE/disk/upper $INSIDE/disk/work"
OVERLAID = f"mkdir $INSIDE/disk; mkfs.ext4 -q -F $IMAGE; mount -o loop $IMAGE $INSIDE/disk; {LAYERS}"
LOOP = "mount -o loop $IMAGE $PLACE"
OWN_BLOCKS = lacking("shared blocks")
FUSE = OWN_BLOCKS | lacking("holes", "unnamed files", "renames that do not replace", "append-only directories")
SYSTEMS = (
    System("ext4", "mkfs.ext4 -q -F $IMAGE", LOOP, 32, OWN_BLOCKS),
    System("XFS", "mkfs.xfs -q $IMAGE", LOOP, 300),
    System("btrfs", "mkfs.btrfs -q $IMAGE", LOOP, 128),
    System("tmpfs", "", "mount -t tmpfs -o size=32m tmpfs $PLACE", lacks=OWN_BLOCKS),
    System("overlayfs", OVERLAID, OVERLAY, 32, OWN_BLOCKS),
    System("overlayfs, files in its lower layer", OVERLAID, OVERLAY, 32, OWN_BLOCKS, lower=True,
           breaks={"room for one of six files": "to open a file for --in-place copies it from the lower layer, which needs room"}),
    System("bindfs", "mount -t tmpfs -o size=32m tmpfs $INSIDE; mkdir $INSIDE/files", "bindfs $INSIDE/files $PLACE",
           lacks=FUSE, again="bindfs $INSIDE/files $TWICE"),
    System("lowntfs-3g, ignore_case", "mkfs.ntfs -F -Q -q $IMAGE", "lowntfs-3g -o ignore_case,permissions $IMAGE $PLACE", 32,
           FUSE | lacking("two cases", "any bytes in names", "attributes"),
           breaks={"names of 255 bytes": "lowntfs-3g keeps a part of such a name when its file is replaced, also by mv"}),
    System("exfat-fuse", "mkfs.exfat $IMAGE", "device=$(losetup -f --show $IMAGE); mount.exfat-fuse $device $PLACE || bad=1;"
           "losetup -d $device; [ ! $bad ]", 32,
           FUSE | lacking("two cases", "any bytes in names", "links", "symbolic links", "modes", "owners", "attributes"),
           breaks=dict.fromkeys(("IN and OUT differ in case", "--in-place twice by case", "two outputs differ in case, one exists"),
                                "exfat-fuse has an inode for each spelling, and aborts when an open file is replaced by another")),
)


def given(directory: Path, twin: Path | None = None) -> System:
    """The file system of a directory (systems.py --at)."""
    return System(str(directory), "", f"mount --bind {directory} $PLACE", lacks=frozenset(FEATURES),
                  again=f"mount --bind {twin} $TWICE" if twin else "")


def shell(lines: str, **more: str) -> None:
    environment = {**os.environ, "IMAGE": str(IMAGE), "INSIDE": str(INSIDE), "PLACE": str(PLACE)} | more
    done = subprocess.run(["sh", "-ec", lines], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{lines}: {done.stderr.strip()}")


def make_room() -> None:
    """Mounts a tmpfs for all files. It disappears with the last process that sees it."""
    command("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", str(ROOM))
    for directory in (PLACE, INSIDE, OUTSIDE, MIRROR):
        directory.mkdir()


@contextmanager
def mounted(system: System) -> Iterator[None]:
    IMAGE.write_bytes(b"")
    os.truncate(IMAGE, system.size << 20)
    try:
        shell(f"{system.make}; {system.mount}" if system.make else system.mount)
        yield
    finally:
        os.chdir(ROOM)
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            if line.split()[1].startswith((str(PLACE), f"{INSIDE}/", str(MIRROR))) or line.split()[1] == str(INSIDE):
                command("umount", "-l", line.split()[1])  # lazily: FUSE programs end a little later
        for entry in INSIDE.iterdir():
            shutil.rmtree(entry)


def mount_again(system: System) -> None:
    """Mounts the file system again as after a reboot: with another device number and empty caches."""
    os.chdir(ROOM)
    SPARE.write_bytes(bytes(1 << 20))
    shell("umount $PLACE; mount -t tmpfs tmpfs $TWICE; spare=$(losetup -f --show $SPARE);"
          f"({system.mount}); losetup -d $spare; umount $TWICE", SPARE=str(SPARE), TWICE=str(MIRROR))
    os.chdir(PLACE)


@contextmanager
def bound(source: Path, target: Path, options: str = "bind") -> Iterator[Path]:
    """Mounts `source` at `target`, too."""
    command("mount", "--bind", str(source), str(target))
    try:
        if options != "bind":
            command("mount", "-o", f"remount,{options}", str(target))
        yield target
    finally:
        command("umount", "-l", str(target))


def renamed_if_free(name: str, other: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, name.encode(), -100, other.encode(), RENAME_NOREPLACE):
        raise OSError(ctypes.get_errno(), "renameat2")


@contextmanager
def append_only(directory: str) -> Iterator[None]:
    set_append_only(directory, True)
    try:
        yield
    finally:
        set_append_only(directory, False)


def set_append_only(directory: str, wanted: bool) -> None:
    command("chattr", "+a" if wanted else "-a", directory)


def has_two_cases() -> bool:
    Path("case").touch()
    return not Path("CASE").exists()


def has_modes() -> bool:
    Path("mode").touch()
    os.chmod("mode", 0o640)
    return os.stat("mode").st_mode & 0o777 == 0o640


def has_holes() -> bool:
    with open("sparse", "wb") as file:
        file.truncate(1 << 20)
        return os.lseek(file.fileno(), 0, os.SEEK_HOLE) == 0


def unnamed_file() -> None:
    os.close(os.open(".", os.O_RDWR | os.O_TMPFILE, 0o600))


def share_blocks(name: str, other: str) -> None:
    with open(name, "rb") as source, open(other, "wb") as target:
        fcntl.ioctl(target, FICLONE, source.fileno())


def made(name: str) -> str:
    Path(name).touch()
    return name


# How each feature is tried, in an empty directory. The file system has it unless the call fails or returns False.
FEATURES: dict[str, Callable[[], bool | None]] = {
    "unnamed files": unnamed_file,
    "renames that do not replace": lambda: renamed_if_free(made("from"), "to"),
    "links": lambda: os.link(made("linked"), "link"),
    "symbolic links": lambda: os.symlink("target", "symbolic"),
    "modes": has_modes,
    "owners": lambda: os.chown(made("owned"), ANYONE, ANYONE),
    "attributes": lambda: has_attributes(Path(".")),
    "two cases": has_two_cases,
    "any bytes in names": lambda: os.close(os.open(b"\xff", os.O_CREAT | os.O_WRONLY)),
    "holes": has_holes,
    "shared blocks": lambda: share_blocks(made("source"), "shared"),
    "append-only directories": lambda: (os.mkdir("append"), set_append_only("append", True), set_append_only("append", False))[0],
}


def features() -> frozenset[str]:
    """The features of the current directory's file system."""
    return frozenset(name for name, has in FEATURES.items() if succeeds(has))


def succeeds(action: Callable[[], bool | None]) -> bool:
    try:
        return action() is not False
    except OSError:
        return False
