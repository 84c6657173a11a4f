"""Measures clipper's kernels and memcpy with kernel_bench, and the libraries with peers.py. They take turns, so that changes
of the machine's speed affect all of them."""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

from peers import LIBRARIES


def kernel_bench(binary, seconds):
    """name -> seconds: the median if there are several repetitions."""
    out = subprocess.run([binary, f"--benchmark_min_time={seconds}", "--benchmark_enable_random_interleaving=true",
                          "--benchmark_filter=-^cycles/", "--benchmark_format=json"], check=True, stdout=subprocess.PIPE).stdout
    rows = {}
    for row in json.loads(out)["benchmarks"]:
        if row["run_type"] == "iteration":
            assert row["time_unit"] == "ns"
            name = row["name"].removesuffix("/real_time").partition("/repeats:")[0]
            rows.setdefault(name, []).append(row["real_time"] * 1e-9)
    return {name: median(times) for name, times in rows.items()}


def peer(library, seconds, wrong):
    """LIBRARY/DTYPE/BYTES/THREADS -> seconds. Adds (library, dtype) to `wrong` if the result is not numpy's."""
    command = [sys.executable, Path(__file__).with_name("peers.py"), library, str(seconds)]
    rows = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    wrong |= {(library, row["dtype"]) for row in rows if not row["right"]}
    return {f"{library}/{row['dtype']}/{row['bytes']}/{row['threads']}": row["seconds"] for row in rows}


def measure(binary, seconds, rounds, samples):
    """Each figure is a mean over at least `seconds`. Returns the (library, dtype) pairs whose results are not numpy's."""
    wrong = set()
    for i in range(rounds):
        print(f"bench: kernels, round {i + 1} of {rounds}", file=sys.stderr)
        turns = [lambda: kernel_bench(binary, seconds), *(lambda name=name: peer(name, seconds, wrong) for name in LIBRARIES)]
        for turn in turns[:: -1 if i % 2 else 1]:
            for name, time in turn().items():
                samples[name].append(time)
    return sorted(wrong)
