#!/usr/bin/env python3
"""Runs transcripts: commands, the files that stood there, and what came out. tests/README.md describes their format.

The environment variables CLIPPER and CLIPPER_PREFIX count before --program and --prefix. CLIPPER_JSON is how the file is called in which
json_output.py finds what commands have printed with --json. Needs Python's own library only.
"""
import argparse
import ast
import concurrent.futures
import contextlib
import dataclasses
import io
import itertools
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))
from clipper_files import TEMPORARY, header  # noqa: E402

FORMS = dict(zip("f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 M8 m8 c8 c16".split(), "efdbhiqBHIQBqqfd"))  # of struct
SAFETENSORS = dict(zip("b1 f1 V1 V2 f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split(),
                       "BOOL F8_E5M2 F8_E4M3 BF16 F16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64".split()))
READS = re.compile(r"(?!.*(--(fit|diff-out|report|histogram-svg|update-golden)|[;&|>]))clipper ((compare|info|show|profiles)\b|.*--(dry-run|verify)\b)")
# What ends a case for Windows: what it lacks, such as names with a colon or a byte like \n and paths of 4,095 bytes, and what wine 8 cannot do:
# replace an open file, keep a file's mode, see a FIFO, a symbolic link or /proc of Linux, start without a TMPDIR, examine a file that a shell
# outside of wine has opened.
LEFT_OUT = re.compile(r" is not available on Windows|Windows forbids this name|^\S*:\S* [:=]= |printf (-- )?'[^']*(:|\\[x\dn])|\(4095 bytes\)|"
                      r"keeps the names of open files|-i .* 2>err|cannot keep its access control list: Operation not supported|mkfifo|ln -s|/proc/self/|"
                      r"TMPDIR=/|standard (in|out)put: cannot be examined: Bad file descriptor")
# What wine prints now and then when a process with several threads ends.
WINE_NOISE = re.compile("^wine client error:.*\n", re.MULTILINE)
# What ends a case on s390x: what a machine reads, writes and names in its own byte order, of which transcripts know the little-endian one; and
# `--finalize` and `--newer`, which compare times of files: the fstat() of qemu 7.2 lacks the nanoseconds that its fstatat() has.
BIG_ENDIAN = re.compile(r""":= \|V2|=f4|'descr': 'f|--raw \w|-endian|"byte_order":"big"|--finalize|--newer""")


@dataclasses.dataclass
class Step:
    number: int  # of its line in the file
    line: str
    below: list  # the indented lines below it


@dataclasses.dataclass
class Case:
    title: str
    number: int
    steps: list
    reports: list = dataclasses.field(default_factory=list)  # of failures
    updates: dict = dataclasses.field(default_factory=dict)  # number of a step: its new lines
    is_left_out: bool = False


def form_of(descr):
    """The form of an element's numbers; of a dtype that numpy lacks, such as bfloat16, that of its bits."""
    return FORMS.get(descr.split("[")[0]) or {"1": "B", "2": "H"}[descr[1:]]


def numbers(word, form):
    """The elements that a word stands for: ELEMENT, ELEMENT*COUNT or FIRST..LAST."""
    if match := re.fullmatch(r"(-?\d+)\.\.(-?\d+)", word):
        return range(int(match[1]), int(match[2]) + 1)
    element, _, count = word.partition("*")
    return [number(element, form)] * int(count or 1)


def number(word, form):
    if word == "NaT":
        return -1 << 63
    if form not in "efd":
        return int(word, 0)
    if word.startswith("0x"):  # the bits of a float
        size = struct.calcsize(form)
        return struct.unpack(form, int(word, 16).to_bytes(size, sys.byteorder))[0]
    return float(word)


def npy(text):
    """[ORDER]DESCR[(SHAPE)][F] ELEMENTS...: the bytes that np.save writes. A float's bits can be given as 0x7fc00001."""
    order, descr, shape, fortran, rest = re.fullmatch(r"([<>|]?)(\w+(?:\[\w+\])?)(\([\d, ]*\))?(F?)(?: (.*))?", text).groups()
    form = form_of(descr)
    values = [value for word in (rest or "").split() for value in numbers(word, form)]
    data = struct.pack(f"{'>' if order == '>' else '<'}{len(values)}{form}", *values)
    shape = ast.literal_eval(shape or f"({len(values) // (2 if descr[0] == 'c' else 1)},)")
    order = order or ("|" if descr in ("u1", "i1", "b1") else "<")
    return header(order + descr, shape, fortran) + data


