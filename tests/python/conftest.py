"""What the tests share."""

import os
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))  # the oracle: contract.py, conversion.py
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64", "bfloat16"]
DTYPES = INTEGERS + FLOATS  # those that kernels know
FLOAT8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz", "float8_e8m0fnu"]
ALL_DTYPES = DTYPES + FLOAT8


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def load(path):
    """np.load, with bfloat16 where numpy sees two raw bytes."""
    array = np.load(path)
    return array.view(ml_dtypes.bfloat16) if array.dtype.kind == "V" else array


def save(path, array):
    """np.save, which loses the byte order of bfloat16, so that clipper would have to be told what it is."""
    if array.dtype.name != "bfloat16":
        np.save(path, array)
        return
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<V2", "fortran_order": False, "shape": array.shape}
        )
        file.write(array.tobytes())


def rows(name):
    """The rows of a table of data/, as dicts."""
    lines = (ROOT / "data" / name).read_text().splitlines()
    names = lines[0].split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines[1:]]


def arguments_of(words):
    """"--min 0 --nan error" as arguments of clip()."""
    words = words.split(" ") if words else []
    pairs = zip(words[::2], words[1::2], strict=True)
    path = lambda word: word.replace("@", f"@{ROOT}/") if word.startswith("@data") else word
    return {option[2:].replace("-", "_"): path(word) for option, word in pairs}


def shape_of(text):
    return tuple(int(size) for size in text.strip("(),").replace(",", " ").split())


def bits(array):
    """The elements as unsigned integers, in this machine's byte order."""
    array = np.asarray(array)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("="))
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def assert_same_bits(actual, expected):
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_array_equal(bits(actual), bits(expected))


@pytest.fixture(scope="session")
def program():
    """Runs the program clipper; returns its exit status and standard error."""
    path = os.environ.get("CLIPPER", ROOT / "build" / "clipper")

    def run(*arguments):
        done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True)
        return done.returncode, done.stderr

    assert run("--version")[0] == 0, f"{path} is not the program clipper"
    return run
