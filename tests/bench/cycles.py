#!/usr/bin/env python3
"""Prints how many elements per cycle the kernels process in the first-level cache, and how many the CPU could. Needs Linux perf,
objdump, x86-64 and an idle machine. README.md explains the columns."""

import argparse
import json
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORKS = {"clip": "clip", "scale_bias_clip": "scale, bias, clip", "clip_and_count": "clip and count",
         "scale_bias_clip_and_count": "scale, bias, clip and count", "clip_vectors": "clip, bounds for each element",
         "compare": "compare", "statistics": "statistics", "percentiles": "percentiles, first pass"}
TIMES = "/process_time/real_time"  # which kernel_bench measures
SIZES = {"int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "float32": 4,
         "int64": 8, "uint64": 8, "float64": 8}
MIN_SHARE = 0.05  # of a kernel's samples: other loops are not part of its limit

# Golden Cove (Sapphire Rapids): instructions per cycle that a part of the CPU takes.
FRONT_END, LOADS, STORES = 6, {512: 2, 256: 3, 128: 3, 64: 3}, {512: 1, 256: 2, 128: 2, 64: 2}
VECTOR, SCALAR = {512: 2, 256: 3, 128: 3}, 5
# Instructions of several micro-operations, and those that only one port takes.
SEVERAL = {r"vp?blendvb|vblendvp[sd]": 3, r"vcvtps2ph": 2, r"vcvtph2ps": 2, r"vcvttpd2|vcvtdq2pd|vcvtpd2dq|vcvtudq2pd": 2}
ONE_PORT = re.compile(r"vp?cmp\S* .*%k\d|vcmp\S* .*%k\d|k[a-z]+ |vpcmpgtq|vpshufb .*zmm|vpunpck.*zmm|vperm|vpack.*zmm|"
                      r"vpmov|vextract|vinsert|v?cvt.*2p|vpmax[su]q|vpmin[su]q")


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options).stdout


def measured(binary, pattern, seconds):
    """Name without "cycles/" -> the most bytes per nanosecond of processor time of five repetitions;
    of the multiplication, multiplications per nanosecond."""
    rows = json.loads(run(binary, f"--benchmark_filter=^cycles/({pattern})", f"--benchmark_min_time={seconds}",
                          "--benchmark_repetitions=5", "--benchmark_enable_random_interleaving=true",
                          "--benchmark_format=json"))["benchmarks"]
    result = {}
    for row in rows:
        if row["run_type"] == "iteration":
            name = row["name"].removeprefix("cycles/").partition("/repeats:")[0].removesuffix(TIMES)
            work = row["bytes_per_second"] * row["real_time"] * 1e-9 if "bytes_per_second" in row else 1
            speed = work / row["cpu_time"]
            result[name] = max(result.get(name, 0), speed)
    return result


def disassembly(binary):
    """Address -> (instruction, address that it jumps to or None)"""
    result = {}
    for line in run("objdump", "-d", "--no-show-raw-insn", binary).splitlines():
        if found := re.match(r"\s+([0-9a-f]+):\t(.*)", line):
            jump = re.match(r"j\w+\s+([0-9a-f]+) ", found[2])
            result[int(found[1], 16)] = (found[2].strip(), int(jump[1], 16) if jump else None)
    return result


def samples(binary, name):
    """Address in the binary -> samples"""
    with tempfile.NamedTemporaryFile() as file:
        run("perf", "record", "-e", "cpu-clock", "-F", "2000", "-o", file.name, binary, f"--benchmark_filter=^cycles/{name}{TIMES}$",
            "--benchmark_min_time=0.3")
        addresses = run("perf", "script", "-i", file.name, "-F", "ip,sym,symoff,dso", "--show-mmap-events")
    maps = [(int(begin, 16), int(size, 16), int(offset, 16)) for begin, size, offset, path in
            re.findall(r"MMAP2.*\[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+) .* r-xp (\S+)", addresses)
            if Path(path).resolve() == binary]
    result = Counter()
    for address in (int(ip, 16) for ip in re.findall(r"^\s*([0-9a-f]+) ", addresses, re.MULTILINE)):
        for begin, size, offset in maps:
            if begin <= address < begin + size:
                result[address - begin + offset] += 1
    return result


def hot_loops(code, counts):
    """The innermost loops that hold at least MIN_SHARE of the samples, as lists of instructions."""
    order = sorted(code)
    at = {address: i for i, address in enumerate(order)}
    loops = []
    for address, (_, to) in code.items():
        if to is not None and to <= address and to in at:
            body = order[at[to]:at[address] + 1]
            loops.append((len(body), sum(counts[a] for a in body), body))
    total, taken, result = sum(counts.values()), set(), []
    for _, hits, body in sorted(loops):
        calls = any(code[a][0].startswith(("call", "vzeroupper")) for a in body)
        if hits >= MIN_SHARE * total and not calls and not taken & set(body):
            taken |= set(body)
            result.append([code[a][0] for a in body])
    return result


