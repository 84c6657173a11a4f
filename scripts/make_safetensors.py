#!/usr/bin/env python3
"""Writes data/safetensors: files by versions of the safetensors library and by a writer in Go, and what clipper must make of them.

Each writer writes a file of the tensors and another one of np.clip's results. numpy.npz has the same tensors without BF16 and BOOL. Needs go; installs the pinned libraries in
build-data/. All versions of the library must write the same bytes.
"""

import base64
import json
import subprocess
import sys

sys.dont_write_bytecode = True

import libraries  # noqa: E402

libraries.require({name: libraries.PEERS[name] for name in ("numpy", "ml_dtypes")})

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

OUT = libraries.SCRIPTS.parent / "data/safetensors"
WRITERS = libraries.SCRIPTS / "archive_writers"
VERSIONS = ["0.4.0", "0.4.5", "0.5.3", "0.6.2", "0.7.0", libraries.SAFETENSORS["safetensors"]]
GO = "github.com/nlpodyssey/safetensors@v0.0.0-20250209183917-bfb01cc25f7c"
NUMBERS = {"F64": "f8", "F32": "f4", "F16": "f2", "BF16": ml_dtypes.bfloat16, "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U64": "u8",
           "U32": "u4", "U16": "u2", "U8": "u1"}


def tensors():
    """name -> (dtype of the format, array). The sizes leave the data of the Go writer, who sorts by name, unaligned."""
    result = {}
    for position, (dtype, numpy) in enumerate(NUMBERS.items()):
        elements = [0, 1, 2, 6, 7, 100, 3, 5, 127] + ([-0.0, 0.1, 6.5, np.nan, np.inf, -np.inf, -1] if "F" in dtype else [])
        result[f"layer.{position}.{dtype.lower()}"] = dtype, np.array(elements, numpy)
    result["model.embed.weight"] = "F32", np.linspace(-3, 9.5, 35, dtype="f4").reshape(5, 7)
    result["a.flag"] = "BOOL", np.array([True, False, True])
    result["a.scalar"] = "F16", np.array(9.5, "f2")
    result["größe ∑"] = "I8", np.arange(-4, 9, dtype="i1")
    result["none"] = "I32", np.zeros((0, 3), "i4")
    return result


def clipped(array):
    if array.dtype == bool:
        return array
    wide = array.astype("f4") if array.dtype == ml_dtypes.bfloat16 else array
    return np.clip(wide, 1, 6).astype(array.dtype)


def rows(change):
    return [{"name": name, "dtype": dtype, "shape": array.shape, "data": base64.b64encode(change(array).tobytes()).decode()}
            for name, (dtype, array) in tensors().items()]


def library_writer(version):
    home = libraries.DATA / f"safetensors-{version}"
    libraries.install({"safetensors": version}, home)
    return [home / "bin/python", WRITERS / "safetensors_writer.py"]


def go_writer():
    project = libraries.DATA / "safetensors_writer"
    project.mkdir(exist_ok=True)
    (project / "main.go").write_bytes((WRITERS / "safetensors_writer.go").read_bytes())
    if not (project / "go.mod").exists():
        subprocess.check_call(["go", "mod", "init", "writer"], cwd=project)
        subprocess.check_call(["go", "get", GO], cwd=project)
    subprocess.check_call(["go", "build"], cwd=project)
    return [project / "writer"]


def write(writer, content, out):
    (libraries.DATA / "tensors.json").write_text(json.dumps(content))
    subprocess.check_call([*writer, libraries.DATA / "tensors.json", out])
    return out.read_bytes()


def main():
    libraries.DATA.mkdir(exist_ok=True)
    OUT.mkdir(exist_ok=True)
    go = go_writer()
    for suffix, content in {"": rows(lambda array: array), ".clipped": rows(clipped)}.items():
        files = {write(library_writer(version), content, OUT / f"library{suffix}.safetensors") for version in VERSIONS}
        assert len(files) == 1, "the versions of the library write different files"
        with_axes = [row for row in content if row["shape"]]  # this writer takes no tensors of rank 0
        write(go, with_axes, OUT / f"go{suffix}.safetensors")
    np.savez(OUT / "numpy.npz", **{name: array for name, (dtype, array) in tensors().items() if dtype not in ("BF16", "BOOL")})


main()
