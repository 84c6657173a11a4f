#!/usr/bin/env python3
"""Writes data/archives: .npz archives by the programs that make them, and what clipper must make of them.

Each writer writes an archive of the arrays and another one of np.clip's results. Needs Debian 12 with g++, git, zlib1g-dev,
zip, python3-numpy (Python 3.11.2, numpy 1.24.2) and cargo, and runs in Python 3.11.4 or newer. Installs the pinned numpy in
build-data/ unless this Python has it, and fetches cnpy and ndarray-npy.
"""

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True

import libraries  # noqa: E402

libraries.require({name: libraries.PEERS[name] for name in ("numpy", "ml_dtypes")})

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
WRITERS = ROOT / "scripts/archive_writers"
OUT = ROOT / "data/archives"
BUILD = ROOT / "build-data"
CNPY = "https://github.com/rogersce/cnpy", "4e8810b1a8637695171ed346ce68f6984e585ef4"
CARGO = """[package]
name = "ndarray_writer"
version = "0.1.0"
edition = "2021"
[[bin]]
name = "ndarray_writer"
path = "{}"
[dependencies]
ndarray = "=0.16.1"
ndarray-npy = "=0.9.1"
"""
DEBIAN = Path("/usr/bin/python3")
SAVEZ = WRITERS / "savez.py"
NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


def arrays():
    """name -> array, in the order of the archives."""
    few = {}
    for dtype in NUMBERS:
        elements = [0, 1, 2, 6, 7, 100, 3, 5, 127]
        elements += [-0.0, 0.1, 6.5, np.nan, np.inf, -np.inf, -1] if dtype[0] == "f" else [-128, -1, -2] if dtype[0] == "i" else []
        few[dtype] = np.array(elements, dtype)
        if dtype[1] != "1":
            few[dtype + "_be"] = few[dtype].astype(">" + dtype)
    few["f4_fortran"] = np.asfortranarray(np.linspace(-3, 9.5, 24, dtype="f4").reshape(4, 6))
    few["f8_0d"] = np.array(9.5)
    few["i4_empty"] = np.zeros((0, 3), "i4")
    few["f4_inside"] = np.linspace(1, 6, 7, dtype="f4")
    few["größe ∑"] = np.arange(-4, 9, dtype="i2")
    few["a.b c"] = np.arange(4, 9, dtype="u2").reshape(5, 1)
    few["bool"] = np.array([True, False, True])
    few["complex"] = np.array([1 + 9j, -7])
    few["records"] = np.array([(1, 9.5), (-7, 0)], [("a", "<i4"), ("b", ">f8")])
    few["words"] = np.array(["größe", "", "x"])
    few["dates"] = np.array(["2020-01-01", "1969-07-20"], "datetime64[D]")
    few["pickled"] = np.array([None, "x", 100], object)
    few["f4_large"] = (np.arange(400_000) % 16 - 4).astype("f4").reshape(400, 1000)  # more than 1 MiB; only compressed
    few["bf16"] = np.linspace(-3, 9.5, 24, dtype="f4").astype(ml_dtypes.bfloat16).reshape(2, 12)
    few["bf16_0d"] = np.array(-1.5, "f4").astype(ml_dtypes.bfloat16)
    return few


def clipped(array):
    if array.dtype == ml_dtypes.bfloat16:
        return np.clip(array.astype("f4"), 1, 6).astype(array.dtype)
    if array.dtype.str[1:] not in NUMBERS:
        return array
    order = "F" if array.flags.fnc else "C"
    return np.asarray(np.clip(array, 1, 6), array.dtype, order=order)


