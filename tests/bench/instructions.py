#!/usr/bin/env python3
"""Counts clipper's instructions with valgrind: per element of 20 jobs, per file of three. Needs Python's own library only.

A busy machine does not change them. One thread runs at level v3, because valgrind shows programs a CPU without AVX-512. Exits with 1 if a
job takes more than GROWTH of what the table says, unless the table is of other compilers and tools.
"""
import argparse
import array
import concurrent.futures
import os
import random
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True  # keeps __pycache__ out of the source tree
sys.path.append(str(ROOT / "scripts"))
import machine  # noqa: E402
from clipper_files import header  # noqa: E402

TABLE = Path(__file__).with_suffix(".md")
GROWTH = 1.03
BLOCK = 64 * 32 * 32  # elements that repeat in each input
FEW, MANY = {"element": 6 * BLOCK, "file": 8}, {"element": 30 * BLOCK, "file": 40}  # the difference leaves out the program's start
COUNT = ["setarch", "--addr-no-randomize", "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]

# What is counted, its input, which is {x} in the command, and the command.
PER_ELEMENT = (
    ("clip float32", "float32.npy", "--min 0 --max 6 {x} out.npy"),
    ("clip float64", "float64.npy", "--min 0 --max 6 {x} out.npy"),
    ("clip float16", "float16.npy", "--min 0 --max 6 {x} out.npy"),
    ("clip bfloat16", "bfloat16.npy", "--dtype bfloat16 --min 0 --max 6 {x} out.npy"),
    ("clip uint8", "uint8.npy", "--min 9 --max 99 {x} out.npy"),
    ("clip int64", "int64.npy", "--min 0 --max 6 {x} out.npy"),
    ("clip float32, big-endian", "big-endian.npy", "--min 0 --max 6 {x} out.npy"),
    ("clip float32, count", "float32.npy", "-v --min 0 --max 6 {x} out.npy"),
    ("clip float32, from and to a stream", "float32.npy", "--min 0 --max 6 - - <{x} >out.npy"),
    ("clip int16, compressed archive", "archive.npz", "--min 0 --max 6 {x} out.npz"),
    ("bounds of shape (C,1,1)", "images.npy", "--min @../low_c11.npy --max @../high_c11.npy {x} out.npy"),
    ("bounds of shape (3,)", "pixels.npy", "--min @../low_3.npy --max @../high_3.npy {x} out.npy"),
    ("scale and bias of float32", "float32.npy", "--scale 0.7 --bias 1 --min 0 --max 6 {x} out.npy"),
    ("scale and bias of int16", "int16.npy", "--scale 0.7 --bias 1 --min 0 --max 6 {x} out.npy"),
    ("float32 to uint8", "float32.npy", "--scale 9 --bias 99 --to uint8 {x} out.npy"),
    ("uint8 to float32, stretched", "uint8.npy", "--min 9 --max 99 --stretch 0:1 --to float32 {x} out.npy"),
    ("percentiles as bounds", "float32.npy", "--min 1% --max 99% {x} out.npy"),
    ("mean and std of each channel", "images.npy", "--subtract mean --divide std --per-axis 1 {x} out.npy"),
    ("info --stats", "float32.npy", "info --stats {x}"),
    ("compare", "float32.npy", "compare --atol 0.1 {x} ../near.npy"),
)
PER_FILE = (
    ("a tree to another directory", "tree", "--min 0 --max 6 --recursive --output-dir out {x}"),
    ("a tree in place", "tree_in_place", "--min 0 --max 6 --recursive --in-place {x}"),
)
ALONE = ("a process, with its start", "small.npy", "--min 0 --max 6 {x} out.npy")


def blocks():
    """name -> numpy's name of the dtype, and a block of elements from -10 to 10, or of bytes from 0 to 255"""
    draw = random.Random(1)
    floats = [draw.uniform(-10, 10) for _ in range(BLOCK)]
    float32, swapped = array.array("f", floats), array.array("f", floats)
    swapped.byteswap()
    integers = list(map(int, floats))
    return {"float32": ("<f4", float32), "near": ("<f4", array.array("f", (x + 0.01 for x in floats))), "big-endian": (">f4", swapped),
            "float64": ("<f8", array.array("d", floats)), "float16": ("<f2", struct.pack(f"{BLOCK}e", *floats)),
            "bfloat16": ("<V2", array.array("H", (bits >> 16 for bits in array.array("I", float32.tobytes())))),
            "uint8": ("|u1", draw.randbytes(BLOCK)), "int16": ("<i2", array.array("h", integers)),
            "int64": ("<i8", array.array("q", integers))}


def npy(descr, block, *shape, times=1):
    return header(descr, shape) + bytes(block) * times


def write_inputs(folder, size):
    elements, found = size["element"], blocks()
    times = elements // BLOCK
    contents = {name: npy(*block, elements, times=times) for name, block in found.items()}
    float32 = found["float32"]
    contents |= {"images": npy(*float32, times, 64, 32, 32, times=times), "pixels": npy(*float32, elements // 3, 3, times=times)}
    for name, value in (("low", 0), ("high", 6)):
        contents[f"{name}_c11"] = npy("<f4", array.array("f", [value] * 64), 64, 1, 1)
        contents[f"{name}_3"] = npy("<f4", array.array("f", [value] * 3), 3)
    contents["small"] = npy("<f4", float32[1][:1000], 1000)
    contents |= {f"{tree}/{i}": contents["small"] for tree in ("tree", "tree_in_place") for i in range(size["file"])}
    for name, content in contents.items():
        path = folder / f"{name}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with zipfile.ZipFile(folder / "archive.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", contents["int16"])


def count(folder, source, command):
    """The instructions of a run, which writes to a directory of its own."""
    line = f"exec {shlex.join([*COUNT, str(ROOT / 'build/clipper')])} {command.format(x=f'../{source}')} --threads 1"
    done = subprocess.run(["sh", "-c", line], cwd=tempfile.mkdtemp(dir=folder), env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
                          capture_output=True)
    found = re.search(rb"Collected : (\d+)", done.stderr)
    if not found or done.returncode:
        sys.exit(f"instructions: {line}: exit status {done.returncode}: {done.stderr.decode(errors='replace')}")
    return int(found[1])


def measure():
    """What is counted -> instructions per element or file."""
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        few, many = Path(name, "few"), Path(name, "many")
        write_inputs(few, FEW)
        write_inputs(many, MANY)

        def difference(unit, job):
            return (count(many, *job[1:]) - count(few, *job[1:])) / (MANY[unit] - FEW[unit])

        runs = {job[0]: pool.submit(difference, unit, job)
                for unit, jobs in (("element", PER_ELEMENT), ("file", PER_FILE)) for job in jobs}
        runs[ALONE[0]] = pool.submit(count, few, *ALONE[1:])
        return {what: run.result() for what, run in runs.items()}


def toolchain():
    level = "v3" if " avx2 " in Path("/proc/cpuinfo").read_text() else "not v3"
    valgrind = subprocess.run(["valgrind", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return f"{machine.compiler(ROOT / 'build')}, glibc {os.confstr('CS_GNU_LIBC_VERSION').split()[1]}, {valgrind}, level {level}, one thread"


def figure(value):
    return f"{value:.3f}" if value < 1000 else f"{value:.0f}"


def page(tools, found):
    rows = "".join(f"| {what} | {figure(value)} |\n" for what, value in found.items())
    return ("# Instructions of clipper\n\n"
            "Written by `scripts/bench instructions --write`. Per element of the first 20 rows, per file of 1,000 elements of the last three.\n"
            f"{tools}.\n\n| what | instructions |\n|---|---:|\n{rows}")


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench instructions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write the table to {TABLE.relative_to(ROOT)}")
    options = parser.parse_args()
    found, tools = measure(), toolchain()
    if options.write:
        TABLE.write_text(page(tools, found))
    table = TABLE.read_text() if TABLE.exists() else ""
    before = {what: float(value) for what, value in re.findall(r"^\| (.*) \| ([\d.]+) \|$", table, re.MULTILINE)}
    grown = [what for what, value in found.items() if value > GROWTH * before.get(what, 0)]
    for what, value in found.items():
        change = f"{100 * (value / before[what] - 1):+.1f} %" if what in before else "not in the table"
        print(f"{what:40} {figure(value):>10} {change}")
    if tools not in table:
        print(f"not judged: the table is of another toolchain than {tools}")
    elif grown:
        sys.exit(f"instructions: more than {GROWTH - 1:.0%} above the table: {'; '.join(grown)}. If that must be, say why in the commit "
                 "and write the table: scripts/bench instructions --write")


if __name__ == "__main__":
    main()
