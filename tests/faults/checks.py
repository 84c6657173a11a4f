"""What must hold after every run of clipper. Each function returns the violations as texts."""

import functools
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
from contextlib import suppress
from pathlib import Path

from modes import FIGURES, TEMPORARY, Files, Link, Mode
from process import AFTER_ERROR, Call, Fault, Run

SHARED = re.compile(r"(.*/)?[^/]+\.(shards(\.[0-9a-f]{16})?|shard-\d+-of-\d+\.[0-9a-f]{16}(\.done)?)")
# Calls whose failure must not be ignored, because data may be lost.
MUST_FAIL = {"read", "pread", "write", "pwrite", "pwritev", "pwritev2", "fallocate", "fsync", "syncfs", "fdatasync", "rename",
             "renameat", "renameat2", "fstat", "lstat", "ftruncate", "fchmod", "fchown", "flock", "flistxattr", "fsetxattr", "fremovexattr"}
REFUSING = {"faccessat", "fchown", "getxattr", "fgetxattr", "fsetxattr", "fremovexattr"}  # a failure may end with exit 5
# There is another way if these are not supported.
SPARED = {"pwritev2", "sync_file_range", "syncfs", "fgetxattr", "flistxattr", "fallocate", "flock"}
FULL = {"ENOSPC": "No space left on device", "EDQUOT": "Disk quota exceeded"}
GROWING = {"write", "pwrite", "pwritev", "pwritev2", "fallocate", "fsetxattr", "fchown", "fsync", "close_written"}  # calls that need room
LOSING = {"EDQUOT", "EFBIG", "ESTALE", "ETIMEDOUT"}  # errnos that mean lost data, not just an unsupported call
REMOVING = {"unlink", "unlinkat"}
CONFIRMING = {"open", "fsync", "close", "lstat", "fstatat", "opendir", "readdir", *REMOVING}  # a failure may end with exit 6
PLACING = {"rename", "renameat", "renameat2", "link", "linkat", *REMOVING}
UNSUPPORTED = {"getxattr", "fgetxattr", "flistxattr", "fsetxattr", "fremovexattr"}  # may fail on file systems without attributes
MODE = 0o640
FORGOTTEN = {signal.SIGTERM, signal.SIGHUP}  # if they come when all is done
SUDDEN = {signal.SIGKILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS, signal.SIGTRAP}
IN_PLACE = re.compile(r"clipper: ((\d+) of \d+ files are|.*: is) in place; ended by a signal")
NO_INDEX = "gets no result"  # a warning
CLOSING = re.compile(r"clipper: .*: \d+ members? clipped, \d+ copied \(.*\)\n")  # --to says what it leaves


def access_list() -> bytes:
    """An access control list in the kernel's format: owner rw, user 1234 r, group r, others none; see acl(5)."""
    anyone = 0xFFFFFFFF
    entries = [(0x01, 6, anyone), (0x02, 4, 1234), (0x04, 4, anyone), (0x10, 4, anyone), (0x20, 0, anyone)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


ACCESS_LIST = "system.posix_acl_access"
ATTRIBUTES = {"user.note": b"kept", ACCESS_LIST: access_list()}


def has_attributes(directory: Path) -> bool:
    """Whether files in the directory can have ATTRIBUTES."""
    probe = directory / "probe"
    probe.touch()
    try:
        for name, value in ATTRIBUTES.items():
            os.setxattr(probe, name, value)
        return True
    except OSError:
        return False
    finally:
        probe.unlink()


def prepare(files: Files, attributes: bool = False) -> None:
    """Makes the current directory hold exactly these files."""
    for entry in os.scandir():
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
    for name, content in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Link):
            os.symlink(content, name)
            continue
        Path(name).write_bytes(content)
        os.chmod(name, MODE)
        for attribute, value in ATTRIBUTES.items() if attributes else ():
            os.setxattr(name, attribute, value)


def found() -> Files:
    """All files in and below the current directory, by name. FUSE may remove a dead process's open files a moment later."""
    files: Files = {}
    for path in (Path(parent, name) for parent, _, names in os.walk(".") for name in names):
        with suppress(FileNotFoundError):
            files[str(path)] = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
    return files


