"""Another process ("outsider") acts once while clipper is stopped at a call. The shim stops clipper. sharded.py does the same
to shards."""

import os
import random
import signal
import stat
import subprocess
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import actions
import conservation
import loops
from actions import MOVED, Action, Stuff
from checks import TEMPORARY, prepare
from conservation import Scene, Tree, tree
from loops import Outcome
from modes import (HIGHEST, Link, Mode, archives, backups, batches, differences, flagless, golden, in_place, linked_input, linked_output,
                   many_archives, many_files, numbers, one_file, replacement, split, streams)
from process import Fault, Run, read_all, wait_for_stop
from zip_bytes import DEFLATED, STORED

TEMPORARIES = "a temporary"
ANOTHER = "another clipper"
OTHER_OPERATION = ("--in-place", "--bias", "0.5", "--min", "-50", "--max", "1000")  # exact for multiples of 1/4
LOOKS_AT_A_NAME = {"stat", "lstat", "fstatat", "statx"}
LOOKS_AT_THE_FILE = {"fstat", "statx"}
EXCHANGES = {"renameat", "renameat2"}
OWN_WRITES = {"pwrite", "fdatasync", "fsync"}  # after these --direct looks at the file's times again
HOUR = 3600
EARLY = 0.3  # seconds; what happens so early in a second is over before the next one
UNSEEN = {"truncate and rewrite", "overwrite", "overwrite elements"}  # writes that keep the size
COUNT = 2500  # elements


