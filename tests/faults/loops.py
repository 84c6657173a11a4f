"""The cases of faults.py: which run meets which fault. Each process has one Clipper and runs it in its current directory."""

import itertools
import os
import random
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import checks
import direct
import shared
from checks import prepare
from modes import Mode, modes
from process import FOR_EVER, KINDS, Call, Clipper, Fault, Run

clipper: Clipper
attributes: bool
RESUMED, EVERYWHERE = 4, 1000  # max number of calls at which a run is killed, to be resumed
LAST = 40  # the last allocations of a run are always tried
chosen = ""  # a regular expression, which is found in the names of the modes


@dataclass
class Outcome:
    """The figures and violations of one case."""
    cases: int = 0
    fired: int = 0
    violations: list[str] = field(default_factory=list)

    def add(self, what: str, run: Run, texts: list[str]) -> None:
        self.cases += 1
        self.fired += bool(run.fired)
        self.violations += [f"{what} ({', '.join(run.fired[:1])}): {text}" for text in texts]


def begin(build: Path) -> None:
    """Must be called first in each process."""
    global clipper, attributes
    clipper = Clipper(build)
    attributes = checks.has_attributes(Path("."))


def set_up(mode: Mode) -> None:
    direct.begin(clipper, mode, attributes)
    shared.begin(clipper, mode)


def checked_run(mode: Mode, fault: Fault | None = None, checked: bool = False) -> tuple[Run, list[str]]:
    """Prepares the mode's files, runs clipper and checks the result."""
    set_up(mode)
    run = clipper.run(mode, fault)
    return run, violations(mode, fault, run, checked)


def violations(mode: Mode, fault: Fault | None, run: Run, checked: bool) -> list[str]:
    if mode.direct:
        return direct.violations(clipper, mode, fault, run, checked)
    if mode.shared or mode.after_shards:
        return shared.violations(clipper, mode, fault, run, checked, attributes)
    return checks.violations(mode, fault, run, checked, attributes)


def clean_run(mode: Mode) -> Run:
    """A run without a fault. Ends the program if it fails."""
    run, texts = checked_run(mode)
    if texts or run.code:
        raise SystemExit(f"{mode.name}: fails without any fault: {texts} {run.stderr}")
    return run


def chosen_modes() -> list[Mode]:
    return [mode for mode in modes() if re.search(chosen, mode.name)]


