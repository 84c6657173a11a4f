#!/usr/bin/env python3
"""Gives clipper hostile .npz archives: damaged, contradictory, bombs. Prints a row of figures as JSON.

    hostile.py BUILD [--table]

Each archive is clipped to another file, in place, and one member as a file; it is described by `info` and compared with a good
archive. Each run must end with the expected exit code and one line, leave all files as they are, and take little memory and time.
--table prints a Markdown table of the cases and clipper's answers.
"""

import os
import resource
import sys
import tempfile
from multiprocessing import Pool
from pathlib import Path

sys.dont_write_bytecode = True

import figures  # noqa: E402
import hostile_cases  # noqa: E402
from hostile_cases import ONE_EACH, WAYS, Case  # noqa: E402

MEMORY = 64 << 10  # KiB of resident memory
CPU = 20  # seconds; sanitizers and busy machines are slow, and a bomb would take minutes
LONGEST = 1 << 10  # characters of a message that are read
MAGIC = (b"PK\3\4", b"PK\5\6")  # of other files clipper says what they are
BOUNDS = ("--min", "0", "--max", "1", "--threads", "2")
OUTPUTS = {"info": set(), "compare": set(), "member": {"out.npy"}, "new": {"out.npz"}, "in place": {"a.npz"}}
WORDS = {"new": (*BOUNDS, "a.npz", "out.npz"), "in place": (*BOUNDS, "--in-place", "a.npz"),
         "member": (*BOUNDS, "a.npz:{}", "out.npy"), "info": ("info", "a.npz"), "compare": ("compare", "a.npz", "good.npz")}


def run(words: list[str]) -> tuple[int, str, int]:
    """Exit code, stderr, and KiB of memory, including the memory that this process had when it started the program."""
    with open("../stderr", "w+b") as stderr, open("../stdout", "w+b") as stdout:
        actions = [(os.POSIX_SPAWN_DUP2, stdout.fileno(), 1), (os.POSIX_SPAWN_DUP2, stderr.fileno(), 2)]
        pid = os.posix_spawn(words[0], words, {"TMPDIR": "/tmp"}, file_actions=actions)
        _, status, used = os.wait4(pid, 0)
        stderr.seek(0)
        return os.waitstatus_to_exitcode(status), stderr.read(LONGEST).decode(errors="replace"), used.ru_maxrss


def snapshot() -> dict:
    """The files here, in the directory above, and at the root, where a member's name may lead."""
    paths = [path for place in (".", "..", "/") for path in Path(place).iterdir() if path.is_file() and path.name[:3] != "std"]
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_ino, path.stat().st_size) for path in paths}


def violations(case: Case, way: str, code: int, stderr: str, memory: int, changed: set[str]) -> list[str]:
    wanted = int(case.codes[WAYS.index(way)])
    lines = stderr.splitlines()
    texts = [] if code == wanted else [f"exit {code}, not {wanted}: {stderr.strip()}"]
    more = way == "info" and case.codes == ONE_EACH  # one line for each member
    if code > 1 and ((len(lines) != 1 and not more) or not lines or not lines[0].startswith("clipper: ") or "a.npz" not in lines[0]):
        texts.append(f"exit {code}, on stderr: {stderr!r}")
    if case.says and case.bytes()[:4] in MAGIC and lines[:1] != [f"clipper: a.npz: {case.says}"]:
        texts.append(f"on stderr: {stderr!r}")
    if code <= 1 and lines:
        texts.append(f"exit {code}, on stderr: {stderr!r}")
    if any(not each.isprintable() for each in lines):
        texts.append(f"control characters on stderr: {stderr!r}")
    if memory > MEMORY:
        texts.append(f"{memory} KiB of memory")
    if changed - (OUTPUTS[way] if code == 0 else set()):
        texts.append(f"exit {code}, and these files have changed: {sorted(changed)}")
    return texts


def try_case(number: int) -> tuple[list[str], list[str], int]:
    """Tries one archive. Returns a row of the table, the violations, and the most memory of a run."""
    case = hostile_cases.CASES[number]
    with tempfile.TemporaryDirectory(dir=".") as directory:
        os.mkdir(f"{directory}/work")
        os.chdir(f"{directory}/work")
        pid = os.fork()  # builds the archive, so that its memory does not count
        if pid == 0:
            Path("a.npz").write_bytes(case.bytes())
            Path("good.npz").write_bytes(hostile_cases.good())
            os._exit(0)
        os.waitpid(pid, 0)
        row, texts, said, most = [case.name], [], "", 0
        for way in WAYS:
            before = snapshot()
            code, stderr, memory = run([binary, *(word.format(case.member) for word in WORDS[way])])
            after, most = snapshot(), max(most, memory)
            changed = {name for name in before | after if before.get(name) != after.get(name)}
            texts += [f"{case.name}, {way}: {text}" for text in violations(case, way, code, stderr, memory, changed)]
            row.append(str(code))
            if way == "new" or not said:
                said = stderr.strip().removeprefix("clipper: ").replace("|", "\\|")
        row.append(said)
        os.chdir("../..")
    return row, texts, most


def begin(program: str, directory: str) -> None:
    """Gives each process a directory of its own."""
    global binary
    binary = program
    os.chdir(tempfile.mkdtemp(dir=directory))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU + 1))  # for the programs that it starts, too


def main() -> int:
    parser = figures.parser(__doc__, "build", "build directory with clipper")
    parser.add_argument("--table", action="store_true", help="print a table of the cases and clipper's answers")
    parser.add_argument("--only", default="", help="only cases whose names contain this text")
    arguments = parser.parse_args()
    numbers = [number for number, case in enumerate(hostile_cases.CASES) if arguments.only in case.name]
    tried, most = figures.Figures("hostile archives"), 0
    if arguments.table:
        print("| archive |", " | ".join(WAYS), "| message |\n|---" + "|---" * (len(WAYS) + 1) + "|")
    with tempfile.TemporaryDirectory(prefix="hostile-") as scratch:
        with Pool(len(os.sched_getaffinity(0)), begin, (str(arguments.build / "clipper"), scratch), maxtasksperchild=8) as pool:
            for cells, texts, memory in pool.imap(try_case, numbers):
                most = max(most, memory)
                tried.add(len(WAYS), sum(code not in ("0", "1") for code in cells[1:-1]), texts)
                if arguments.table:
                    print("| " + " | ".join(cells) + " |")
    print(f"  {len(numbers)} archives; at most {most >> 10} MiB of memory")
    return tried.printed()


if __name__ == "__main__":
    sys.exit(main())
