#!/usr/bin/env python3
"""goldens.py EVERY COMMAND...: clips the edge elements by the rows of data/goldens/cases.tsv and refused.tsv with COMMAND, which
starts a clipper, one process per row: 1 as EVERY takes all rows, 10 every tenth. Checks the bytes of each result, and the exit code and the message of each refusal.

Needs Python's own library only.
"""

import ast
import concurrent.futures
import csv
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))
from clipper_files import header  # noqa: E402
DATA = ROOT / "data"


def read(path):
    """The descr, the shape and the elements of a .npy file of version 1.0."""
    content = path.read_bytes()
    end = 10 + int.from_bytes(content[8:10], "little")
    told = ast.literal_eval(content[10:end].decode())
    return told["descr"], told["shape"], content[end:]


def rows(name):
    with open(DATA / "goldens" / name, newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def tensor_of(row):
    """The input of a row: the first elements of the edge elements, in the row's shape."""
    descr, shape, elements = read(DATA / "edge" / f"{row['dtype']}.npy")
    if row["shape"] or "exit_code" in row:  # in refused.tsv an empty shape has no axes
        shape = tuple(int(extent) for extent in row["shape"].split(",") if extent)
    return descr, shape, elements[: math.prod(shape) * int(descr[2:])]


def run(command, row, tensor, directory):
    descr, shape, elements = tensor
    (directory / "in.npy").write_bytes(header(descr, shape) + elements)
    arguments = ["--profile", row["profile"], *row["arguments"].split()]
    files = [str(directory / name) for name in ("in.npy", "out.npy")]
    return subprocess.run([*command, *arguments, *files], cwd=ROOT, capture_output=True, text=True, check=False)


def wrong_result(command, row, directory):
    descr, shape, elements = tensor_of(row)
    size = len(read(DATA / "edge" / f"{row['dtype']}.npy")[2])
    golden = read(DATA / "goldens" / row["profile"] / f"{row['dtype']}.npy")[2][int(row["row"]) * size :]
    done = run(command, row, (descr, shape, elements), directory)
    if done.returncode != 0:  # a note may be on standard error
        return f"exit code {done.returncode}: {done.stderr}"
    expected = header(descr, shape) + golden[: len(elements)]
    return "" if (directory / "out.npy").read_bytes() == expected else "other bytes"


def wrong_refusal(command, row, directory):
    done = run(command, row, tensor_of(row), directory)
    if str(done.returncode) != row["exit_code"] or row["word"] not in done.stderr:
        return f"exit code {done.returncode}: {done.stderr}"
    return "" if not (directory / "out.npy").exists() else "there is a result"


def main():
    every, command = int(sys.argv[1]), sys.argv[2:]

    def wrong(check, row):
        with tempfile.TemporaryDirectory() as directory:
            text = check(command, row, pathlib.Path(directory))
        return text and f"{row['profile']} {row['dtype']} ({row['shape']}) {row['arguments']}: {text}"

    # Without --min and --max only the library takes the profiles that have no default bounds.
    cases = [(wrong_result, row) for row in rows("cases.tsv") if row["arguments"]]
    cases += [(wrong_refusal, row) for row in rows("refused.tsv")]
    assert len(cases) > 3900
    cases = cases[::every]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [text for text in pool.map(lambda case: wrong(*case), cases) if text]
    print(*failures, sep="\n", end="\n" if failures else "")
    print(f"{len(cases)} goldens, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
