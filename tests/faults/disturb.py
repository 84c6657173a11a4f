"""Disturbs a network file system with the program $CLIPPER_DISTURB, whose verbs engines/volume.sh describes. A schedule has
at most one disturbance at a time."""

import subprocess
from dataclasses import dataclass

LIMIT = 300  # seconds
UNKNOWN = 2  # exit code of a program that does not know a verb


@dataclass(frozen=True)
class Disturbance:
    """`begin` and `end` are verbs of $CLIPPER_DISTURB; {} is the number of a mount."""
    name: str
    begin: str
    end: str
    hides: bool = False  # nobody can look at files meanwhile
    of_client: bool = False  # a mount is gone meanwhile; its processes are killed first


DISTURBANCES = (
    Disturbance("servers killed", "server-down", "server-up", hides=True),
    Disturbance("volumes full", "full", "room"),
    Disturbance("clients unmounted", "unmount {}", "mount {}", of_client=True),
)


@dataclass(frozen=True)
class Trouble:
    """The current disturbance."""
    kind: Disturbance
    mount: int
    until: float


class Disturber:
    """Begins and ends disturbances. Forgets verbs that the program does not know."""

    def __init__(self, program: str | None, mounts: int):
        self.program = program
        self.known = [each for each in DISTURBANCES if program and (mounts > 1 or not each.of_client)]

    def begin(self, trouble: Trouble) -> bool:
        """Returns whether the disturbance has begun."""
        done = self.run(trouble.kind.begin.format(trouble.mount))
        if not done:
            self.known.remove(trouble.kind)
        return done

    def end(self, trouble: Trouble) -> None:
        self.run(trouble.kind.end.format(trouble.mount))

    def run(self, words: str) -> bool:
        done = subprocess.run([self.program, *words.split()], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
        if done.returncode not in (0, UNKNOWN):
            raise OSError(f"{words}: exit {done.returncode}, {done.stderr!r}")
        return done.returncode == 0
