"""What is done to a network file system: the verbs of $CLIPPER_DISTURB, of which each schedule has at most one at a time."""

import subprocess
from dataclasses import dataclass

LIMIT = 300  # seconds
UNKNOWN = 2  # how the program ends that does not know a verb


@dataclass(frozen=True)
class Disturbance:
    """The verbs that begin and end it get the number of a mount."""
    name: str
    begin: str
    end: str
    hides: bool = False  # whoever looks has to wait
    of_client: bool = False  # whose processes are killed before, and whose mount is gone meanwhile


DISTURBANCES = (
    Disturbance("servers killed", "server-down", "server-up", hides=True),
    Disturbance("volumes full", "full", "room"),
    Disturbance("clients unmounted", "unmount {}", "mount {}", of_client=True),
)


@dataclass(frozen=True)
class Trouble:
    """What is disturbed now."""
    kind: Disturbance
    mount: int
    until: float


class Disturber:
    """Does without what the program does not know."""

    def __init__(self, program: str | None, mounts: int):
        self.program = program
        self.known = [each for each in DISTURBANCES if program and (mounts > 1 or not each.of_client)]

    def begin(self, trouble: Trouble) -> bool:
        """Whether there is that trouble now."""
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
