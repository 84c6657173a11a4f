"""What must hold after a run with --direct: the file is old, new, or poisoned: every reader refuses it until the same
command has finished it."""

from dataclasses import replace
from pathlib import Path

from checks import IN_PLACE, MODE, SUDDEN, code_violations, found, message_violations, prepare
from modes import OPERATION, UNFINISHED, VERSION_AT, Mode
from process import Clipper, Fault, Run

NAME = "in.npy"


def state(mode: Mode, content: bytes) -> str:
    """The state of the file: old, new, poisoned, or mixed, which must never happen."""
    if content == mode.after[NAME]:
        return "new"
    if len(content) == len(mode.after[NAME]) and content[VERSION_AT] == UNFINISHED:
        return "poisoned"
    return "old" if content == mode.before[NAME] else "mixed"


def interrupted(clipper: Clipper, mode: Mode, run: Run) -> tuple[list[str], bool]:
    """The violations after a run that met a fault, and whether the same command must finish the file. It need not if the
    run was killed after all of its work was done."""
    files = found()
    now = state(mode, files.get(NAME, b""))
    texts = [f"{name} is left" for name in files if name != NAME]
    if now == "mixed":
        texts.append("the file is mixed, and readable")
    if run.code in (0, 6) and now != "new":
        texts.append(f"exit {run.code}, but the file is {now}")
    if now == "poisoned":
        texts += refusal_violations(clipper)
    finished = now == "new"
    if run.code < 0 and -run.code not in SUDDEN and finished != bool(IN_PLACE.match(run.stderr)):
        texts.append(f"ended by a signal, the file is {now}, but {run.stderr!r}")
    if finished and run.code not in (0, 6) and run.code > 0:
        texts.append(f"exit {run.code}, but done")
    if Path(NAME).stat().st_mode & 0o7777 != MODE:
        texts.append("the file has another mode")
    return texts, not finished


def refusal_violations(clipper: Clipper) -> list[str]:
    """Checks that clipper refuses to read a poisoned file."""
    run = clipper.plain(*OPERATION, NAME, "copy.npy")
    texts = [] if run.code == 5 else [f"a reader of the poisoned file ends with {run.code}: {run.stderr.strip()}"]
    if Path("copy.npy").exists():
        Path("copy.npy").unlink()
        texts.append("a reader of the poisoned file has made a copy")
    return texts


def finish(clipper: Clipper, mode: Mode) -> list[str]:
    """Runs the same command without a fault. It must finish the file."""
    run = clipper.run(mode)
    files = found()
    if run.code == 0 and files == mode.after:
        return []
    now = state(mode, files.get(NAME, b""))
    return [f"the same command again: exit {run.code}, the file is {now}, {sorted(files)}, {run.stderr.strip()}"]


def violations(clipper: Clipper, mode: Mode, fault: Fault | None, run: Run, checked: bool = False) -> list[str]:
    """All checks after a --direct run. Also runs the command again to finish the file."""
    texts = code_violations(mode, fault, run, checked) + message_violations(run)
    more, again = interrupted(clipper, mode, run)
    return texts + more + (finish(clipper, mode) if again else [])


def resumed_modes(clipper: Clipper, mode: Mode) -> list[Mode]:
    """Modes that resume a killed run, one for each call before which the kill leaves the file unfinished."""
    prepare(mode.before)
    modes = []
    for at in range(1, len(clipper.run(mode).calls) + 1):
        resumed = replace(mode, name=f"{mode.name}, resumed from call {at}", killed_at=at)
        begin(clipper, resumed)
        if state(mode, found()[NAME]) == "poisoned":
            modes.append(resumed)
    return modes


def begin(clipper: Clipper, mode: Mode, attributes: bool = False) -> None:
    """Prepares the mode's files. For a resumed mode kills a run."""
    prepare(mode.before, attributes)
    if mode.killed_at:
        clipper.run(mode, Fault(mode.killed_at, "KILL"))
