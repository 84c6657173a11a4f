"""What must hold after a direct run: the file is old, new, or refused by readers until the same command has finished it."""

import os
from dataclasses import replace
from pathlib import Path

from checks import MODE, code_violations, found, message_violations, prepare
from modes import JOURNAL, OPERATION, Mode
from process import Clipper, Fault, Run

VERSION_AT, POISON = 6, 204
NAME = "in.npy"


def state(mode: Mode, content: bytes) -> str:
    """Of the file: old, new, poisoned or mixed, which must never be."""
    if content == mode.after[NAME]:
        return "new"
    if len(content) == len(mode.after[NAME]) and content[VERSION_AT] == POISON:
        return "poisoned"
    return "old" if content == mode.before[NAME] else "mixed"


def interrupted(clipper: Clipper, mode: Mode, run: Run) -> tuple[list[str], bool]:
    """The violations right after a run that met a fault, and whether it may be run again: not if it had ended its work and
    only was killed before it could say so."""
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
    if finished and run.code not in (0, 6) and run.code > 0:
        texts.append(f"exit {run.code}, but done")
    if JOURNAL in files and Path(JOURNAL).stat().st_mode & 0o077:
        texts.append("others can read the journal")
    if Path(NAME).stat().st_mode & 0o7777 != MODE:
        texts.append("the file has another mode")
    return texts, not finished


def refusal_violations(clipper: Clipper) -> list[str]:
    """Of readers, that is of clipper as one."""
    run = clipper.plain(*OPERATION, NAME, "copy.npy")
    texts = [] if run.code == 5 else [f"a reader of the poisoned file ends with {run.code}: {run.stderr.strip()}"]
    if Path("copy.npy").exists():
        Path("copy.npy").unlink()
        texts.append("a reader of the poisoned file has made a copy")
    return texts


def stranger_violations(clipper: Clipper, mode: Mode) -> list[str]:
    """What has taken the interrupted file's place is refused and left alone: a valid file, and an unfinished one of which a byte
    differs. The result itself may be taken for what it is."""
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
    """With the permissions that it has, or a journal's."""
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(fd, "wb") as file:
        file.write(content)


def finish(clipper: Clipper, mode: Mode) -> list[str]:
    """The same command, without a fault."""
    run = clipper.run(mode)
    files = found()
    if run.code == 0 and files == mode.after:
        return []
    now = state(mode, files.get(NAME, b""))
    return [f"the same command again: exit {run.code}, the file is {now}, {sorted(files)}, {run.stderr.strip()}"]


def violations(clipper: Clipper, mode: Mode, fault: Fault | None, run: Run, checked: bool = False) -> list[str]:
    """Finishes the file, too."""
    texts = code_violations(mode, fault, run, checked) + message_violations(run)
    more, again = interrupted(clipper, mode, run)
    if again and state(mode, found()[NAME]) == "poisoned":
        more += stranger_violations(clipper, mode)
    return texts + more + (finish(clipper, mode) if again else [])


def resumed_modes(clipper: Clipper, mode: Mode) -> list[Mode]:
    """The same command where an earlier run was killed before one of its calls: all where it had a journal."""
    prepare(mode.before)
    modes = []
    for at in range(1, len(clipper.run(mode).calls) + 1):
        resumed = replace(mode, name=f"{mode.name}, resumed from call {at}", killed_at=at)
        begin(clipper, resumed)
        if JOURNAL in found():
            modes.append(resumed)
    return modes


def begin(clipper: Clipper, mode: Mode, attributes: bool = False) -> None:
    """The files as the mode wants them, made by the run that was killed: a journal knows its file."""
    prepare(mode.before, attributes)
    if mode.killed_at:
        clipper.run(mode, Fault(mode.killed_at, "KILL"))
