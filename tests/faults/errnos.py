"""The errnos of each call besides EIO, ENOMEM, ENOSPC and EINTR: from its man page, and some of network file systems."""

import random
from collections.abc import Iterator

import checks
import loops
from loops import FaultCase
from modes import Mode
from process import Call, Fault

PATH = "EACCES ELOOP ENAMETOOLONG ENOENT ENOTDIR ESTALE"
ENTRY = f"{PATH} EDQUOT EEXIST EMLINK EPERM EROFS"  # calls that change a directory
STAT, STATFS = f"{PATH} EOVERFLOW", f"{PATH} ENOSYS EOVERFLOW"
RENAME = f"{ENTRY} EBUSY EINVAL EISDIR ENOTEMPTY EXDEV"
LINK = f"{ENTRY} EINVAL EOPNOTSUPP EXDEV"
REMOVE = f"{PATH} EBUSY EPERM EROFS"
READ, WRITE = "EAGAIN EINVAL EISDIR ENXIO ESTALE ETIMEDOUT", "EAGAIN EDQUOT EFBIG EINVAL EPERM ESTALE ETIMEDOUT"
SYNC = "EDQUOT EINVAL ENOSYS EROFS ESTALE"
ATTRIBUTE = "E2BIG EACCES EDQUOT ENODATA ENOSYS ENOTSUP EPERM ERANGE EROFS"
UNTRUE = {"EEXIST", "ENOENT", "ENOTEMPTY"}  # another process can cause these once, but not at every call
# Not tried here, because the errno would be false: the file exists, or not. outsiders.py makes them true.
LIES = {("fstatat", "ENOENT"), ("lstat", "ENOENT"), ("open", "EEXIST"), ("unlink", "ENOENT"), ("unlinkat", "ENOENT")}

ERRNOS = {
    "open": f"{ENTRY} EAGAIN EBUSY EINVAL EISDIR EMFILE ENFILE ENODEV ENXIO EOPNOTSUPP EOVERFLOW ETXTBSY",
    "read": READ, "pread": READ, "write": WRITE, "pwrite": WRITE, "pwritev": WRITE, "pwritev2": f"{WRITE} ENOSYS EOPNOTSUPP",
    "copy_file_range": f"{WRITE} EOPNOTSUPP ETXTBSY EXDEV", "sendfile": f"{WRITE} EOVERFLOW",
    "fallocate": "EDQUOT EFBIG EINVAL ENODEV ENOSYS EOPNOTSUPP EPERM ESPIPE ETXTBSY",
    "posix_fallocate": "EFBIG EINVAL ENODEV EOPNOTSUPP ESPIPE", "posix_fadvise": "EINVAL ESPIPE",
    "ftruncate": "EFBIG EINVAL EPERM EROFS ETXTBSY",
    "fsync": SYNC, "fdatasync": SYNC, "syncfs": f"{SYNC} EPERM", "sync_file_range": "EINVAL ENOSYS EPERM ESPIPE",
    "close": "EDQUOT ESTALE", "close_written": "EDQUOT ESTALE",
    "rename": RENAME, "renameat": RENAME, "renameat2": f"{RENAME} ENOSYS",
    "link": LINK, "linkat": LINK, "linkat_probe": LINK, "symlink": ENTRY, "symlinkat": ENTRY, "mkdir": ENTRY, "mkdirat": ENTRY,
    "unlink": REMOVE, "unlinkat": REMOVE, "rmdir": f"{REMOVE} ENOTEMPTY",
    "readlink": f"{PATH} EINVAL", "readlinkat": f"{PATH} EINVAL", "realpath": PATH,
    "stat": STAT, "lstat": STAT, "fstatat": STAT, "statx": f"{STAT} ENOSYS", "fstat": "EOVERFLOW ESTALE",
    "statfs": STATFS, "statvfs": STATFS, "fstatfs": "ENOSYS EOVERFLOW", "fstatvfs": "ENOSYS EOVERFLOW",
    "access": f"{PATH} EPERM EROFS ETXTBSY", "faccessat": f"{PATH} EINVAL EPERM EROFS ETXTBSY",
    "fchmod": "ENOTSUP EPERM EROFS", "fchmodat": f"{PATH} ENOTSUP EPERM EROFS", "fchown": "EDQUOT EINVAL EPERM EROFS",
    "futimens": "EACCES EPERM EROFS", "utimensat": f"{PATH} EPERM EROFS",
    "flock": "EAGAIN EINVAL ENOLCK ENOSYS EOPNOTSUPP EPERM",
    "getxattr": ATTRIBUTE, "fgetxattr": ATTRIBUTE, "flistxattr": ATTRIBUTE, "fsetxattr": ATTRIBUTE, "fremovexattr": ATTRIBUTE,
    "opendir": "EACCES EMFILE ENFILE ESTALE", "fdopendir": "ENOTDIR", "readdir": "ENOENT ESTALE",
    "fcntl": "EBUSY EINVAL EMFILE EPERM", "ioctl": "EINVAL ENOTTY", "getrandom": "EAGAIN ENOSYS",
}


def errnos_of(mode: Mode, calls: tuple[Call, ...]) -> Iterator[FaultCase]:
    """Each errno of each call: once, and for all further calls of the same name."""
    for at, call in enumerate(calls, 1):
        for what in ERRNOS[call.name].split():
            if (call.name, what) in LIES:
                continue
            for ever in (False,) if what in UNTRUE else (False, True):
                fault = Fault(at, what, ever)
                yield FaultCase(mode, fault, call.name, checks.is_checked(mode, calls, fault))


def cases(runs: int, seed: int) -> list[FaultCase]:
    """All cases, or a random sample that has each errno of each call and each call of each mode."""
    single = [mode for mode in loops.chosen_modes() if mode.threads == 1]
    found = [case for mode in single for case in errnos_of(mode, loops.clean_run(mode).calls)]
    random.Random(seed).shuffle(found)
    if not runs:
        return found
    first = {(case.name, case.fault.what, case.fault.ever): case for case in found}
    first |= {(case.mode.name, case.name): case for case in found}
    return (list(first.values()) + found)[:max(runs, len(first))]