def saved(directory, contents, what):
    """Writes the arrays as directory/NAME.npy, those of the names `what` clipped."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, array in contents.items():
        array = clipped(array) if what is None or name in what else array
        np.save(directory / f"{name}.npy", array.view("V2") if array.dtype == ml_dtypes.bfloat16 else array)
    (directory / "notes.txt").write_text("Not a tensor.\n" * 9)
    (directory / "sub").mkdir(exist_ok=True)
    (directory / "sub/f4.npy").write_bytes((directory / "f4.npy").read_bytes())


def cnpy_writer():
    source, program = BUILD / "cnpy", BUILD / "cnpy_writer"
    if not source.exists():
        subprocess.run(["git", "clone", "--quiet", CNPY[0], source], check=True)
    subprocess.run(["git", "-C", source, "checkout", "--quiet", CNPY[1]], check=True)
    files = [WRITERS / "cnpy_writer.cpp", source / "cnpy.cpp"]
    subprocess.run(["g++", "-std=c++20", "-w", f"-I{source}", *files, "-o", program, "-lz"], check=True)
    return program


def ndarray_writer():
    project = BUILD / "ndarray_writer"
    project.mkdir(exist_ok=True)
    (project / "Cargo.toml").write_text(CARGO.format(WRITERS / "ndarray_writer.rs"))
    subprocess.run(["cargo", "build", "--quiet", "--manifest-path", project / "Cargo.toml"], check=True)
    return project / "target/debug/ndarray_writer"


def run(directory, out, words, names):
    files = [name if "." in name and " " not in name or name == "sub" else f"{name}.npy" for name in names]
    out.unlink(missing_ok=True)
    for path in [*directory.rglob("*")]:
        os.utime(path, (1600000000, 1600000000))  # zip stores both times, and reading changes the first
    redirected = ">" in words
    command = ["env", "LC_ALL=C.UTF-8", *(str(word) for word in words if word != ">")]
    if redirected:
        with subprocess.Popen([*command, "-", *files], cwd=directory, stdout=subprocess.PIPE) as process:
            out.write_bytes(process.stdout.read())
    else:
        subprocess.run([*command, out, *files], cwd=directory, check=True)


def with_numpy_headers(path, out):
    """Writes the archive again, with what np.save writes for the tensors that clipper takes."""
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(out, "w") as new:
        for member in archive.infolist():
            content = archive.read(member)
            array = np.load(io.BytesIO(content))
            if array.dtype.str[1:] in NUMBERS:
                file = io.BytesIO()
                np.save(file, array)
                content = file.getvalue()
            attributes = member.external_attr
            new.writestr(member, content)
            member.external_attr = attributes  # writestr() replaces 0


def main():
    names = list(arrays())
    bfloat16 = ["bf16", "bf16_0d"]
    numpy = [name for name in names if name not in (*bfloat16, "f4_large")]
    every = [name for name in names if name not in bfloat16]
    tensors = [name for name in numpy if arrays()[name].dtype.str[1:] in NUMBERS]
    older = [name for name in every if name != "pickled"]  # numpy 1 cannot read a pickle of numpy 2
    rust = ["f4", "f8", "i1", "i8", "u2", "f4_fortran", "f8_0d", "bool"]
    files = ["notes.txt", "f4", "i8_be", "f4_large", "größe ∑", "a.b c", "bool", "sub", "sub/f4.npy"]
    cnpy, ndarray, python = cnpy_writer(), ndarray_writer(), sys.executable
    few = ["f4", "f8_be", "größe ∑"]
    # archive, its writer, its members, "bytes" if clipper must write the writer's bytes, otherwise "members"
    archives = [
        ("savez", [python, SAVEZ, "savez"], numpy, "bytes"),
        ("savez_compressed", [python, SAVEZ, "savez_compressed"], every, "members"),
        ("debian-savez", [DEBIAN, SAVEZ, "savez"], older[:-1], "bytes"),
        ("debian-savez_compressed", [DEBIAN, SAVEZ, "savez_compressed"], older, "members"),
        ("streamed", [python, SAVEZ, "streamed"], few, "members"),
        ("streamed_compressed", [python, SAVEZ, "streamed_compressed"], few, "members"),
        ("cnpy", [cnpy], ["f4", "f8", "i4", "u1", "bool"], "bytes"),
        ("ndarray", [ndarray, "stored"], rust, "bytes"),
        ("ndarray_compressed", [ndarray, "deflated"], rust, "members"),
        ("zip-0", ["zip", "-q", "-0"], [name for name in files if name != "f4_large"], "bytes"),
        ("zip-6", ["zip", "-q", "-6"], files, "members"),
        ("zip-streamed", ["zip", "-q", "-6", ">"], files, "members"),
    ]
    rows = []
    OUT.mkdir(exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    given, all_clipped = BUILD / "given", BUILD / "clipped"
    saved(given, arrays(), ())
    saved(all_clipped, arrays(), None)

    def add(archive, expected, same, arguments, writer, directory, members):
        run(directory, OUT / f"{expected}.npz", writer, members)
        rows.append((archive, "any", expected, same, arguments))

    for name, writer, members, same in archives:
        run(given, OUT / f"{name}.npz", writer, members)
        add(name, f"{name}.clipped", same, "--min 1 --max 6", writer, all_clipped, members)
        if writer[0] in (cnpy, ndarray):  # a new file gets np.save's headers
            rows[-1] = (name, "in place", *rows[-1][2:])
            with_numpy_headers(OUT / f"{name}.clipped.npz", OUT / f"{name}.numpy.npz")
            rows.append((name, "new", f"{name}.numpy", "members", "--min 1 --max 6"))
    savez = archives[0][1]
    chosen = BUILD / "chosen"
    saved(chosen, arrays(), ["f4", "i8_be"])
    add("savez", "savez.chosen", "bytes", "--min 1 --max 6 --member f4 --member i8_be.npy", savez, chosen, numpy)
    add("savez", "savez.only", "bytes", "--min 1 --max 6 --member f4 --member i8_be.npy --unclipped drop", savez, chosen,
        ["i8_be", "f4"])
    add("savez", "savez.tensors", "bytes", "--min 1 --max 6 --unclipped drop", savez, all_clipped, tensors)
    run(given, OUT / "bfloat16.npz", savez, bfloat16)
    add("bfloat16", "bfloat16.clipped", "bytes", "--min 1 --max 6 --dtype bfloat16", savez, all_clipped, bfloat16)
    text = "".join("\t".join(row) + "\n" for row in [("archive", "way", "expected", "same", "arguments"), *rows])
    (OUT / "cases.tsv").write_text(text)
    print(f"{OUT}: {len(rows)} cases, {sum(path.stat().st_size for path in OUT.iterdir()):,} bytes")


main()
