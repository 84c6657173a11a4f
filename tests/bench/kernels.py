"""Measures clipper's kernels and memcpy with kernel_bench, and the libraries with peers.py. They take turns, so that changes
of the machine's speed affect all of them."""

import json
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from measure import Figures, busy, until_quiet

CACHED = 64 << 10
SECONDS = 0.005  # for a figure of a round, at least
ROUNDS = 3
LIBRARIES = {"numpy": "numpy", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
WORKS = {"clip": "clip", "scale_bias_clip": "scale, bias, clip", "clip_and_count": "clip and count"}


def size_text(size):
    return f"{size >> 20} MiB" if size >> 20 else f"{size >> 10} KiB"


def kernel_bench(binary, level):
    """name -> wall and CPU seconds: the medians if there are several repetitions."""
    kernels = f"^(memcpy|streamed/.*|({'|'.join(WORKS)})/.*/{level})/[0-9]+(/|$)"
    out = subprocess.run([binary, f"--benchmark_min_time={SECONDS}", "--benchmark_enable_random_interleaving=true",
                          f"--benchmark_filter={kernels}", "--benchmark_format=json"], check=True, stdout=subprocess.PIPE).stdout
    rows = {}
    for row in json.loads(out)["benchmarks"]:
        if row["run_type"] == "iteration":
            name = row["name"].partition("/repeats:")[0].partition("/process_time")[0]
            rows.setdefault(name, []).append((row["real_time"] * 1e-9, row["cpu_time"] * 1e-9))
    return {name: tuple(map(median, zip(*times, strict=True))) for name, times in rows.items()}


def peer(library, wrong):
    """LIBRARY/DTYPE/BYTES -> wall and CPU seconds. Adds (library, dtype) to `wrong` if the result is not numpy's."""
    command = [sys.executable, Path(__file__).with_name("peers.py"), library, str(SECONDS)]
    rows = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    wrong |= {(library, row["dtype"]) for row in rows if not row["right"]}
    return {f"{library}/{row['dtype']}/{row['bytes']}": (row["seconds"], row["cpu"]) for row in rows}


def sides(name):
    """who -> name, beside a kernel WORK/DTYPE/LEVEL/BYTES or, in memory, where large results are written past the caches, streamed/DTYPE/BYTES"""
    work, dtype, *_, size = name.split("/")
    libraries = {title: f"{library}/{dtype}/{size}" for library, title in LIBRARIES.items()}
    return {"clipper": name, "memcpy": f"memcpy/{size}", **(libraries if work in ("clip", "streamed") else {})}


def is_shown(name):
    work, *_, size = name.split("/")
    return work == "streamed" or work in WORKS and int(size) == CACHED


def measure(binary):
    """Returns the figures and the (library, dtype) pairs whose results are not numpy's."""
    wrong, figures = set(), {}
    version = subprocess.run(["clipper", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    level = re.search(r"SIMD level: (\w+)", version)[1]

    def own():
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + children.ru_utime + children.ru_stime

    def one_round(i):
        start, before = time.perf_counter(), busy() - own()
        turns = [lambda: kernel_bench(binary, level), *(lambda name=name: peer(name, wrong) for name in LIBRARIES)]
        found = {name: times for turn in turns[:: -1 if i % 2 else 1] for name, times in turn().items()}
        wall, others = time.perf_counter() - start, busy() - own() - before
        for name in filter(is_shown, sorted(found)):
            work, dtype, *_, size = name.split("/")
            what = f"{WORKS.get(work, 'clip')} of {dtype}, {size_text(int(size))}"
            row = figures.setdefault(name, Figures(what, int(size)))
            row.add({who: found[other] for who, other in sides(name).items() if other in found}, others / wall)

    until_quiet(figures.values(), one_round, ROUNDS)
    return list(figures.values()), sorted(wrong)
