"""What the programs in Python share.

    NAME.py CLIPPER CASES [SEED [DIRECTORY]]

Case K of a run uses the seed SEED + K. With DIRECTORY the files of the last case stay there.
"""

import argparse
import json
import multiprocessing
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))

import libraries  # noqa: E402

libraries.require({name: libraries.PEERS[name] for name in ("numpy", "ml_dtypes")})

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

np.seterr(all="ignore")
INTEGERS = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = [np.dtype(name) for name in ("float16", "float32", "float64")] + [np.dtype(ml_dtypes.bfloat16)]
SHOWN = 20  # violations


def edges(dtype):
    """The bits of zeros, extremes, 1, infinities, NaNs and their neighbours."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    top = 1 << (8 * dtype.itemsize - 1)
    middle = [0, top]
    if dtype in FLOATS:
        numbers = np.array([1, np.inf, np.nan, 0.1, 3], dtype).view(unsigned).tolist()
        middle += numbers + [number ^ top for number in numbers]
    else:
        middle += [1, 100, 1 << (dtype.itemsize * 4), (1 << 53) % (2 * top)]
    return np.array([(bits + step) % (2 * top) for bits in middle for step in (-2, -1, 0, 1, 2)], unsigned)


def save(path, tensor, rng):
    """Saves the tensor in a random byte order (numpy has bfloat16 only in its own) and memory order. Returns the memory order."""
    if tensor.dtype in INTEGERS + FLOATS[:3] and rng.random() < 0.3:
        tensor = tensor.astype(tensor.dtype.newbyteorder(">"))
    order = rng.choice("CF")
    np.save(path, np.asarray(tensor, order=order))
    return order


def with_other_trues(tensor, generator):
    """The tensor; of bool with any byte but 0 for True, as views of masks have."""
    if tensor.dtype != bool:
        return tensor
    return np.asarray(tensor.view("u1") * generator.integers(1, 256, tensor.shape, "u1")).view(bool)


@dataclass
class Run:
    code: int
    out: bytes
    err: str


@dataclass
class Trial:
    """One case in a directory of its own. A case says what it does in `way`, what it is about, and what is wrong."""
    clipper: str
    seed: int
    directory: Path
    way: str = ""
    about: str = ""
    lines: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.rng = random.Random(self.seed)
        self.generator = np.random.default_rng(self.seed)

    def path(self, name):
        return self.directory / name

    def run(self, *words, stdin=None):
        words = [str(word) for word in words]
        self.lines.append(shlex.join(["clipper", *words]))
        given = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        done = subprocess.run([self.clipper, *words], cwd=self.directory, capture_output=True, timeout=120, **given)
        return Run(done.returncode, done.stdout, done.stderr.decode(errors="replace"))

    def check(self, right, text):
        if not right:
            self.wrong.append(text)
        return right


def try_case(job):
    try_one, trial_type, clipper, seed, kept = job
    parent = Path(kept or tempfile.mkdtemp())
    trial = trial_type(clipper, seed, parent / "case")
    shutil.rmtree(trial.directory, ignore_errors=True)
    trial.directory.mkdir(parents=True)
    try:
        try_one(trial)
    except Exception:  # also of numpy or zipfile, about what clipper has written
        trial.wrong.append(traceback.format_exc())
    if not kept:
        shutil.rmtree(parent)
    again = f"{Path(sys.argv[0]).name} CLIPPER 1 {seed} DIRECTORY"
    return trial.way, "\n  ".join([trial.about, *trial.wrong, *trial.lines, again]) if trial.wrong else ""


def first_seed():
    """CLIPPER_SEED, by which the cases of a commit are the same each time; otherwise a new one."""
    return int(os.environ.get("CLIPPER_SEED") or random.SystemRandom().randrange(1 << 32))


def counts(ways):
    return ", ".join(f"{way} {count}" for way, count in sorted(ways.items()) if way)


def main(what, try_one, tensors=1, trial_type=Trial, afterwards=None, summary=counts):
    """Runs `try_one(trial)` for all cases, of which each has one or several `tensors`. `afterwards` tries more and returns the numbers
    of its cases and violations. `summary` makes a text of the number of cases by way. Ends the program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("clipper", type=lambda text: str(Path(text).resolve()))
    parser.add_argument("cases", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=first_seed())
    parser.add_argument("directory", nargs="?")
    given = parser.parse_args()
    jobs = ((try_one, trial_type, given.clipper, given.seed + i, given.directory) for i in range(-(-given.cases // tensors)))
    ways, cases, violations = Counter(), given.cases, 0
    with multiprocessing.Pool(1 if given.directory else len(os.sched_getaffinity(0)) + 1) as pool:
        for way, wrong in pool.imap_unordered(try_case, jobs, chunksize=4):
            ways[way] += 1
            violations += bool(wrong)
            if wrong and violations <= SHOWN:
                print(wrong, flush=True)
    if afterwards and not given.directory:
        more, wrong = afterwards(given.clipper)
        cases, violations = cases + more, violations + wrong
    print(f"  seed {given.seed}; {summary(ways)}")
    print(json.dumps({"what": what, "cases": cases, "violations": violations}))
    sys.exit(1 if violations else 0)
