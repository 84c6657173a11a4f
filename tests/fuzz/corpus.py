#!/usr/bin/env python3
"""Converts the fuzzers' inputs: corpus/TARGET.txt (one input per line, with Python's escapes) and seeds made from data/.

    corpus.py unpack TARGET DIRECTORY   writes each input to a file, as fuzzers need them
    corpus.py pack TARGET DIRECTORY     replaces corpus/TARGET.txt by the files in DIRECTORY
"""

import csv
import hashlib
import io
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "faults"))

import hostile_cases  # noqa: E402

DATA = HERE.parent.parent / "data"
DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bfloat16"]


def table(name):
    with open(DATA / name, newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def profiles():
    """The profiles in the order of lib/contract/profile.cpp, because bounds_fuzz selects a profile by its number."""
    return list(dict.fromkeys(row["profile"] for row in table("goldens/cases.tsv")))


def header_seeds():
    for row in table("headers/headers.tsv"):
        header = bytes.fromhex(row["header"])
        yield header + (b"\x8b" if row["descr"] == "|V2" else b"\x9d" if row["descr"] == "<u2" else b"")


def bounds_seeds():
    """Inputs in the format that bounds_fuzz.cpp describes."""
    options = ["--min", "--max", "--scale", "--bias", "--nan", "--min-above-max"]
    every = profiles()
    for name in ("goldens/cases.tsv", "goldens/refused.tsv"):
        for row in table(name):
            words = row["arguments"].split()
            given = dict(zip(words[::2], words[1::2]))
            text = "|".join(given.get(option, "_") for option in options)
            if "@" not in text:
                yield (chr(ord("a") + DTYPES.index(row["dtype"])) + chr(ord("a") + every.index(row["profile"])) + text).encode()


def program_seeds():
    """Inputs in the format that program_fuzz.cpp describes."""
    for dtype in DTYPES:
        file = (DATA / "edge" / f"{dtype}.npy").read_bytes()
        for words in ("in.npy out.npy --min 0 --max 6", "-i in.npy --max=1 --scale 2 -v", "in.npy - --min-above-max min --min 3 --max 2",
                      "- out.npy --profile onnx --nan 1", "in.npy old.npy -n", "--output-dir d in.npy old.npy --min @old.npy",
                      "--in-place --direct in.npy --max 2", "--direct -i old.npy in.npy --min 1 --nan 3", "in.npy out.npy --sync --max 0",
                      "-o {stem}.b in.npy old.npy --keep-going --json", "in.npy old.npy --dry-run --fail-if-clipped 10% --min 3",
                      "--fail-if-clipped 50% -i in.npy --max 3", "in.npy -o - --json --max 1 --progress",
                      "in.npy old.npy --bias .5 --simd baseline --chunk-size 4096 --threads 2 --dtype " + dtype):
            yield "\0".join([*words.split(), "", ""]).encode() + file


def npz_seeds():
    """Archives of zipfile: stored and deflated, to a file and to a pipe, with and without ZIP64 fields."""
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        for file in (io.BytesIO(), Pipe()):
            with zipfile.ZipFile(file, "w") as archive:
                archive.comment = b"comment" if method else b""
                for number, name in enumerate(("w.npy", "größe.npy", "empty")):
                    member = zipfile.ZipInfo(name)
                    member.compress_type = method
                    with archive.open(member, "w", force_zip64=number == 0) as stream:
                        stream.write(b"data" * 7 * (2 - number))
            yield file.getvalue()
    yield from (each.content for each in hostile_cases.CASES if not callable(each.content))


class Pipe:
    """A file without tell() and seek()."""

    def __init__(self):
        self.file = io.BytesIO()
        self.write, self.flush, self.getvalue = self.file.write, self.file.flush, self.file.getvalue


SEEDS = {"npz_fuzz": npz_seeds, "header_fuzz": header_seeds, "bounds_fuzz": bounds_seeds, "program_fuzz": program_seeds}


def unpack(target, directory):
    directory.mkdir(parents=True, exist_ok=True)
    lines = (HERE / "corpus" / f"{target}.txt").read_text().splitlines()
    kept = [line.encode().decode("unicode_escape").encode("latin-1") for line in lines]
    for data in {*kept, *SEEDS.get(target, list)()}:
        (directory / hashlib.sha1(data).hexdigest()).write_bytes(data)


def pack(target, directory):
    inputs = {file.read_bytes() for file in directory.iterdir()} - {b""}
    lines = sorted(data.decode("latin-1").encode("unicode_escape").decode() for data in inputs)
    (HERE / "corpus" / f"{target}.txt").write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    {"unpack": unpack, "pack": pack}[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))
