"""What must hold after a run with --direct: the file is old, new, or poisoned: every reader refuses it until the same
command has finished it."""

import os
from dataclasses import replace
from pathlib import Path

from checks import IN_PLACE, MODE, SUDDEN, code_violations, found, message_violations, prepare
from modes import JOURNAL, OPERATION, Mode
from process import Clipper, Fault, Run

VERSION_AT, POISON = 6, 204
NAME = "in.npy"


def state(mode: Mode, content: bytes) -> str:
    """The state of the file: old, new, poisoned, or mixed, which must never happen."""
    if content == mode.after[NAME]:
        return "new"
    if len(content) == len(mode.after[NAME]) and content[VERSION_AT] == POISON:
        return "poisoned"
    return "old" if content == mode.before[NAME] else "mixed"


def interrupted(clipper: Clipper, mode: Mode, run: Run) -> tuple[list[str], bool]:
    """The violations after a run that met a fault, and whether the same command must finish the file. It need not if the
    run was killed after all of its work was done."""
    files = found()
    now = state(mode, files.get(NAME, b""))
    texts = [f"{name} is left" for name in files if name not in (NAME, JOURNAL)]
    if now == "mixed":
        texts.append("the file is mixed, and readable")
    if run.code in (0, 6) and now != "new":
        texts.append(f"exit {run.code}, but the file is {now}")
    if run.code == 0 and JOURNAL in files:
        texts.append("exit 0, but the journal is left")
    if now == "poisoned":
        texts += refusal_violations(clipper)
        texts += [] if JOURNAL in files else ["poisoned without a journal"]
    finished = now == "new" and JOURNAL not in files
    if run.code < 0 and -run.code not in SUDDEN and finished != bool(IN_PLACE.match(run.stderr)):
        texts.append(f"ended by a signal, the file is {now}, but {run.stderr!r}")
    if finished and run.code not in (0, 6) and run.code > 0:
        texts.append(f"exit {run.code}, but done")
    if JOURNAL in files and Path(JOURNAL).stat().st_mode & 0o077:
        texts.append("others can read the journal")
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


def stranger_violations(clipper: Clipper, mode: Mode) -> list[str]:
    """Another file in the place of the interrupted one is refused and kept: a valid file, and an unfinished file in which one
    byte differs. If the valid file is the result itself, clipper may accept it."""
    left = found()
    torn = left[NAME][:-1] + bytes([left[NAME][-1] ^ 0xFF])
    texts = []
    for what, content in (("a valid file", mode.after[NAME]), ("another unfinished file", torn)):
        Path(NAME).write_bytes(content)
        before = found()
        run = clipper.run(mode)
        if not (run.code == 5 and found() == before) and not (run.code == 0 and found() == mode.after and content != torn):
            texts.append(f"{what} in the place of the interrupted one: exit {run.code}, {run.stderr.strip()}")
        for name, old in left.items():
            write_private(name, old)
    return texts


def write_private(name: str, content: bytes) -> None:
    """Writes a file. An existing file keeps its permissions; a new one gets those of a journal."""
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(fd, "wb") as file:
        file.write(content)


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
    if again and state(mode, found()[NAME]) == "poisoned":
        more += stranger_violations(clipper, mode)
    return texts + more + (finish(clipper, mode) if again else [])


def resumed_modes(clipper: Clipper, mode: Mode) -> list[Mode]:
    """Modes that resume a killed run, one for each call before which the kill leaves a journal."""
    prepare(mode.before)
    modes = []
    for at in range(1, len(clipper.run(mode).calls) + 1):
        resumed = replace(mode, name=f"{mode.name}, resumed from call {at}", killed_at=at)
        begin(clipper, resumed)
        if JOURNAL in found():
            modes.append(resumed)
    return modes


def begin(clipper: Clipper, mode: Mode, attributes: bool = False) -> None:
    """Prepares the mode's files. For a resumed mode kills a run, because a journal cannot be copied to another file."""
    prepare(mode.before, attributes)
    if mode.killed_at:
        clipper.run(mode, Fault(mode.killed_at, "KILL"))