def all_modes(points: int = RESUMED) -> Iterator[Mode]:
    """All modes, and the --direct modes that resume a run that was killed at one of `points` calls."""
    for mode in chosen_modes():
        yield mode
        if mode.direct and mode.threads == 1:
            resumed = direct.resumed_modes(clipper, mode)
            yield from resumed[:: max(1, len(resumed) // points)]


# Each call and each allocation ---------------------------------------------------------------------------


@dataclass(frozen=True)
class FaultCase:
    mode: Mode
    fault: Fault
    name: str  # the name of the call
    checked: bool = False  # clipper must notice that the call fails


def try_fault(case: FaultCase) -> Outcome:
    run, texts = checked_run(case.mode, case.fault, case.checked)
    if not run.fired and case.mode.threads == 1:  # several threads make different calls in each run
        texts.append("the fault did not fire")
    outcome = Outcome()
    outcome.add(f"'{case.mode.name}' {case.fault}", run, texts)
    return outcome


def faults_of_calls(mode: Mode, calls: tuple[Call, ...]) -> Iterator[FaultCase]:
    for at, call in enumerate(calls, 1):
        for what, kind in KINDS.items():
            if kind and not call.kinds & kind:
                continue
            for ever in (False, True) if what in FOR_EVER else (False,):
                fault = Fault(at, what, ever)
                yield FaultCase(mode, fault, call.name, mode.threads == 1 and checks.is_checked(mode, calls, fault))


def call_cases(runs: int, seed: int) -> list[FaultCase]:
    """All cases, or a random sample that has each fault of each call of each mode."""
    source = all_modes() if runs else all_modes(EVERYWHERE)
    cases = [case for mode in source for case in faults_of_calls(mode, clean_run(mode).calls)]
    random.Random(seed).shuffle(cases)
    if not runs:
        return cases
    first = {(case.mode.name, case.name, case.fault.what, case.fault.ever): case for case in cases}
    return (list(first.values()) + cases)[:max(runs, len(first))]


def signal_cases(runs: int, seed: int) -> list[FaultCase]:
    """SIGTERM and SIGINT before and after each call, or a random sample that has each call of each mode."""
    kinds = ("TERM", "TERM after", "INT", "INT after")
    cases = [FaultCase(mode, Fault(at, what), call.name) for mode in all_modes()
             for at, call in enumerate(clean_run(mode).calls, 1) for what in kinds]
    random.Random(seed).shuffle(cases)
    if not runs:
        return cases
    first = {(case.mode.name, case.name): case for case in cases}
    return (list(first.values()) + cases)[:max(runs, len(first))]


def allocation_cases(runs: int, seed: int) -> list[FaultCase]:
    """All cases, or a random sample that has each mode's last allocations, which happen when files exist already. --finalize
    may run out of memory for good after it put OUT in place: the sample has this, too."""
    first, others = [], []
    for mode in all_modes():
        last = clean_run(mode).allocations if mode.threads == 1 else 0
        for at in range(1, last + 1):
            for ever in (False, True):
                case = FaultCase(mode, Fault(at, "ENOMEM", ever), "malloc")
                (first if at > last - LAST and (mode.after_shards or not ever) else others).append(case)
    random.Random(seed).shuffle(others)
    return (first + others)[:max(runs, len(first))] if runs else first + others


# Kills at random instants -------------------------------------------------------------------------------


@dataclass(frozen=True)
class KillCase:
    mode: Mode
    signal: int
    after: float  # seconds


# Signals that do not end clipper: by default, because clipper ignores SIGXFSZ, or because libc reserves 32 and 33.
SURVIVED = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN,
            signal.SIGTTOU, signal.SIGXFSZ, 32, 33}
ENDING = [int(each) for each in range(1, 65) if each not in SURVIVED and each != signal.SIGKILL]


def kill_cases(runs: int, seed: int) -> Iterator[KillCase]:
    """Half of the cases use SIGKILL, the others use the other fatal signals in turn."""
    source = random.Random(seed)
    others = itertools.cycle(ENDING)
    for mode in all_modes():
        start = time.monotonic()
        clean_run(mode)
        duration = time.monotonic() - start
        for i in range(runs):
            yield KillCase(mode, signal.SIGKILL if i % 2 else next(others), source.uniform(0, duration))


def try_kill(case: KillCase) -> Outcome:
    def kill(pid: int) -> None:
        time.sleep(case.after)
        os.kill(pid, case.signal)

    set_up(case.mode)
    run = clipper.run(case.mode, None, kill)
    hit = run.code == -case.signal
    # The checks expect a signal that the shim has raised.
    fault = Fault(0, str(int(case.signal))) if hit else None
    run = replace(run, fired=("kill",) if hit else ())
    outcome = Outcome()
    outcome.add(f"'{case.mode.name}' signal {case.signal} after {case.after * 1000:.3f} ms", run,
                violations(case.mode, fault, run, False))
    return outcome


# Resumed runs that fail again ----------------------------------------------------------------------------


@dataclass(frozen=True)
class CompoundCase:
    mode: Mode
    faults: tuple[Fault, ...]  # one for each run


def random_fault(calls: tuple[Call, ...], source: random.Random) -> Fault:
    at = source.randrange(1, len(calls) + 1)
    what = source.choice([what for what, kind in KINDS.items() if not kind or calls[at - 1].kinds & kind])
    return Fault(at, what, what in FOR_EVER and source.random() < 0.5)


def compound_cases(runs: int, seed: int) -> Iterator[CompoundCase]:
    source = random.Random(seed)
    for mode in [mode for mode in modes() if mode.direct]:
        calls = clean_run(mode).calls
        for _ in range(runs):
            yield CompoundCase(mode, tuple(random_fault(calls, source) for _ in range(source.randrange(2, 5))))


def try_compound(case: CompoundCase) -> Outcome:
    """Interrupts one run after another until a run has finished the file."""
    prepare(case.mode.before, attributes)
    outcome = Outcome()
    what = f"'{case.mode.name}'"
    for fault in case.faults:
        what += f" {fault}"
        run = clipper.run(case.mode, fault)
        texts, again = direct.interrupted(clipper, case.mode, run)
        outcome.add(what, run, texts)
        if not again:
            return outcome
    outcome.violations += [f"{what}: {text}" for text in direct.finish(clipper, case.mode)]
    return outcome


# faults.py BUILD one MODE FAULT ------------------------------------------------------------------------


def show(name: str, text: str) -> int:
    at, what, how = text.split(":")
    mode = next(mode for mode in all_modes() if mode.name == name)
    fault = Fault(int(at), what, how == "ever")
    checked = checks.is_checked(mode, clean_run(mode).calls, fault) if what != "ENOMEM" else False
    run, texts = checked_run(mode, fault, checked)
    print(f"{clipper.line(mode, fault)}\nexit {run.code}, fired {run.fired}\n{run.stderr}", *texts, sep="\n")
    return 1 if texts else 0
