"""Scenarios in which two paths lead to one file: through bind mounts, names that differ in case, or two mounted file
systems with the same files."""

import os
import subprocess
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from checks import found
from modes import OPERATION, Files, batches, in_place, numbers, result, tensor
from mounts import MIRROR, OUTSIDE, PLACE, bound, command, shell
from place import Place, differences, refused
from process import LIMIT, Run
from scenarios import NEW, NEW_OTHER, OLD, OTHER, Scenario, clear_outside

RACERS = 4


def refused_or_right(place: Place, run: Run, before: Files, after: Files) -> list[str]:
    if run.code == 0:
        return differences(before | after)
    place.refusal = run
    return differences(before) + refused(run, 2, 5)


def input_is_output(place: Place) -> list[str]:
    """The output of one input is another input, through a bind mount."""
    before = {"p/a.npy": OLD, "o/a.npy": OTHER}
    place.put(before)
    os.mkdir("p/m")
    with bound(PLACE / "o", PLACE / "p/m"):
        run = place.run(*OPERATION, "--threads", "1", "--output-dir", "o", "--relative-to", "p", "p/a.npy", "p/m/a.npy")
    return refused_or_right(place, run, before, {"o/a.npy": NEW, "o/m/a.npy": NEW_OTHER})


def outputs_are_one(place: Place) -> list[str]:
    """Two outputs have one path because of a bind mount, so clipper cannot write both."""
    texts = []
    for more in ({}, {"o/d/x.npy": b"old"}):
        before = {"i/d/x.npy": OLD, "i/e/x.npy": OTHER} | more
        place.put(before)
        for directory in ("o/d", "o/e"):
            os.makedirs(directory, exist_ok=True)
        with bound(PLACE / "o/d", PLACE / "o/e"):
            run = place.run(*OPERATION, "--output-dir", "o", "--relative-to", "i", "i/d/x.npy", "i/e/x.npy")
        place.refusal = run if run.code else None
        kept = {name: content for name, content in found().items() if name != "o/d/x.npy" or more}
        half = run.code == 5 and not more and found().get("o/d/x.npy") in (NEW, NEW_OTHER)  # the first output was written
        texts += refused(run, 2, 5) + ([] if half and kept == before else differences(before))
    return texts


def one_input_twice(place: Place) -> list[str]:
    place.put({"d/x.npy": OLD})
    os.mkdir("e")
    with bound(PLACE / "d", PLACE / "e"):
        run = place.run(*OPERATION, "--in-place", "d/x.npy", "e/x.npy")
    return refused_or_right(place, run, {"d/x.npy": OLD}, {"d/x.npy": NEW})


CASES = (("x.npy", "X.npy"), ("d/x.npy", "D/x.npy"))


def outputs_differ_in_case(place: Place, exists: bool) -> list[str]:
    """If the file system ignores case, both outputs are one file: the second must not replace the first."""
    texts = []
    for names in CASES:
        clear_outside()
        for name, content in zip(names, (OLD, OTHER), strict=True):
            (OUTSIDE / name).parent.mkdir(exist_ok=True)
            (OUTSIDE / name).write_bytes(content)
        existing = {f"o/{names[0]}": b"old"} if exists else {}
        place.put(existing)
        run = place.run(*OPERATION, "--output-dir", "o", "--relative-to", str(OUTSIDE), *(str(OUTSIDE / name) for name in names))
        texts += [f"{names[1]}: {text}" for text in judged_cases(place, run, names, existing)]
    return texts


def judged_cases(place: Place, run: Run, names: tuple[str, ...], existing: Files) -> list[str]:
    if run.code == 0:
        return differences({f"o/{names[0]}": NEW, f"o/{names[1]}": NEW_OTHER})
    place.refusal = run
    files = found()
    first = run.code == 5 and not existing and len(files) == 1 and list(files.values())[0] in (NEW, NEW_OTHER)
    return refused(run, 2, 5) + ([] if first else differences(existing))


def output_is_input_by_case(place: Place) -> list[str]:
    """IN and OUT differ only in case. If the file system ignores case, clipper replaces IN."""
    place.put({"in.npy": OLD})
    run = place.run(*OPERATION, "in.npy", "IN.npy")
    files = found()
    wanted = [OLD, NEW] if "two cases" in place.has else [NEW]
    return [] if run.code == 0 and sorted(files.values()) == sorted(wanted) else [f"exit {run.code}, {sorted(files)}: {run.stderr}"]


def twice_by_case(place: Place) -> list[str]:
    """One file, named twice, is clipped once or not at all. The names are used by no other scenario, because the kernel may
    remember that a name does not exist."""
    before, after = {"twice.npy": OLD}, {"twice.npy": NEW}
    if "two cases" in place.has:
        before, after = before | {"TWICE.npy": OTHER}, after | {"TWICE.npy": NEW_OTHER}
    place.put(before)
    return refused_or_right(place, place.run(*OPERATION, "--in-place", "twice.npy", "TWICE.npy"), before, after)