def npz(words, directory, method):
    """The bytes of np.savez. A word is the name of a member and of the file with its contents, or MEMBER=FILE."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for word in words:
            name, _, file = word.partition("=")
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            with archive.open(info, "w", force_zip64=True) as member:
                member.write((directory / (file or name)).read_bytes())
    return buffer.getvalue()


def safetensors(words, directory):
    """A safetensors file of these tensors, with spaces in its header that no library writes. A word is NAME=FILE.npy, or NAME."""
    texts, data = ['"__metadata__":{"format":"pt"}'], b""
    for word in words:
        name, _, file = word.partition("=")
        head, elements = (directory / (file or f"{name}.npy")).read_bytes().split(b"\n", 1)
        head = ast.literal_eval(head[10:].decode())
        texts.append(f'"{name}": {{"dtype":"{SAFETENSORS[head["descr"][1:]]}","shape":{list(head["shape"])},'
                     f'"data_offsets":[{len(data)},{len(data) + len(elements)}]}}')
        data += elements
    text = f"{{{', '.join(texts)}}} \n".encode()
    return struct.pack("<Q", len(text)) + text + data


def contents(text, below, directory):
    """The bytes of a file as a transcript gives them."""
    kind, _, rest = text.partition(" ")
    if kind in ("npz", "deflated"):
        return npz(rest.split(), directory, zipfile.ZIP_STORED if kind == "npz" else zipfile.ZIP_DEFLATED)
    if kind == "safetensors":
        return safetensors(rest.split(), directory)
    if kind == "raw":
        return npy(rest).split(b"\n", 1)[1]
    if kind != "text":
        return npy(text)
    lines = "".join(line[1:].removeprefix(" ") + "\n" for line in below)
    return lines.encode() if below else rest.encode("latin1", "backslashreplace").decode("unicode_escape").encode("latin1")


def shortest(value, form):
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        with contextlib.suppress(OverflowError):  # a text that is more than the largest number
            if struct.pack(form, float(text)) == struct.pack(form, value):
                return text
    raise ValueError(value)


def shown(data):
    """The bytes of a file as a transcript would give them."""
    try:
        text = data.decode()
        return "text", [f"| {line}".rstrip() for line in text.split("\n")[:-1]] if text.endswith("\n") else []
    except UnicodeDecodeError:
        pass
    try:
        head = ast.literal_eval(data[10:data.index(b"\n")].decode())
        order, descr = head["descr"][0], head["descr"][1:]
        form = form_of(descr)
        raw = data[data.index(b"\n") + 1:]
        values = struct.unpack(f"{'>' if order == '>' else '<'}{len(raw) // struct.calcsize(form)}{form}", raw)
        elements = ["NaT" if descr[0] in "Mm" and value == -1 << 63 else shortest(value, form) if form in "efd" else str(value)
                    for value in values]
        for order, shape in itertools.product(("", order), ("", str(head["shape"]).replace(" ", ""))):
            text = f"{order}{descr}{shape}{'F' if head['fortran_order'] else ''} {' '.join(elements)}"
            if npy(text) == data:
                return text, []
    except (ValueError, KeyError, SyntaxError, StopIteration, AttributeError, TypeError, struct.error):
        pass
    return f"{len(data)} bytes: {data[:400]!r}", []


def like(pattern, text):
    return re.fullmatch(".*".join(map(re.escape, pattern.split("..."))), text, re.DOTALL) is not None


def snapshot(directory):
    """What and where every file is, and when its contents were written."""
    paths = [path for path in directory.rglob("*") if not path.is_dir() or path.is_symlink()]
    stats = [path.lstat() for path in paths]
    return {path: (stat.st_ino, stat.st_mode, stat.st_mtime_ns, stat.st_size) for path, stat in zip(paths, stats)}


def streams(step, got):
    """What came out of a command, as lines below it: those that are there, if they match."""
    if unread := [line for line in step.below if line.split(" ")[0] not in got]:
        raise ValueError(f"cannot read {unread[0]}")
    below = []
    for mark, text in got.items():
        wanted = [line for line in step.below if line.split(" ")[0] == mark]
        pattern = "".join(line[len(mark) + 1:] + "\n" for line in wanted)
        if like(pattern, text) or (pattern.endswith("...\n") and like(pattern[:-1], text)):
            below += wanted
        else:
            below += [f"{mark} {line}".rstrip() for line in text.removesuffix("\n").split("\n") if text]
            if text and not text.endswith("\n"):
                below[-1] += "..."
    return below if sorted(below) != sorted(step.below) else step.below


class Runner:
    def __init__(self, program, prefix, bin_directory):
        self.program = program
        start = Path(program).read_bytes()[:20]
        self.is_big_endian = start[:6] == b"\x7fELF\2\2"
        self.is_riscv = start[18:] == b"\xf3\0"
        self.records = []
        name = bin_directory / "clipper"
        if prefix:
            name.write_text(f'#!/bin/sh\nexec {prefix} {shlex.quote(program)} "$@"\n')
            name.chmod(0o755)
        else:
            name.symlink_to(program)
        self.environment = {**os.environ, "PATH": f"{bin_directory}:{os.environ['PATH']}", "DATA": str(ROOT / "data"), "RUN": __file__,
                            "CLIPPER": program, "CLIPPER_PREFIX": prefix}
        self.lacks_npz = "built without npz" in self.shell("clipper --version", bin_directory)[1]

    def leave_out(self, case, text):
        case.is_left_out |= self.program.endswith(".exe") and bool(LEFT_OUT.search(text)) or self.is_big_endian and bool(BIG_ENDIAN.search(text))
        case.is_left_out |= "this clipper was built without " in text  # a format that CLIPPER_FORMATS leaves out
        case.is_left_out |= self.lacks_npz and bool(re.search(":= (npz|deflated) ", text))
        case.is_left_out |= self.is_riscv and r"\xff\xff\xff\xff" in text  # a NaN, for which RISC-V's instructions give another one

    def shell(self, line, directory):
        done = subprocess.run(["bash", "-eo", "pipefail", "-c", line], cwd=directory, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True)
        out, err = (stream.decode(errors="backslashreplace") for stream in (done.stdout, done.stderr))
        err = WINE_NOISE.sub("", err)
        if re.match("clipper [^|>]*--json", line):
            self.records.append(json.dumps({"words": [self.program, line], "output": out, "error": err}))
        return done.returncode, out, err

    def command(self, case, step, directory):
        """$ COMMAND or ? STATUS COMMAND"""
        line = re.fullmatch(r"(\$|\? \d+) (.*)", step.line)[2]
        before = snapshot(directory) if READS.match(line) else None
        status, out, err = self.shell(line, directory)
        self.leave_out(case, out + err)
        got = (f"? {status} " if status else "$ ") + line, streams(step, {">": out, "2>": err})
        if before not in (None, snapshot(directory)):
            return got[0], [*got[1], "# a file has changed"]
        return None if got == (step.line, step.below) else got

    def refusal(self, case, step, directory):
        """! STATUS COMMAND => TEXT"""
        status, line, text = re.fullmatch(r"! (\d+) (.*?) => (.*)", step.line).groups()
        before = snapshot(directory)
        got, out, err = self.shell(line, directory)
        self.leave_out(case, err)
        match = re.fullmatch("clipper: (.*)\n(clipper: [^\n]* files: .*\n)?", err)
        below = streams(step, {">": out, "2>": "" if match else err})
        if snapshot(directory) != before:
            below = [*below, "# a file has changed"]
        if got == int(status) and match and like(f"...{text}...", match[1]) and below == step.below:
            return None
        return f"! {got} {line} => {match[1] if match else text}", below

    def file(self, case, step, directory):
        """NAME == CONTENTS or FILE"""
        name, text = step.line.split(" == ", 1)
        data = (directory / name).read_bytes()
        if step.below:
            is_good = like("".join(line[1:].removeprefix(" ") + "\n" for line in step.below), data.decode(errors="backslashreplace"))
        else:
            other = directory / text
            texts = [text, ">" + text] if self.is_big_endian and re.match(r"[a-z]\d", text) else [text]
            is_good = data in ([other.read_bytes()] if " " not in text and other.is_file() else [contents(each, [], directory) for each in texts])
        got, below = shown(data)
        return None if is_good else (f"{name} == {got}", below)

    def run(self, case):
        with tempfile.TemporaryDirectory(prefix="clipper-case-") as name:
            directory = Path(name)
            for step in case.steps:
                try:
                    wrong = self.step(case, step, directory)
                except Exception as error:  # of a line that cannot be read, or a file that is not there
                    wrong = f"# {error}".replace(f"{name}/", ""), []
                if case.is_left_out:
                    return
                if wrong:
                    old, new = ([line] + [f"  {each}" for each in below] for line, below in ((step.line, step.below), wrong))
                    case.updates[step.number] = new
                    lines = [f"-{line}" for line in old] + [f"+{line}" for line in new]
                    case.reports.append(f"{step.number}: {case.title}\n" + "".join(f"{line[:1000]}\n" for line in lines))
            case.reports += [f"{case.number}: {case.title}\n+{path.name} is left\n" for path in directory.rglob(".*")
                             if TEMPORARY.fullmatch(path.name) and not any(path.name in step.line for step in case.steps)]

    def step(self, case, step, directory):
        self.leave_out(case, step.line)
        if step.line.startswith(("$ ", "? ")):
            return self.command(case, step, directory)
        if step.line.startswith("! "):
            return self.refusal(case, step, directory)
        if re.match(r"\S+ == ", step.line):
            return self.file(case, step, directory)
        name, text = re.fullmatch(r"(\S+) := (.*)", step.line).groups()
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(contents(text, step.below, directory))
        return None


def repeated(steps):
    """The steps, those between `for` and the next blank line once for each value."""
    if not steps:
        return []
    step, *rest = steps
    loop = re.fullmatch(r"for ([A-Z,]+) in ?(.*)", step.line)
    if not loop:
        return ([step] if step.line else []) + repeated(rest)
    end = next((i for i, each in enumerate(rest) if not each.line), len(rest))
    names, several = loop[1].split(","), "," in loop[1]
    result = []
    for value in loop[2].split(" | ") if loop[2] else [line.removeprefix("| ") for line in step.below]:
        values = dict(zip(names, shlex.split(value) if several else [value], strict=True))
        def filled(line):
            return re.sub(r"\{([A-Z]+)\}", lambda match: values.get(match[1], match[0]), line)
        result += repeated([Step(each.number, filled(each.line), list(map(filled, each.below))) for each in rest[:end]])
    return result + repeated(rest[end:])


def cases_of(path):
    cases = [Case("", 0, [])]
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if line.startswith("== "):
            cases.append(Case(line[3:], number, []))
        elif line.startswith("  "):
            cases[-1].steps[-1].below.append(line[2:])
        elif not line.startswith("#"):
            cases[-1].steps.append(Step(number, line, []))
    for case in cases[1:]:
        case.steps = repeated(cases[0].steps + case.steps)
    return cases[1:]


def update(path, cases):
    """Writes what came out in place of what was expected, except where {X} stands."""
    lines = path.read_text().split("\n")
    for number, new in sorted({n: new for case in cases for n, new in case.updates.items()}.items(), reverse=True):
        end = number
        while end < len(lines) and lines[end].startswith("  "):
            end += 1
        if not any(re.search(r"\{[A-Z]+\}", line) for line in lines[number - 1:end]) and not new[0].startswith("# "):
            lines[number - 1:end] = new
    path.write_text("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.cases")
    parser.add_argument("--program", type=Path, default=ROOT / "build/clipper", help="unless CLIPPER names another")
    parser.add_argument("--prefix", default="", help="the command that starts it, unless CLIPPER_PREFIX has another")
    parser.add_argument("--update", action="store_true", help="rewrite what is expected: then look at git diff")
    parser.add_argument("--title", default="", help="run only the cases with this text in their titles")
    arguments = parser.parse_args()
    program = str(Path(os.environ.get("CLIPPER") or arguments.program).absolute())
    with tempfile.TemporaryDirectory() as bin_directory, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runner = Runner(program, os.environ.get("CLIPPER_PREFIX") or arguments.prefix, Path(bin_directory))
        failed = 0
        for path in arguments.files:
            cases = [case for case in cases_of(path) if arguments.title in case.title]
            list(pool.map(runner.run, cases))
            for report in (report for case in cases for report in case.reports):
                print(f"{path.name}:{report}")
            if arguments.update:
                update(path, cases)
            wrong = sum(bool(case.reports) for case in cases)
            failed += wrong + (not cases)
            left_out = sum(case.is_left_out for case in cases)
            print(f"{path.name}: {len(cases)} cases, {wrong} failed" + f", {left_out} left out on this system or build" * bool(left_out))
    if "CLIPPER_JSON" in os.environ:
        records = Path(os.environ["CLIPPER_JSON"] + f"-{zlib.crc32(program.encode())}")
        records.parent.mkdir(exist_ok=True)
        records.write_text("".join(record + "\n" for record in runner.records))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