def clip(path: str, _: Stuff) -> None:
    """A second clipper, which ends before the first one continues."""
    run = subprocess.run([loops.clipper.binary, *OTHER_OPERATION, path], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if run.returncode not in (0, 3, 4, 5) or len(run.stderr.splitlines()) != bool(run.returncode):
        raise AssertionError(f"another clipper: exit {run.returncode}: {run.stderr!r}")


ACTIONS = actions.ACTIONS | {ANOTHER: Action(clip)}


def modes() -> list[Mode]:
    """Modes with one thread, so that call number N is the same in each run. Inputs are in i, outputs in o."""
    values = numbers(COUNT)
    bare = [one_file("new", (), values), one_file("new, --no-clobber", ("--no-clobber",), values),
            one_file("new, named", (), values, named=True), replacement("replace", ()), linked_output(COUNT), golden(COUNT),
            differences(COUNT), split(COUNT), in_place("in place", values),
            in_place("in place, nothing to do", array("f", [HIGHEST] * COUNT)), linked_input(COUNT), *backups(), *flagless(COUNT),
            in_place("direct", batches(2), "--direct"), *streams()[1:],
            many_files("3 files, --output-dir", ("--output-dir", "made"), "made/", directories=("made",)),
            many_files("3 files, --in-place", ("--in-place",), "", durable=True),
            *archives(COUNT, STORED), archives(COUNT, DEFLATED)[1],
            many_archives("3 archives, --in-place", ("--in-place",), "", durable=True)]
    return [placed(mode) for mode in bare]


def coarse_modes() -> list[Mode]:
    """Modes on a file system that counts in seconds."""
    return [replace(mode, name=f"{mode.name}, whole seconds", coarse=True) for mode in modes()
            if mode.before and not mode.flagless and not mode.compares and len(mode.after) == 1]


def placed(mode: Mode) -> Mode:
    def place(name: str) -> str:
        file = name.split(":")[0]  # of a member
        is_input = file in mode.before and file not in mode.after
        return ("i/" if is_input else "o/") + name

    def content(given: bytes) -> bytes:
        return Link(b"../o/" + given) if isinstance(given, Link) else given

    names = {*mode.before, *mode.after, *mode.directories}
    return replace(mode, words=tuple(place(word) if word.split(":")[0] in names or word.endswith(".npy") else word for word in mode.words),
                   before={place(name): content(given) for name, given in mode.before.items()},
                   after={place(name): given for name, given in mode.after.items()},
                   directories=tuple(map(place, mode.directories)))


def targets(mode: Mode) -> list[str]:
    """Names that an outsider may act on. Of many files only one is used."""
    names = list({**mode.before, **mode.after})
    if len(names) > 5 or len(mode.after) > 2:
        names = [name for name in names if name.endswith(("b.npy", "b.npz"))]
    return [*names, TEMPORARIES, "i", "o", *mode.directories]


def can_be_noticed(mode: Mode, name: str, target: str) -> bool:
    """Whether clipper can notice the action, and ends after it. It cannot notice a write into its own temporary file. --direct
    looks only at the modification time, because its own writes change the other one."""
    if ACTIONS[name].hides and mode.direct:
        return False
    if target == TEMPORARIES:
        return not ACTIONS[name].writes and not ACTIONS[name].may_be_absent and name != ANOTHER
    return True


def actual(target: str) -> str | None:
    """The path of the target. For a temporary file: the name that it has now, or None."""
    if target != TEMPORARIES:
        return target
    return next((path for path in sorted(tree()) if TEMPORARY.fullmatch(path)), None)


@dataclass(frozen=True)
class Case:
    mode: Mode
    at: int
    call: str
    action: str
    target: str
    late: bool  # clipper does not look at files after this call
    killed: bool

    def __str__(self) -> str:
        return f"'{self.mode.name}' {self.at}:{self.action}:{self.target}{':killed' if self.killed else ''}"


def set_up(mode: Mode) -> None:
    """Prepares the mode's files. Their times are an hour old, so that a write changes them even if the clock is coarse; in a
    coarse mode they are written early in a second, in which clipper begins and the outsider may act."""
    if mode.coarse and time.time() % 1 > EARLY:
        time.sleep(1 - time.time() % 1)
    prepare(mode.before)
    os.makedirs("o", exist_ok=True)
    if mode.coarse:
        return
    past = time.time() - HOUR
    for name, content in mode.before.items():
        if not isinstance(content, Link):
            os.utime(name, (past, past))


def possible(mode: Mode) -> tuple[Run, list[list[tuple[str, str]]]]:
    """A run, and for each of its calls the possible (action, target) pairs."""
    found = []

    def look(pid: int) -> None:
        while wait_for_stop(pid):
            paths = [(target, actual(target)) for target in targets(mode)]
            found.append([(name, target) for target, path in paths if path
                          for name, action in ACTIONS.items() if action.applies(path) and can_be_noticed(mode, name, target)])
            os.waitid(os.P_PID, pid, os.WSTOPPED)
            os.kill(pid, signal.SIGCONT)

    set_up(mode)
    loops.clipper.run(mode, Fault(1, "STOP", True), look)
    set_up(mode)
    return loops.clipper.run(mode), found


def all_cases(mode: Mode) -> Iterator[Case]:
    run, found = possible(mode)
    if run.code:
        yield Case(mode, 0, "", "nothing", "", False, False)
        return
    name_looked_at, file_looked_at = last(mode, run, LOOKS_AT_A_NAME), last(mode, run, LOOKS_AT_THE_FILE)
    walked = max((at for at, call in enumerate(run.calls, 1) if call.name == "readdir"), default=0)
    for at, (call, choices) in enumerate(zip(run.calls, found, strict=True), 1):
        for action, target in choices:
            if action == "put a FIFO" and at <= walked and target in mode.before:
                continue  # a walk finds no input there
            for killed in (False, True) if mode.direct else (False,):
                writes = ACTIONS[action].writes
                late = at > (file_looked_at if writes else name_looked_at)
                late |= ACTIONS[action].hides and at > last_look_before(run, EXCHANGES, LOOKS_AT_THE_FILE)
                late |= ACTIONS[action].protects and not mode.in_place and at > last_look_before(run, {"fchmod"}, LOOKS_AT_A_NAME)
                late |= ACTIONS[action].protects and mode.flagless
                late |= writes and mode.direct and (call.name in OWN_WRITES or run.calls[at - 2].name in OWN_WRITES)
                late |= writes and mode.direct and mode.coarse and any(each.name == "pwrite" for each in run.calls[: at - 1])
                yield Case(mode, at, call.name, action, target, late, killed)


def last(mode: Mode, run: Run, looks: set[str]) -> int:
    """The last look at a file. If there are several files: the first of their last looks."""
    found = [at for at, call in enumerate(run.calls, 1) if call.name in looks]
    return found[-min(len(mode.after) or 1, len(found))] if found else 0


def last_look_before(run: Run, calls: set[str], looks: set[str]) -> int:
    """The number of the last look before the first of the calls; of all looks if there is no such call."""
    end = next((at for at, call in enumerate(run.calls) if call.name in calls), len(run.calls))
    return max((at for at, call in enumerate(run.calls[:end], 1) if call.name in looks), default=0)


def ticks(runs: int, seed: int) -> list[Case]:
    """Writes into the input in the second in which it was written before, and later."""
    found = [case for mode in coarse_modes() for case in all_cases(mode)
             if case.action in UNSEEN and case.target in mode.before and case.at > 0 and not case.killed]
    return sample(found, runs, seed, lambda case: (case.mode.name, case.call))


def cases(runs: int, seed: int) -> list[Case]:
    """All cases, or a random sample that has each action at each kind of call of each mode, and a FIFO in place of each file."""
    found = [case for mode in modes() for case in all_cases(mode)]
    return sample(found, runs, seed, lambda case: (case.mode.name, case.action, case.call, case.target * (case.action == "put a FIFO")))


def sample(found: list[Case], runs: int, seed: int, kind: Callable[[Case], tuple]) -> list[Case]:
    random.Random(seed).shuffle(found)
    if not runs:
        return found
    first = {kind(case): case for case in found}
    return (list(first.values()) + found)[:max(runs, len(first))]


@dataclass
class Outsider:
    """Acts when clipper has stopped, then lets it continue, or kills it."""
    case: Case
    stuff: Stuff
    path: str = ""
    stopped: Tree = field(default_factory=dict)
    acted: Tree | None = None
    outputs: frozenset[str] = frozenset()
    feeder: int = 0
    drain: int = -1
    outputs_read: list[bytes] = field(default_factory=list)

    @property
    def action(self) -> Action:
        return ACTIONS[self.case.action]

    def __call__(self, pid: int) -> None:
        if not wait_for_stop(pid):
            return
        self.path = actual(self.case.target) or ""
        self.stopped = tree()
        if self.action.applies(self.path):
            self.action.do(self.path, self.stuff)
            self.acted, self.outputs = tree(), conservation.outputs(self.case.mode) | self.moved_outputs()
            if self.case.action == "put a FIFO" and not self.case.mode.in_place:
                self.accompany()
        os.kill(pid, signal.SIGKILL if self.case.killed else signal.SIGCONT)

    def is_feeding_nothing(self) -> bool:
        """Whether the input is a FIFO that has no writer, so that reading it again would never end."""
        return self.case.action == "put a FIFO" and self.path in self.case.mode.before and not self.case.mode.in_place

    def moved_outputs(self) -> frozenset[str]:
        """OUT's names if the action has moved its directory, which clipper may have open."""
        names = conservation.outputs(self.case.mode) if self.action.of_directory else ()
        return frozenset(self.path + MOVED + name.removeprefix(self.path) for name in names if name.startswith(self.path + "/"))

    def leave(self, run: Run) -> None:
        if self.feeder:
            os.kill(self.feeder, signal.SIGKILL)
            os.waitpid(self.feeder, 0)
        if self.drain >= 0:
            if text := read_all(self.drain):
                self.outputs_read.append(text)
            os.close(self.drain)

    def accompany(self) -> None:
        """Opens the other end of a FIFO: writes a tensor into an input, or will read an output, which fits into a pipe. An input
        that clipper found below a directory gets no writer, for which it must not wait."""
        if self.path in self.outputs:
            self.drain = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        elif self.path in self.case.mode.before and "--recursive" not in self.case.mode.words:
            self.feeder = feed(self.path, self.stuff.same)


def feed(path: str, content: bytes) -> int:
    if child := os.fork():
        return child
    try:
        with open(path, "wb") as fifo:
            fifo.write(content)
    finally:
        os._exit(0)


def try_case(case: Case) -> Outcome:
    mode = case.mode
    if not case.at:
        return Outcome(1, 0, [f"'{mode.name}' fails without any outsider"])
    given = next(each for each in (mode.stdin, *mode.before.values()) if each and conservation.can_be_clipped(each))
    outsider = Outsider(case, conservation.stuff_like(given))
    set_up(mode)
    begun = tree()
    run = loops.clipper.run(mode, Fault(case.at, "STOP"), outsider)
    outsider.leave(run)
    outcome = Outcome(1, int(outsider.acted is not None))
    if outsider.acted is None:
        outcome.violations.append(f"{case}: the outsider could not act")
        return outcome
    scene = Scene(mode, outsider.action, outsider.path, case.late, outsider.stuff, outsider.stopped, outsider.acted, outsider.outputs,
                  tree(), run, frozenset(outsider.outputs_read), begun=begun,
                  took_result=took_result(mode, case.action, outsider.path, outsider.stopped, outsider.acted))
    outcome.violations += [f"{case} ({case.call}): {text}" for text in [*conservation.violations(scene), *unprotected(scene)]]
    if conservation.can_go_on(scene) and not outsider.is_feeding_nothing():
        again = go_on(scene)
        outcome.violations += [f"{case} ({case.call}), and then: {text}" for text in conservation.violations(again)]
    return outcome


def unprotected(scene: Scene) -> list[str]:
    """Whether a result that is in place lacks the mode that the outsider gave to its file."""
    results = {path for path in scene.mode.after if not path.endswith("~")}
    if not scene.action.protects or scene.late or not scene.is_done or scene.path not in scene.end.keys() & results:
        return []
    mode = stat.S_IMODE(os.stat(scene.path).st_mode)
    return [] if mode == actions.PRIVATE else [f"exit {scene.run.code}, but {scene.path} has the mode {mode:o}"]


def took_result(mode: Mode, action: str, path: str, stopped: Tree, acted: Tree) -> bool:
    """Whether another clipper has clipped the result."""
    real = os.path.relpath(os.path.realpath(path))
    was = stopped.get(real)
    return action == ANOTHER and was is not None and was.content in mode.results and acted.get(real) != was


def show(name: str, text: str) -> int:
    """Runs one case and prints the files and violations."""
    mode = next(mode for mode in (*modes(), *coarse_modes()) if mode.name == name)
    case = next(case for case in all_cases(mode) if str(case) == f"'{name}' {text}")
    outcome = try_case(case)
    left = [f"{path}: {len(file.content)} bytes" for path, file in sorted(tree().items())]
    print(f"before {case.call}", *left, *outcome.violations, sep="\n")
    return 1 if outcome.violations else 0


def go_on(scene: Scene) -> Scene:
    """Runs the same command again, without an outsider."""
    run = loops.clipper.run(scene.mode)
    return replace(scene, late=False, stopped=scene.end, acted=scene.end, outputs=conservation.outputs(scene.mode), end=tree(),
                   run=run, again=True)