def kept_by_case(place: Place) -> list[str]:
    """-n with an output that exists under a name in another case."""
    before = {"in.npy": OLD, "out.npy": OTHER}
    place.put(before)
    run = place.run(*OPERATION, "-n", "in.npy", "OUT.npy")
    return refused_or_right(place, run, before, {"OUT.npy": NEW} if "two cases" in place.has else {})


RACED = {"--in-place": numbers(10_000), "--direct": batches(3)}
DONE_AGAIN = {"--in-place": (), "--direct": range(1, RACERS + 1)}  # how many may find nothing left to do


@cache
def clipped(option: str, times: int) -> bytes:
    return tensor(result(RACED[option], times, bias=0 if option == "--direct" else 1))


@dataclass(frozen=True)
class Finish:
    """The end of several clippers that ran on one file at once."""
    codes: list[int]
    times: int | None  # how often the file was clipped; None if its content fits no number
    text: str  # their messages

    def __str__(self) -> str:
        return f"exit {self.codes}, clipped {self.times} times: {self.text}"


def race(place: Place, option: str) -> Finish:
    """Runs several clippers at once on one file, through two mounts in turn."""
    mode = in_place(option, RACED[option], *([] if option == "--in-place" else [option]))
    (PLACE / "in.npy").write_bytes(clipped(option, 0))
    words = [place.clipper.binary, *mode.arguments[:-1]]
    running = [subprocess.Popen([*words, str((MIRROR, PLACE)[i % 2] / "in.npy")], stderr=subprocess.PIPE, text=True)
               for i in range(RACERS)]
    said = sorted(each.communicate(timeout=LIMIT)[1].strip() for each in running)
    place.runs += RACERS
    content = Path("in.npy").read_bytes()
    times = next((k for k in range(RACERS + 1) if content == clipped(option, k)), None)
    return Finish(sorted(each.returncode for each in running), times, "; ".join(filter(None, said)))


def two_mounts(place: Place) -> list[str]:
    """Two bind mounts of one directory. The kernel sees one file, so locks work."""
    texts = []
    # Status 4, too: overlayfs changes a file's status when it copies the file up, and FUSE's kernel side caches the status.
    losers = (4, 5) if place.system.lower or "unnamed files" not in place.has else (5,)
    for option in RACED:
        for _ in range(place.often):
            place.put({"in.npy": b""})
            with bound(PLACE, MIRROR):
                end = race(place, option)
            if not end.times or end.codes.count(0) not in (end.times, *DONE_AGAIN[option]) or set(end.codes) - {0, *losers}:
                texts.append(f"{option}: {end}")
            texts += [f"{option}: {name} is left" for name in found() if name != "in.npy"]
    return texts


def two_file_systems(place: Place) -> list[str]:
    """Two mounted file systems show the same files, and the kernel does not know it: they share neither locks nor the page
    cache. The file must be whole after --in-place."""
    texts, limits = [], set()
    for option in RACED:
        for _ in range(place.often):
            place.put({"in.npy": b""})
            shell(place.system.again, TWICE=str(MIRROR))
            try:
                end = race(place, option)
            finally:
                command("umount", str(MIRROR))
            if option == "--in-place" and (not end.times or set(end.codes) - {0, 4, 5}):
                texts.append(f"{option}: {end}")
            elif end.codes.count(0) != end.times:
                limits.add(f"{option} {'mixes' if end.times is None else 'loses'} results")
    place.note = f"the mounts share no locks: {' and '.join(sorted(limits))}" if limits else ""
    return texts


ALIASES = (
    Scenario("an input is another's output by a bind mount", input_is_output, either=True),
    Scenario("two outputs are one by a bind mount", outputs_are_one, either=True),
    Scenario("--in-place twice by a bind mount", one_input_twice, either=True),
    Scenario("two new outputs differ in case", partial(outputs_differ_in_case, exists=False), without=("two cases",), codes=(2, 5)),
    Scenario("two outputs differ in case, one exists", partial(outputs_differ_in_case, exists=True), without=("two cases",),
             codes=(2, 5)),
    Scenario("IN and OUT differ in case", output_is_input_by_case),
    Scenario("--in-place twice by case", twice_by_case, without=("two cases",), codes=(2,)),
    Scenario("-n, OUT exists in another case", kept_by_case, without=("two cases",)),
    Scenario("--in-place at once, by a bind mount", two_mounts),
    Scenario("--in-place at once, by two file systems with the same files", two_file_systems, needs=("a second mount",)),
)