@functools.cache
def has_late_errors() -> bool:
    """Whether close() may tell of a write that failed: those of check_close() in lib/files/descriptor.cpp, not ext4, XFS, btrfs and tmpfs."""
    found = subprocess.run(["stat", "--file-system", "--format=%T", "."], capture_output=True, text=True, check=True).stdout.strip()
    return found not in {"ext2/ext3", "xfs", "btrfs", "tmpfs"}


def is_checked(mode: Mode, calls: tuple[Call, ...], fault: Fault) -> bool:
    """Whether clipper must notice that the call fails. Of the calls that close a written file only the last one before the
    file gets its name counts. In place, all names change after all files were closed: what
    is closed later unlocks a file that has its name. --no-cache waits for the disk, and fsync() may not report the error again."""
    placing = PLACING - REMOVING if mode.after_shards else PLACING
    call, later = calls[fault.at - 1], calls[fault.at :]
    if call.name == "sync_file_range" and "--no-cache" in mode.words:
        return True
    if mode.direct and call.name == "fstat" and "pwrite" in (names := [each.name for each in calls]):
        return "pwrite" in names[fault.at:]  # after the last write the file is complete
    if call.name != "close_written":
        return call.name in MUST_FAIL
    if not has_late_errors():
        return False
    if mode.in_place and not mode.direct and any(each.name in placing for each in calls[:fault.at - 1]):
        return False
    following = (each.name for each in later if each.name in placing or each.name == "close_written")
    return next(following, "") in placing


def code_violations(mode: Mode, fault: Fault | None, run: Run, checked: bool) -> list[str]:
    """`checked`: clipper must notice that the call failed."""
    fired = set(run.fired)
    allowed = {0}
    if fault and fault.signal and fired:
        allowed = {-fault.signal} | ({0} if fault.signal in FORGOTTEN else set())
    elif fault and fault.what in ("EPERM", "ENOSYS") and fired and fired <= SPARED:
        allowed = {0}
    elif fault and fault.is_of_table:
        allowed = {3, 4, 5} | ({6} if mode.durable else set()) | ({0} if not checked or fault.what not in LOSING else set())
    elif fault and fault.what in ("EIO", "ENOSPC", "ENOMEM"):
        allowed = {4} if checked else {0, 4}
        allowed |= {5} if fired & REFUSING else set()
        allowed |= {5} if "--backup" in mode.words and not mode.in_place else set()  # a look that fails may hide another file
        allowed |= {6} if mode.durable and fired & {*CONFIRMING, "malloc"} else set()
    if fault and fault.what in FULL and mode.in_place and len(mode.after) > 1:
        allowed |= {0}  # a file that found no room is tried again alone
    allowed |= {6} if fired & REMOVING else set()  # the output is complete, but a temporary file is left
    if mode.shared or mode.after_shards:  # shared.py checks OUT again after the next --finalize
        allowed |= {0} | ({6} if mode.after_shards and fired else set())
    return [] if run.code in allowed else [f"exit {run.code}, not {sorted(allowed)}"]


def reason_violations(fault: Fault | None, run: Run) -> list[str]:
    """A disk or quota that is full is named, not taken for something that the system cannot do."""
    full = fault and run.code > 0 and fault.what in FULL and {*run.fired} & GROWING
    return [f"the reason is missing in {run.stderr!r}"] if full and FULL[fault.what] not in run.stderr else []


def message_violations(run: Run) -> list[str]:
    text = CLOSING.sub("", run.stderr)
    if run.code > 0:
        text = AFTER_ERROR.sub("", text)
    lines = text.splitlines()
    wanted = 1 if run.code > 0 or (run.code < 0 and IN_PLACE.match(text)) else 0
    may_warn = "flock" in run.fired or (NO_INDEX in run.stderr and run.code == 0)  # one warning for each file
    good = (len(lines) == wanted or (may_warn and len(lines) > wanted)) and all(line.startswith("clipper: ") for line in lines)
    return [] if good else [f"{wanted} line on stderr expected, not {run.stderr!r}"]


def content_violations(mode: Mode, run: Run, files: Files) -> list[str]:
    """Each file is old or new. After exit 0 all are new; after a failure not all are new."""
    texts = []
    for name in {**mode.before, **mode.after}:
        old, new = mode.before.get(name), mode.after.get(name, mode.before.get(name))
        if files.get(name) not in (old, new):
            texts.append(f"{name} is neither old nor new")
    done = all(files.get(name) == content for name, content in mode.after.items())
    if run.code == 0 and not done and NO_INDEX not in run.stderr:
        texts.append("exit 0, but not done")
    if run.code == 6 and not any(files.get(name) == content for name, content in mode.after.items()):
        texts.append("exit 6, but nothing is new")
    if run.code in (2, 3, 4, 5) and done and mode.after:
        texts.append(f"exit {run.code}, but done")
    return texts


