#!/usr/bin/env python3
"""Runs clipper under limits of memory, processes, descriptors and file sizes, set by prlimit(1), from too small to sufficient.

Each run must end by itself: with 0 and the right bytes, or with 4 and one line. Prints a row of figures as JSON.

    limits.py BUILD [--runs N]
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import Pool
from pathlib import Path

sys.dont_write_bytecode = True

import checks  # noqa: E402
import figures  # noqa: E402
from checks import found, prepare  # noqa: E402
from modes import OPERATION, REPEATABLE, Files, Mode, archive, numbers, result, tensor  # noqa: E402
from process import Run  # noqa: E402
from zip_bytes import DEFLATED, STORED  # noqa: E402

TIME = 120  # seconds; a run that takes longer has hung
KIB, MIB = 1 << 10, 1 << 20
COUNT = 230_000  # elements of a large file: four chunks
FILES = 6
THREADS = (1, 2, 8, 64, 1024)
UNLOADED = re.compile(r"\.npz archives need it")  # the loader does not tell that memory is short
USERS = 60_000  # user ids from here on, assumed to have no processes


@dataclass(frozen=True)
class Limit:
    """A resource that prlimit(1) limits, and the values to try."""
    name: str
    values: range
    threads: tuple[int, ...] = THREADS


LIMITS = (
    Limit("data", range(4 * MIB, 64 * MIB + 1, 64 * KIB)),
    Limit("as", range(4 * MIB, 64 * MIB + 1, 64 * KIB)),
    Limit("as", range(64 * MIB, 1024 * MIB + 1, 4 * MIB)),
    Limit("stack", range(256 * KIB, 1 * MIB, 16 * KIB)),
    Limit("nproc", range(1, 80)),
    Limit("nofile", range(3, 40)),
    Limit("fsize", range(0, 128 + 4 * COUNT, 8 * KIB), (1, 8)),
)


@dataclass(frozen=True)
class Task(Mode):
    """A mode whose `words` are the whole command line except --threads."""
    lines: int = 1  # max number of lines on stderr after a failure

    @property
    def arguments(self) -> list[str]:
        return [*self.words, "--threads", str(self.threads)]


def files(directory: str, more: int = 0, times: int = 0) -> Files:
    """Large and small tensors: the inputs (`times` 0) or their results."""
    sizes = [COUNT, 1000, COUNT // 2, 100_000, 10, COUNT][:FILES]
    return {f"{directory}/{i}.npy": tensor(result(numbers(size + more, i), times)) for i, size in enumerate(sizes)}


def archive_task(source: str, target: str, method: int) -> tuple[Files, Files]:
    """An archive of a large and two small tensors, and its result."""
    members = {"w": numbers(COUNT), "v": numbers(1000), "u": numbers(10)}
    return {source: archive(members, method)}, {target: archive({name: result(each) for name, each in members.items()}, method)}


@cache
def tasks() -> tuple[Task, ...]:
    values = numbers(COUNT)
    old, new = {"in.npy": tensor(values)}, {"out.npy": tensor(result(values))}
    many, made = files("in"), files("out/in", times=1)
    two = {"in.npy": tensor(values), "in/1.npy": tensor(values)}
    both = files("in") | {name.replace("in/", "same/"): content for name, content in files("in").items()}
    return (
        Task("one file", (*OPERATION, "in.npy", "out.npy"), old, new),
        Task("many files", (*OPERATION, "--output-dir", "out", *many), many, made),
        Task("many files in place", (*OPERATION, "--in-place", *many), many, files("in", times=1), lines=2),  # the second one counts files in place
        Task("direct", (*REPEATABLE, "--in-place", "--direct", "in.npy"), old, {"in.npy": tensor(result(values, bias=0))}),
        Task("pipe", (*OPERATION, "-", "-"), {}, {}, stdin=old["in.npy"], stdout=new["out.npy"]),
        Task("archive", (*OPERATION, "in.npz", "out.npz"), *archive_task("in.npz", "out.npz", STORED)),
        Task("archive in place", (*OPERATION, "--in-place", "in.npz"), *archive_task("in.npz", "in.npz", DEFLATED)),
        Task("info --stats", ("info", "--stats", *two), two, {}, lines=2),
        Task("compare", ("compare", "-v", "in", "same"), both, {}, lines=FILES + 1),
        Task("--verify", (*OPERATION, "in.npy", "--verify", "golden.npy"), old | {"golden.npy": new["out.npy"]}, {}),
    )


@dataclass(frozen=True)
class Point:
    limit: str
    value: int
    task: int
    threads: int

    @property
    def mode(self) -> Task:
        return replace(tasks()[self.task], threads=self.threads)

    def __str__(self) -> str:
        return f"prlimit --{self.limit}={self.value} clipper {' '.join(self.mode.arguments)}"


def all_points() -> Iterator[Point]:
    for limit in LIMITS:
        if limit.name == "nproc" and os.geteuid():
            print("limits: SKIPPED: the limit nproc needs root", file=sys.stderr)
            continue
        for value in limit.values:
            for task in range(len(tasks())):
                for threads in limit.threads:
                    yield Point(limit.name, value, task, threads)


def run_limited(limit: str, value: int, arguments: list[str], stdin: bytes | None = None) -> Run:
    """Runs clipper; for nproc as another user, because the limit does not apply to root. A run that hangs has code None."""
    words = ["prlimit", f"--{limit}={value}"]
    if limit == "nproc":
        user = USERS + os.getpid() % 5000
        for path in (".", *map(str, Path().rglob("*"))):
            os.chown(path, user, user)
        words += ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    try:
        done = subprocess.run([*words, binary, *arguments], input=stdin or b"", capture_output=True, timeout=TIME)
    except subprocess.TimeoutExpired:
        return Run(None, "", b"", (), ())
    return Run(done.returncode, done.stderr.decode(errors="replace"), done.stdout, (), ())


@cache
def starts(limit: str, value: int) -> bool:
    """Whether the system can load the program under this limit."""
    return run_limited(limit, value, ["--version"]).code == 0


@cache
def wanted(task: int) -> Task:
    """The task, with the output of a run without limits."""
    mode = tasks()[task]
    place(mode)
    run = run_limited("core", 0, mode.arguments, mode.stdin)
    if run.code or (mode.stdout and run.stdout != mode.stdout):
        raise SystemExit(f"{mode.name}: fails without any limit: {run.code} {run.stderr}")
    return replace(mode, stdout=run.stdout)


def place(mode: Task) -> None:
    prepare({})
    for name in mode.before:
        Path(name).parent.mkdir(exist_ok=True)
    prepare_files(mode.before)


def prepare_files(before: Files) -> None:
    for name, content in before.items():
        Path(name).write_bytes(content)


def violations(mode: Task, run: Run) -> list[str]:
    if run.code is None:
        return [f"hangs, for {TIME} s"]
    unloaded = run.code == 3 and mode.reads_archives and UNLOADED.search(run.stderr)
    texts = [] if run.code in (0, 4) or unloaded else [f"exit {run.code}: {run.stderr.strip()}"]
    lines = run.stderr.splitlines()
    most = mode.lines if run.code else 0
    if len(lines) > most or (run.code and not lines) or not all(line.startswith("clipper: ") for line in lines):
        texts.append(f"exit {run.code}, on stderr: {run.stderr!r}")
    if run.code == 0 and run.stdout != mode.stdout:
        texts.append("exit 0, wrong bytes on stdout")
    present = found()
    if mode.name == "direct" and run.code:  # the same command must finish the file; faults.py tries that
        return texts
    texts += checks.litter_violations(mode, None, run, present)
    more = checks.content_violations(mode, run, present)
    # oneTBB may fail to start a thread for the last file after another thread has already clipped that file.
    return texts + [text for text in more if mode.threads == 1 or text != "exit 4, but done"]


def try_point(point: Point) -> tuple[bool, list[str]]:
    """Returns whether clipper failed under the limit, and the violations."""
    mode = replace(wanted(point.task), threads=point.threads)
    place(mode)
    if not starts(point.limit, point.value):
        return False, []
    run = run_limited(point.limit, point.value, mode.arguments, mode.stdin)
    return run.code != 0, [f"{point}: {text}" for text in violations(mode, run)]


def begin(program: str, directory: str) -> None:
    """Gives each process a directory of its own."""
    global binary
    binary = program
    os.chdir(tempfile.mkdtemp(dir=directory))


def main() -> int:
    parser = figures.parser(__doc__, "build", "build directory with clipper")
    figures.add_runs(parser, 0, "number of random cases; 0: all")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)),
                        help="number of cases at once (default: all CPUs)")
    parser.add_argument("--only", default="", help="only limits and tasks whose names contain this text")
    arguments = parser.parse_args()
    tried = figures.Figures("limits of memory, processes, files")
    points = [point for point in all_points() if arguments.only in f"{point.limit} {point.mode.name}"]
    random.Random(arguments.seed).shuffle(points)
    with tempfile.TemporaryDirectory(prefix="limits-") as scratch:
        os.chmod(scratch, 0o755)
        program = shutil.copy(arguments.build / "clipper", scratch)  # every user can read it there
        with Pool(arguments.processes, begin, (program, scratch)) as pool:
            for fired, texts in pool.imap_unordered(try_point, points[: arguments.runs or None], chunksize=8):
                tried.add(1, fired, texts)
    return tried.printed()


if __name__ == "__main__":
    sys.exit(main())
