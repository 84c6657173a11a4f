"""An outsider acts twice, or two outsiders act once each: before clipper exchanges names or renames its file, and at one of the
calls after that, when clipper may be taking back what it has done. One of the outsiders can be another clipper."""

import os
import random
import signal
from dataclasses import dataclass, field

import conservation
import loops
import outsiders
from actions import Stuff
from conservation import Scene, Tree, tree
from loops import Outcome
from modes import Mode, archives, backups, in_place, linked_input, many_files, numbers, replacement
from outsiders import ACTIONS, COUNT, took_result
from process import Fault, wait_for_stop
from zip_bytes import STORED

RENAMES = {"rename", "renameat", "renameat2"}
LATER = 5  # the second action is at one of so many calls after the first


def modes() -> list[tuple[Mode, str]]:
    """The modes, each with the file that the outsiders act on."""
    bare = [(in_place("in place", numbers(COUNT)), "o/in.npy"), (linked_input(COUNT), "o/real.npy"),
            (many_files("3 files, --in-place", ("--in-place",), "", durable=True), "o/b.npy"),
            (archives(COUNT, STORED)[1], "o/in.npz"), (replacement("replace", ()), "o/out.npy"),
            *((mode, next(f"o/{name}" for name in mode.after)) for mode in backups())]
    return [(outsiders.placed(mode), target) for mode, target in bare]


@dataclass(frozen=True)
class Case:
    mode: Mode
    target: str
    at: int  # the number of the call before which the first action is
    later: int  # the second action is before the call after so many more
    first: str
    second: str

    def __str__(self) -> str:
        return f"'{self.mode.name}' {self.at}:{self.first}, {self.later} calls later {self.second}"


def cases(runs: int, seed: int) -> list[Case]:
    """All cases, or a random sample that has each pair of actions whose first is right before the rename of each mode."""
    found, first = [], {}
    for mode, target in modes():
        before, at_rename = cases_of(mode, target)
        found += before + at_rename
        random.Random(seed).shuffle(at_rename)
        first |= {(mode.name, case.first, case.second): case for case in at_rename}
    random.Random(seed).shuffle(found)
    return (list(first.values()) + found)[:max(runs, len(first))] if runs else found


def cases_of(mode: Mode, target: str) -> tuple[list[Case], list[Case]]:
    """The cases whose first action is before a call before the rename of the target, and those right before the rename."""
    outsiders.set_up(mode)
    renames = [at for at, call in enumerate(loops.clipper.run(mode).calls, 1) if call.name in RENAMES]
    rename = renames[len(renames) // 2]  # of 3 files, the second
    opens_fifo = not mode.in_place or len(mode.after) > 1  # and waits for its other end
    names = [name for name, action in ACTIONS.items() if not action.of_directory and not action.hides and not (name == "put a FIFO" and opens_fifo)]
    found = [Case(mode, target, at, later, first, second) for at in range(1, rename + 1) for later in range(1, LATER + 1)
             for first in names for second in names]
    return [case for case in found if case.at < rename], [case for case in found if case.at == rename]


@dataclass
class Outsiders:
    """Let clipper stop at each call from the first action on."""
    case: Case
    stuff: tuple[Stuff, Stuff]
    stopped: list[Tree] = field(default_factory=list)
    acted: list[Tree] = field(default_factory=list)
    outputs: frozenset[str] = frozenset()  # after either action
    took: bool = False

    def __call__(self, pid: int) -> None:
        stops = 0
        while wait_for_stop(pid):
            if stops in (0, self.case.later):
                self.act(self.case.second if stops else self.case.first, self.stuff[bool(stops)])
            stops += 1
            os.waitid(os.P_PID, pid, os.WSTOPPED)
            os.kill(pid, signal.SIGCONT)

    def act(self, name: str, stuff: Stuff) -> None:
        is_fifo = os.path.exists(self.case.target) and not os.path.isfile(self.case.target)
        if not ACTIONS[name].applies(self.case.target) or (ACTIONS[name].writes and is_fifo):  # opening it would never end
            return
        self.stopped.append(tree())
        ACTIONS[name].do(self.case.target, stuff)
        self.acted.append(tree())
        self.outputs |= conservation.outputs(self.case.mode)
        self.took |= took_result(self.case.mode, name, self.case.target, self.stopped[-1], self.acted[-1])


def try_case(case: Case) -> Outcome:
    mode = case.mode
    given = conservation.stuff_like(next(each for each in mode.before.values() if each and conservation.can_be_clipped(each)))
    acting = Outsiders(case, (given, Stuff(given.other, given.same)))
    outsiders.set_up(mode)
    begun = tree()
    run = loops.clipper.run(mode, Fault(case.at, "STOP", True), acting)
    outcome = Outcome(1, int(len(acting.acted) == 2))
    if not acting.acted:
        return outcome
    action = ACTIONS[case.second if len(acting.acted) == 2 else case.first]
    scene = Scene(mode, action, case.target, False, given, acting.stopped[-1], acting.acted[-1], acting.outputs, tree(), run,
                  begun=begun, earlier=acting.stopped[0], first=acting.acted[0], took_result=acting.took)
    outcome.violations += [f"{case}: {text}" for text in conservation.violations(scene)]
    return outcome
