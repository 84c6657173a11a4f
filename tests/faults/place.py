"""A directory on the file system that is tried, and clipper's runs in it."""

import os
import random
import subprocess
from dataclasses import dataclass, replace

import checks
from checks import found, prepare
from modes import Files, Mode
from mounts import INSIDE, LAYERS, OVERLAY, PLACE, System, shell
from process import LIMIT, Clipper, Run

REFUSALS = (2, 4, 5)
ABOUT_MODES = ("mode", "others can read")  # words of violations that do not count on file systems without modes


@dataclass
class Place:
    """The directory and the state of the current scenario, which sets `refusal` and counts `runs` and `fired`."""
    clipper: Clipper
    system: System
    has: frozenset[str]
    source: random.Random
    often: int  # how often random things are tried
    refusal: Run | None = None
    note: str = ""
    runs: int = 0
    fired: int = 0

    def put(self, files: Files) -> None:
        """Makes the directory hold exactly these files."""
        if self.system.lower:
            os.chdir("/")
            shell(f"umount $PLACE; {LAYERS}")
            os.chdir(INSIDE / "lower")
            prepare(files, "attributes" in self.has)
            shell(OVERLAY)
        os.chdir(PLACE)
        if not self.system.lower:
            prepare(files, "attributes" in self.has)

    def run(self, *words: str, prefix: tuple[str, ...] = (), **more) -> Run:
        """Runs clipper. `more` goes to subprocess.run(): user, umask, ..."""
        self.runs += 1
        done = subprocess.run([*prefix, self.clipper.binary, *words], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LIMIT, **more)
        return Run(done.returncode, done.stderr.decode(errors="replace"), done.stdout, (), ())

    def attempt(self, mode: Mode) -> list[str]:
        self.put(mode.before)
        return self.judged(mode, self.run(*mode.arguments))

    def judged(self, mode: Mode, run: Run) -> list[str]:
        """The run did its work, or refused with one line and changed nothing. The caller checks which of them is right."""
        if run.code in REFUSALS:
            self.refusal = run
            mode = replace(mode, after={})
        texts = [] if run.code in (0, *REFUSALS) else [f"exit {run.code}: {run.stderr}"]
        files = found()
        texts += checks.message_violations(run) + checks.content_violations(mode, run, files)
        texts += checks.litter_violations(mode, None, run, files)
        return self.sifted(texts + checks.attribute_violations(mode, run, files, "attributes" in self.has))

    def sifted(self, texts: list[str]) -> list[str]:
        """Drops violations about modes if the file system has no modes."""
        return texts if "modes" in self.has else [text for text in texts if not any(word in text for word in ABOUT_MODES)]

    def unchanged(self, run: Run, before: Files, *codes: int) -> list[str]:
        """The run must have refused with one of `codes` and changed nothing."""
        texts = [] if run.code in codes else [f"exit {run.code}, not {' or '.join(map(str, codes))}: {run.stderr}"]
        texts += self.judged(Mode("", (), before, {}), run)
        self.refusal = None
        return texts


def differences(wanted: Files) -> list[str]:
    files = found()
    texts = [f"{name} is {'wrong' if name in files else 'missing'}" for name in wanted if wanted[name] != files.get(name)]
    return texts + [f"{name} is left" for name in files if name not in wanted]


def refused(run: Run, *codes: int) -> list[str]:
    good = run.code in codes and len(run.stderr.splitlines()) == 1
    return [] if good else [f"exit {run.code}, not one of {codes} and a line: {run.stderr.strip()}"]