def width(instruction):
    return 512 if "%zmm" in instruction else 256 if "%ymm" in instruction else 128 if "%xmm" in instruction else 64


def bytes_per_iteration(loop):
    """How far the pointer or index that a memory operand uses moves in an iteration; if lea moves one, the bytes stored."""
    if any(re.match(r"lea .*,(%r\w+)$", instruction) for instruction in loop):
        return sum(width(instruction) // 8 for instruction in loop if re.match(r"v?mov\S+\s+%[xyz]mm\d+,.*\)$", instruction))
    steps = Counter()
    for instruction in loop:
        if found := re.match(r"(add|sub)\s+\$(-?0x[0-9a-f]+|-?\d+),(%r\w+)$", instruction):
            step = int(found[2], 0)
            step -= (1 << 64) if step >= 1 << 63 else 0
            steps[found[3]] += step if found[1] == "add" else -step
        elif found := re.match(r"inc\s+(%r\w+)$", instruction):
            steps[found[1]] += 1
    moves = [abs(steps[base] or steps[index] * int(scale or 0))
             for base, index, scale in re.findall(r"\((%r\w+)?(?:,(%r\w+),(\d))?\)", "\n".join(loop))]
    return max(moves, default=0)


def cycles(loop):
    """The cycles of an iteration that each part of the CPU needs at least."""
    need = Counter()
    for instruction in loop:
        name = instruction.split()[0]
        operands = instruction.partition(" ")[2].strip()
        memory = "(" in operands and not name.startswith(("lea", "nop"))
        store = memory and operands.endswith(")") and not name.startswith(("cmp", "test"))
        vector = "%xmm" in operands or "%ymm" in operands or "%zmm" in operands or "%k" in operands
        move = re.match(r"v?mov(?!msk)", name) and "{" not in operands
        several = next((count for pattern, count in SEVERAL.items() if re.match(pattern, name)), 1)
        need["front end"] += several / FRONT_END
        if memory:
            need["stores" if store else "loads"] += 1 / (STORES if store else LOADS)[width(operands)]
        if move or name.startswith("nop"):
            continue
        if vector:
            need["vector units"] += several / VECTOR[max(width(operands), 128)]
            need["one port"] += bool(ONE_PORT.match(f"{name} {operands}"))
        else:
            need["scalar units"] += 1 / SCALAR
    return need


def limit(loops, size):
    """Elements per cycle, and the part of the CPU that needs most cycles."""
    per_element, parts = 0.0, Counter()
    for loop in loops:
        if elements := bytes_per_iteration(loop) / size:
            need = cycles(loop)
            part = max(need, key=need.get)
            per_element += need[part] / elements
            parts[part] += need[part] / elements
    return (1 / per_element, max(parts, key=parts.get)) if per_element else (None, "")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build/kernel_bench", help="default: %(default)s")
    parser.add_argument("--levels", default="v4", help="a regular expression; default: %(default)s")
    parser.add_argument("--dtypes", default="int8|float16|int32|float32|float64", help="default: %(default)s")
    parser.add_argument("--works", default="|".join(WORKS), help="separated by |; default: all")
    parser.add_argument("--seconds", type=float, default=0.02, help="for each of five repetitions; default: %(default)s")
    arguments = parser.parse_args()
    binary = arguments.binary.resolve()
    works = arguments.works.split("|")
    speeds = measured(binary, f"multiplication|({arguments.works})/({arguments.dtypes})/({arguments.levels})/",
                      arguments.seconds)
    gigahertz = 3 * speeds.pop("multiplication")
    code = disassembly(binary)
    print(f"{gigahertz:.2f} GHz\n")
    print("| work | dtype | level | elements per cycle | limit | share | limited by |\n|---|---|---|---|---|---|---|")
    for name, speed in sorted(speeds.items(), key=lambda item: works.index(item[0].partition("/")[0])):
        work, dtype, level = name.split("/")
        found = speed / SIZES[dtype] / gigahertz
        bound, part = limit(hot_loops(code, samples(binary, name)), SIZES[dtype])
        figures = f"{bound:.2g} | {found / bound:.2f} | {part}" if bound else "| |"
        print(f"| {WORKS[work]} | {dtype} | {level} | {found:.2g} | {figures} |", flush=True)


main()
