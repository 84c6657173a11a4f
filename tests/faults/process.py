"""Runs clipper with the shim, with or without a fault."""

import errno
import fcntl
import os
import re
import shlex
import signal
from dataclasses import dataclass
from pathlib import Path

from modes import Mode

AFTER_ERROR = re.compile(r"clipper: (\d+) of \d+ files (?:is|are) in place.*\n")  # a second line

LIMIT = 20  # seconds; a run that takes longer has hung
HANGS = -1000  # the exit code of a run that has hung
REPORT = 9  # the descriptor that the shim writes to
MOST_PIPE = 1 << 20

# The same numbers as kMovesBytes, kInterruptible and kTakesSpace in fault.hpp.
MOVES_BYTES, INTERRUPTIBLE, TAKES_SPACE = 1, 2, 4
KINDS = {"EIO": 0, "ENOSPC": TAKES_SPACE, "EINTR": INTERRUPTIBLE, "short": MOVES_BYTES, "byte": MOVES_BYTES,
         "TERM": 0, "KILL": 0, "KILL after": 0}
SIGNALS = {"TERM": signal.SIGTERM, "INT": signal.SIGINT, "KILL": signal.SIGKILL, "STOP": signal.SIGSTOP}
TEXTS = {"EIO": f"e{errno.EIO}", "ENOSPC": f"e{errno.ENOSPC}", "EINTR": f"e{errno.EINTR}", "short": "d2",
         "byte": f"d{10**9}", "ENOMEM": "m0", **{name: f"s{number:d}" for name, number in SIGNALS.items()},
         **{f"{name} after": f"a{number:d}" for name, number in SIGNALS.items()}}
FOR_EVER = ("EIO", "ENOSPC", "EINTR", "short", "ENOMEM")


@dataclass(frozen=True)
class Fault:
    """What happens to call number `at`, or with `ever` to all calls from there on."""
    at: int
    what: str
    ever: bool = False

    @property
    def text(self) -> str:
        what = f"n{getattr(errno, self.what)}" if self.is_of_table else TEXTS[self.what]
        return f"{self.at}:{what}:{'ever' if self.ever else 'once'}"

    @property
    def is_of_table(self) -> bool:
        """Whether the fault is an errno of errnos.py."""
        return self.what not in TEXTS

    def __str__(self) -> str:
        return f"{self.at}:{self.what}:{'ever' if self.ever else 'once'}"

    @property
    def signal(self) -> int:
        if self.what.isdigit():  # a signal that `killer` has sent
            return int(self.what)
        return SIGNALS.get(self.what.removesuffix(" after"), 0)


@dataclass(frozen=True)
class Call:
    """A call of a libc function by clipper."""
    name: str
    kinds: int


@dataclass(frozen=True)
class Run:
    """How a run ended. `code` is the exit code, or -N after signal N."""
    code: int
    stderr: str
    stdout: bytes
    fired: tuple[str, ...]  # the calls that met the fault
    calls: tuple[Call, ...]  # all calls, if there was no fault
    allocations: int = 0  # number of allocations, if there was no fault


