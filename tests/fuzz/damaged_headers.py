#!/usr/bin/env python3
# torture: some | all | all
# torture clipper: - | some one | some one
"""Clips every prefix of 20 files, and each file with one byte of its header changed. Exit code 3 (5 for an unfinished file) and no
file is left; or 0 and a complete output.

    damaged_headers.py CLIPPER all|some [one]   each of the first 256 bytes becomes all or 5 other values; one: a process for each file
"""

import io
import json
import re
import sys
from itertools import islice

import trials
from trials import np

import corpus
from clipper_files import UNFINISHED, VERSION_AT

PER_PROCESS = 500  # files
ONES = ",".join(["1"] * 16)
EDGES = ("edge/int8", "edge/int64", "edge/uint8", "edge/float32", "edge/float64", "edge/bfloat16", "bounds/float32-lo", "bounds/int16-hi")
HEADERS = ((">f2", "True", "3,4"), (">i4", "False", ""), ("<u4", "False", "7"), (">u2", "False", "3,4"), (">f8", "True", "3,4"),
           ("<f4", "False", "0"), ("<f4", "True", "20,3,4"), ("<f4", "False", "2147483648,0"), ("<f4", "False", ONES),
           ("<f4", "False", ",".join([ONES] * 4)))


def in_version(version: int, file: bytes) -> bytes:
    """The file with a header of version 2.0 or 3.0, which has 4 bytes for the header's length."""
    return file[:VERSION_AT] + bytes([version]) + file[VERSION_AT + 1:10] + bytes(2) + file[10:]


def seeds():
    """Files of data/, and tensors of zeros with headers from headers.tsv."""
    yield in_version(2, (corpus.DATA / "edge/float16.npy").read_bytes())
    yield in_version(3, (corpus.DATA / "edge/uint64.npy").read_bytes())
    for name in EDGES:
        yield (corpus.DATA / f"{name}.npy").read_bytes()
    rows = list(corpus.table("headers/headers.tsv"))
    for wanted in HEADERS:
        row = next(row for row in rows if tuple(row.values())[:3] == wanted)
        count = np.prod([int(size) for size in wanted[2].split(",") if size], dtype=int)
        yield bytes.fromhex(row["header"]) + bytes(int(count) * int(wanted[0][-1]))


def damaged(masks):
    """What was done to a file, the file, and whether it was truncated."""
    for seed in seeds():
        header = seed.index(b"\n") + 1
        name = seed[10:seed.index(b"}") + 1].decode(errors="replace")
        for size in range(len(seed)):
            yield f"{name}: the first {size} bytes", seed[:size], True
        for at in range(min(header, 256)):
            for mask in masks:
                yield f"{name}: byte {at} ^ {mask:#x}", seed[:at] + bytes([seed[at] ^ mask]) + seed[at + 1:], False


def is_copy(file: bytes, out: bytes) -> bool:
    a, b = (np.load(io.BytesIO(each)) for each in (file, out))
    return a.dtype == b.dtype and a.shape == b.shape and file[len(file) - a.nbytes:] == out[len(out) - b.nbytes:]


def statuses(trial, names):
    """The exit code for each file."""
    if len(names) == 1:
        return [trial.run("--max", "inf", names[0], f"out/{names[0]}").code]
    run = trial.run("--max", "inf", "--keep-going", "--json", "--threads", "1", "--output-dir", "out", *names)
    told = {each["input"]: each["status"] for each in map(json.loads, run.out.splitlines()) if "input" in each}
    return [told.get(name) for name in names]


def try_files(trial):
    cases = CASES[trial.seed]
    names = [f"{i:03}.npy" for i in range(len(cases))]
    trial.path("out").mkdir()
    for name, (_, file, _) in zip(names, cases):
        trial.path(name).write_bytes(file)
    for name, (what, file, truncated), code in zip(names, cases, statuses(trial, names), strict=True):
        out = trial.path(f"out/{name}")
        unfinished = not truncated and file[VERSION_AT] == UNFINISHED and (file.startswith(b"\x93NUMPY") or (
            file.startswith(b"\x93N") and file[VERSION_AT + 1] in (1, 2, 3)))
        refusal = 5 if unfinished else 3
        accepted = code == 0 and not truncated and not unfinished
        trial.check(trial.path(name).read_bytes() == file, f"{what}: the input was changed")
        dates = code == 2 and re.search(rb"'[<>|]?([mM]8|b1)'", file[:256])  # inf is no bound of theirs
        trial.check(accepted or dates or code == refusal, f"{what}: exit code {code}, not {refusal}")
        trial.check(out.exists() == (code == 0), f"{what}: exit code {code}, and the output is {'there' if out.exists() else 'missing'}")
        trial.check(not out.exists() or is_copy(file, out.read_bytes()), f"{what}: the output is wrong")
        out.unlink(missing_ok=True)
    trial.check(not list(trial.path("out").iterdir()), "other files were left")
    trial.lines.clear()  # of hundreds of words


if __name__ == "__main__":
    files = damaged(range(1, 256) if sys.argv[2] == "all" else (0x01, 0x02, 0x10, 0x80, 0xFF))
    per_process = 1 if "one" in sys.argv[3:] else PER_PROCESS
    CASES = []
    while some := list(islice(files, per_process)):
        CASES.append(some)
    total = sum(map(len, CASES))
    sys.argv[2:] = [str(total), "0"]
    trials.main("damaged headers of 20 files" + (", a process for each" if per_process == 1 else ""), try_files, per_process)