def backup_violations(mode: Mode, files: Files) -> list[str]:
    """With --backup the old file has one of both names, also after a kill, and the new one its name only then."""
    if "--backup" not in mode.words:
        return []
    return [f"{name} is lost" for name, new in mode.after.items() if f"{name}~" in mode.after
            and files.get(name) != mode.before[name] and files.get(f"{name}~") != mode.before[name]]


def signal_violations(mode: Mode, run: Run, files: Files) -> list[str]:
    """A signal or an error that ends clipper prints how many results are in place, and nothing if none is. Exit 6 says it, too.
    The index of slabs is written before the slab."""
    after_error = AFTER_ERROR.search(run.stderr) if run.code > 0 else None
    if (run.code in (0, 1, 6) and not after_error) or -run.code in SUDDEN:
        return []
    placed = sum(files.get(name) == content != mode.before.get(name) for name, content in mode.after.items()
                 if name != "out.json" and not name.endswith("~"))
    if mode.shared:
        placed = sum(name.endswith(".done") for name in files)
    line = IN_PLACE.match(CLOSING.sub("", run.stderr))
    said = int(after_error[1]) if after_error else int(line[2] or 1) if line else 0
    return [] if said == placed else [f"ended, {placed} in place, but {run.stderr!r}"]


def stream_violations(mode: Mode, run: Run) -> list[str]:
    right = mode.stdout == run.stdout if run.code == 0 else mode.stdout.startswith(run.stdout)
    return [] if right else ["wrong bytes on stdout"]


def litter_violations(mode: Mode, fault: Fault | None, run: Run, files: Files) -> list[str]:
    known = {**mode.before, **mode.after}
    may_stay = run.code in (-9, 6) or bool(REMOVING & {*run.fired})  # the message of exit 6 names the file
    of_shards = mode.shared or (mode.after_shards and (may_stay or run.code != 0))  # see shared.py
    def is_told(name: str) -> bool:  # an older backup, or what a result of several replaced, that could not get its name back
        return ("--backup" in mode.words or len(mode.after) > 1) and run.code in (4, 5) and name in run.stderr
    return [f"{name} is left" for name in files if name not in known and not ((may_stay or is_told(name)) and TEMPORARY.fullmatch(name))
            and not (of_shards and SHARED.fullmatch(name))]


def attribute_violations(mode: Mode, run: Run, files: Files, attributes: bool) -> list[str]:
    """A replaced or changed file keeps its mode and attributes. A new file has the input's mode, except for figures."""
    texts = []
    links = {name for name, content in mode.before.items() if isinstance(content, Link)}
    for name in ({**mode.before, **mode.after}.keys() & files.keys()) - links:
        wanted = MODE if name in mode.before else (0o666 if mode.stdin or name == FIGURES else MODE) & ~umask()
        if stat.S_IMODE(os.stat(name).st_mode) != wanted:
            texts.append(f"{name} has another mode")
        if attributes and name in mode.before and not UNSUPPORTED & {*run.fired}:
            replaced = name in mode.after and not mode.in_place  # a replaced OUT keeps permissions, but no other attributes
            kept = [ACCESS_LIST] if replaced else ATTRIBUTES
            texts += [f"{name} has lost {each}" for each in kept
                      if attribute(name, each) != ATTRIBUTES[each]]
    return texts


def attribute(name: str, attribute: str) -> bytes | None:
    """The value of an attribute. Read by name, because MooseFS does not list access control lists."""
    try:
        return os.getxattr(name, attribute)
    except OSError:
        return None


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def violations(mode: Mode, fault: Fault | None, run: Run, checked: bool = False, attributes: bool = False) -> list[str]:
    """All checks, for a mode that creates or replaces files or writes to a pipe."""
    files = found()
    return (code_violations(mode, fault, run, checked) + message_violations(run) + reason_violations(fault, run) + content_violations(mode, run, files)
            + backup_violations(mode, files) + signal_violations(mode, run, files) + stream_violations(mode, run) + litter_violations(mode, fault, run, files)
            + attribute_violations(mode, run, files, attributes))
