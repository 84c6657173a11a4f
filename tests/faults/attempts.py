"""The processes of a schedule, and how each may end."""

import math
import random
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

SHARD, STRANGER, FINALIZE = "shards", "strangers", "--finalize"
DONE, IO_FAILED, REFUSED, UNCONFIRMED, KILLED = 0, 4, 5, 6, -signal.SIGKILL
CALLS = {SHARD: 90, STRANGER: 90, FINALIZE: 250}  # a fault hits one of the first so many calls


@dataclass(frozen=True)
class Fate:
    """When a process is killed or stopped: at a call, by the shim, or at a time."""
    fault: str | None = None  # $CLIPPER_FAULT
    kill_at: float = math.inf
    wake_at: float = 0  # when a stopped process continues; 0: is never stopped; math.inf: after all others

    @property
    def kills(self) -> bool:
        return self.kill_at < math.inf or (self.fault is not None and not self.wake_at)


def killed(source: random.Random, kind: str, duration: float) -> Fate:
    if source.random() < 0.5:
        return Fate(kill_at=time.monotonic() + source.uniform(0, duration))
    return Fate(fault=f"{source.randint(1, CALLS[kind])}:{source.choice('sa')}{signal.SIGKILL:d}:once")


def stopped(source: random.Random, kind: str, duration: float) -> Fate:
    fault = f"{source.randint(1, CALLS[kind])}:{source.choice('sa')}{signal.SIGSTOP:d}:once"
    return Fate(fault, wake_at=source.choice((math.inf, time.monotonic() + source.uniform(0, 10 * duration))))


@dataclass
class Attempt:
    """A process: a shard, another run's shard, or --finalize."""
    process: subprocess.Popen
    kind: str
    mount: int
    fate: Fate
    shard: int | None  # its number; None if the process is no shard of this run
    has_arguments: bool  # the command line names this run's input
    disturbed: bool  # the file system was disturbed while it ran
    begin: float = field(default_factory=time.monotonic)
    end: float = math.inf
    was_stopped: bool = False
    was_killed: bool = False
    stderr: str = ""

    @property
    def code(self) -> int | None:
        return self.process.returncode

    def is_awake(self) -> bool:
        return self.fate.wake_at < time.monotonic()

    def kill(self) -> None:
        """A process that waits for a file server may end later."""
        self.was_killed = True
        self.process.kill()

    def has_ended(self, is_over: bool) -> bool:
        """Kills or continues the process if that is due, and returns whether it has ended."""
        if time.monotonic() > self.fate.kill_at:
            self.kill()
        if self.fate.wake_at and (is_over or self.is_awake()):
            self.was_stopped |= self.is_stopped()
            self.process.send_signal(signal.SIGCONT)
        if self.process.poll() is None:
            return False
        self.end = time.monotonic()
        self.stderr = self.process.stderr.read()
        self.process.stderr.close()
        return True

    def is_stopped(self) -> bool:
        try:
            return Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        except OSError:
            return False

    def wrong_ending(self) -> str:
        """A description of a wrong exit code or message, or ""."""
        allowed = {DONE}
        if self.kind == FINALIZE:
            allowed |= {REFUSED}
        if self.disturbed:
            allowed |= {IO_FAILED, REFUSED, UNCONFIRMED}
        if self.fate.kills or self.was_killed:
            allowed |= {KILLED}
        lines = self.stderr.splitlines()
        right_number = len(lines) == (self.code > 0) or (self.code == KILLED and len(lines) == 1)
        good = self.code in allowed and right_number and all(line.startswith("clipper: ") for line in lines)
        return "" if good else f"{self.kind}{'' if self.shard is None else f' {self.shard}'}: exit {self.code}, {self.stderr!r}"
