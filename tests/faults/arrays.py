"""Another process changes, replaces or removes the array of --scale while clipper is stopped at a call. The result must be that
of one content of the array, or there is none. An interrupted --direct run is finished by the same command and the first array."""

import functools
import os
import random
import signal
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import direct
import loops
from actions import ACTIONS, Stuff
from checks import TEMPORARY, found, prepare
from loops import Outcome
from modes import LOWEST, HIGHEST, Mode, numbers, tensor
from process import Fault, Run, wait_for_stop

ARRAY = "scale.npy"
HELD, LARGE = 10_000, 600_000  # elements; clipper holds arrays of up to 2 MiB in memory and reads others while it clips
HOUR = 3600


@functools.lru_cache
def scales(count: int, seed: int) -> array:
    """1, 2 and 4, by which all elements are scaled exactly."""
    source = random.Random(seed)
    return array("f", (source.choice((1, 2, 4)) for _ in range(count)))


def expected(mode: Mode, seed: int) -> bytes:
    return result(LARGE if str(LARGE) in mode.name else HELD, mode.direct, seed)


@functools.lru_cache
def result(count: int, as_min: bool, seed: int) -> bytes:
    """The result with this array: as the scale, or, because --direct takes none, as min."""
    pairs = zip(numbers(count), scales(count, seed))
    if as_min:
        return tensor(array("f", (min(max(x, low), HIGHEST) for x, low in pairs)))
    return tensor(array("f", (min(max(x * scale + 1, LOWEST), HIGHEST) for x, scale in pairs)))


FIRST, SECOND = 11, 12  # seeds: the array before the run, and what the other process writes


@functools.lru_cache
def modes() -> list[Mode]:
    found_modes = []
    for count, chunk in ((HELD, "4096"), (LARGE, "262144")):
        before = {"in.npy": tensor(numbers(count)), ARRAY: tensor(scales(count, FIRST))}
        for name, words, out, more in (("new", ("in.npy", "out.npy"), "out.npy", {}),
                                       ("in place", ("--in-place", "in.npy"), "in.npy", {"durable": True}),
                                       ("direct", ("--in-place", "--direct", "in.npy"), "in.npy", {"durable": True})):
            options = ("--scale" if name != "direct" else "--min", f"@{ARRAY}", "--chunk-size", chunk if name != "direct" else "4096")
            mode = Mode(f"{name}, array of {count}", (*options, *words), before, {}, **more)
            mode.after[out] = expected(mode, FIRST)
            found_modes.append(mode)
    return found_modes


@dataclass(frozen=True)
class Case:
    mode: int
    at: int
    action: str

    def __str__(self) -> str:
        return f"'{modes()[self.mode].name}' {self.at}:{self.action}"


def cases(runs: int, seed: int) -> list[Case]:
    """All cases, or a random sample."""
    all_cases = list(every_case())
    random.Random(seed).shuffle(all_cases)
    return all_cases[:runs] if runs else all_cases


def every_case() -> Iterator[Case]:
    for index, mode in enumerate(modes()):
        prepare(mode.before)
        run = loops.clipper.run(mode)
        if run.code or found() != mode.before | mode.after:
            raise SystemExit(f"{mode.name}: fails without any fault: {run.stderr}")
        for at in range(1, len(run.calls) + 1):
            for name, action in ACTIONS.items():
                if not action.of_directory and name != "put a FIFO":
                    yield Case(index, at, name)


def set_up(mode: Mode) -> None:
    """The files are an hour old, so that a write changes their times even if the clock is coarse."""
    prepare(mode.before)
    past = time.time() - HOUR
    for name in mode.before:
        os.utime(name, (past, past))


def try_case(case: Case) -> Outcome:
    mode = modes()[case.mode]
    count = LARGE if str(LARGE) in mode.name else HELD
    stuff = Stuff(tensor(scales(count, SECOND)), tensor(scales(count // 2 + 7, SECOND)))
    acted = []

    def act(pid: int) -> None:
        if wait_for_stop(pid):
            ACTIONS[case.action].do(ARRAY, stuff)
            acted.append(True)
            os.kill(pid, signal.SIGCONT)

    set_up(mode)
    run = loops.clipper.run(mode, Fault(case.at, "STOP"), act)
    texts = violations(mode, run, {expected(mode, FIRST), expected(mode, SECOND)})
    if mode.direct and direct.state(mode, found()["in.npy"]) == "poisoned":
        texts += finish(mode)
    return Outcome(1, len(acted), [f"{case} ({run.stderr.strip()}): {text}" for text in texts])


def violations(mode: Mode, run: Run, results: set[bytes]) -> list[str]:
    """The output is the result of one array, or there is none."""
    (name,) = mode.after
    now, old = found().get(name), mode.before.get(name)
    texts = [] if run.code in (0, 2, 3, 4, 5) else [f"exit {run.code}"]
    if run.code == 0 and now not in results:
        texts.append(f"exit 0, and {name} is not the result of one array")
    poisoned = mode.direct and now is not None and direct.state(mode, now) == "poisoned"
    if run.code != 0 and now != old and not poisoned:
        texts.append(f"exit {run.code}, and {name} is not as before")
    if len(run.stderr.splitlines()) != (run.code != 0):
        texts.append(f"on stderr: {run.stderr!r}")
    return texts + [f"{each} is left" for each in found() if TEMPORARY.fullmatch(each)]


def finish(mode: Mode) -> list[str]:
    """With another array the same command is refused. With the first one, under another name, it finishes the file."""
    for name in os.listdir():
        if name.startswith(ARRAY):
            os.rename(name, "aside") if os.path.isdir(name) else os.unlink(name)
    count = len(scales(LARGE if str(LARGE) in mode.name else HELD, FIRST))
    texts, before = [], found()
    with open(ARRAY, "wb") as file:
        file.write(tensor(scales(count, SECOND)))
    run = loops.clipper.run(mode)
    if run.code != 5 or found() != before | {ARRAY: tensor(scales(count, SECOND))}:
        texts.append(f"with another array: exit {run.code}: {run.stderr.strip()}")
    os.unlink(ARRAY)
    with open("copy.npy", "wb") as file:
        file.write(mode.before[ARRAY])
    words = [word.replace(ARRAY, "copy.npy") for word in mode.arguments]
    run = loops.clipper.plain(*words)
    if run.code != 0 or found()["in.npy"] != mode.after["in.npy"]:
        texts.append(f"with a copy of the array: exit {run.code}, the file is {direct.state(mode, found()['in.npy'])}: {run.stderr.strip()}")
    return texts