class Clipper:
    """Runs clipper in the current directory."""

    def __init__(self, build: Path):
        self.binary = str(build / "clipper")
        self.shim = str(build / "libclipper_faults.so")
        self.stderr = appended("stderr")
        self.report = appended("report")

    def environment(self, mode: Mode, fault: Fault | None) -> dict[str, str]:
        more = {"CLIPPER_FAULT": fault.text} if fault else {}
        if mode.named:
            more["CLIPPER_FAULT_NAMED"] = "1"
        if mode.flagless:
            more["CLIPPER_FAULT_FLAGLESS"] = "1"
        if mode.remote:
            more["CLIPPER_FAULT_REMOTE"] = "1"
        if mode.coarse:
            more["CLIPPER_FAULT_COARSE"] = "1"
        if mode.stale:
            more["CLIPPER_FAULT_STALE"] = mode.stale
        return {"LD_PRELOAD": self.shim, "CLIPPER_FAULT_REPORT": str(REPORT), **more}

    def line(self, mode: Mode, fault: Fault | None) -> str:
        """The run as a shell command."""
        settings = [f"{name}={value}" for name, value in self.environment(mode, fault).items() if "REPORT" not in name]
        return shlex.join([*settings, self.binary, *mode.arguments])

    def start(self, arguments: list[str], environment: dict[str, str], stdin: int, stdout: int) -> int:
        """Starts clipper and returns its pid. `stdin` and `stdout` are descriptors of this process."""
        numbered = ((stdin, 0), (stdout, 1), (self.stderr, 2), (self.report, REPORT))
        files = [(os.POSIX_SPAWN_DUP2, fd, number) for fd, number in numbered]
        return os.posix_spawn(self.binary, [self.binary, *arguments], environment, file_actions=files,
                              setsigdef=[signal.SIGPIPE])

    def run(self, mode: Mode, fault: Fault | None = None, killer=None) -> Run:
        """Runs clipper to its end. `killer` is called with its pid meanwhile."""
        stdin, stdout, read_end = self.streams(mode)
        pid = self.start(mode.arguments, self.environment(mode, fault), stdin, stdout)
        if read_end is not None:
            os.close(stdout)
        os.close(stdin)
        if killer:
            killer(pid)
        code = self.wait(pid)
        output = b""
        if read_end is not None:
            output = read_all(read_end)
            os.close(read_end)
        return self.ended(code, output)

    def plain(self, *arguments: str) -> Run:
        return self.ended(self.wait(self.start_plain(*arguments)), b"")

    def streams(self, mode: Mode) -> tuple[int, int, int | None]:
        """stdin, stdout, and the read end of stdout or None. All data fits into a pipe, so nothing blocks."""
        stdin = os.open(os.devnull, os.O_RDONLY)
        if mode.stdin is not None:
            os.close(stdin)
            stdin, write_end = pipe()
            os.write(write_end, mode.stdin)
            os.close(write_end)
        read_end, stdout = pipe() if mode.stdout else (None, self.stderr)
        return stdin, stdout, read_end

    def wait(self, pid: int) -> int:
        """The exit code, or HANGS if the process was killed after LIMIT seconds."""
        hung = []
        signal.signal(signal.SIGALRM, lambda *_: (hung.append(pid), os.kill(pid, signal.SIGKILL)))
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        signal.setitimer(signal.ITIMER_REAL, 0)
        return HANGS if hung else code

    def start_plain(self, *arguments: str) -> int:
        """Starts clipper without the shim. Its standard streams are /dev/null."""
        with open(os.devnull, "r+b") as nothing:
            return self.start([*arguments], {}, nothing.fileno(), nothing.fileno())

    def ended(self, code: int, stdout: bytes) -> Run:
        """The result of a run, with all that was written to stderr and to the shim's report since the last call."""
        pairs = [line.split() for line in read_all(self.report, 0).decode().splitlines()]
        stderr = read_all(self.stderr, 0).decode(errors="replace")
        os.truncate(self.stderr, 0)
        os.truncate(self.report, 0)
        fired = tuple(text for word, text in pairs if word == "fired")
        allocations = sum(int(text) for word, text in pairs if word == "allocations")
        calls = tuple(Call(word, int(text)) for word, text in pairs if word not in ("fired", "allocations"))
        return Run(code, stderr, stdout, fired, calls, allocations)


def wait_for_stop(pid: int) -> bool:
    """Waits until the process stops or ends. Returns whether it stopped."""
    return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT).si_code == os.CLD_STOPPED


def appended(name: str) -> int:
    """A file in memory, opened for appending, so that threads do not overwrite each other's lines."""
    fd = os.memfd_create(name)
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
    return fd


def pipe() -> tuple[int, int]:
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, MOST_PIPE)
    return read_end, write_end


def read_all(fd: int, at: int | None = None) -> bytes:
    if at is not None:
        return os.pread(fd, os.fstat(fd).st_size, at)
    blocks = []
    while block := os.read(fd, MOST_PIPE):
        blocks.append(block)
    return b"".join(blocks)
