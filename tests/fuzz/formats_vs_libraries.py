#!/usr/bin/env python3
# torture build/clipper: 300 | 3000 | 30000
"""Runs every node test of Clip of the onnx package as one command on its TensorProto files, with the rules of opset 6, 11, 12 and 13, and
clips raw files of random dtypes, byte orders, shapes and offsets, which must become what numpy.tofile writes.

    formats_vs_libraries.py CLIPPER COUNT [SEED]
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))

import libraries  # noqa: E402

libraries.require({name: libraries.PEERS[name] for name in ("numpy", "ml_dtypes", "onnx")})

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

np.seterr(all="ignore")

from onnx import numpy_helper  # noqa: E402
from onnx.backend.test.case.node import collect_testcases  # noqa: E402

OPSETS = {6: "f", 11: "f", 12: "fiu", 13: "fiu"}  # with the kinds of their dtypes
DTYPES = [np.dtype(name) for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")] + [
    np.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")]


def failure_of(command, directory):
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    return "" if result.returncode == 0 else f"{' '.join(map(str, command))}: {result.returncode} {result.stdout}{result.stderr}"


def node_test(clipper, case, opset, directory):
    """Empty, or what is wrong. From opset 11 on the bounds are inputs, before that attributes; min above max is an error before opset 13."""
    (inputs, outputs), node = case.data_sets[0], case.model.graph.node[0]
    for name, arrays in (("input", inputs), ("output", outputs)):
        for i, array in enumerate(arrays):
            (directory / f"{name}_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(array), "x").SerializeToString())
    command, given = [clipper, "--profile", f"onnx-{opset}"], {}
    for i, name in enumerate(filter(None, node.input)):
        if name != "x":
            given[name] = inputs[i]
            command += [f"--{name}", f"@input_{i}.pb" if opset > 6 else repr(float(inputs[i]))]
    if opset < 13 and len(given) == 2 and given["min"] > given["max"]:
        command += ["--min-above-max", "max"]
    return failure_of([*command, "input_0.pb", "--verify", "output_0.pb"], directory)


def raw_case(clipper, rng, directory):
    dtype, shape = rng.choice(DTYPES), [rng.randrange(1, 7) for _ in range(rng.randrange(4))]
    order = rng.choice("<>") if dtype.itemsize > 1 and dtype.kind != "V" else ""
    array = np.frombuffer(rng.randbytes(int(np.prod(shape, dtype=int)) * dtype.itemsize), dtype).reshape(shape)
    if order:
        array = array.view(dtype.newbyteorder(order))
    start = rng.randbytes(rng.choice([0, 0, 1, 512]))
    (directory / "in.raw").write_bytes(start + array.tobytes())
    extents = list(shape)
    if extents and rng.random() < 0.4:
        extents[rng.randrange(len(extents))] = -1
    name = f"{order}{dtype.str[1:]}" if order else dtype.name
    layout = name + (":" + ",".join(map(str, extents)) if extents else "") + (f"@{len(start)}" if start else "")
    high = dtype.type(3)
    expected = np.where(array > high, high, array).astype(array.dtype)
    out = "in.raw" if rng.random() < 0.3 else "out.raw"
    wrong = failure_of([clipper, "--raw", layout, "--max", "3", "in.raw", out], directory)
    if wrong or (directory / out).read_bytes() != start + expected.tobytes():
        return wrong or f"{layout}: other bytes"
    read = np.fromfile(directory / out, array.dtype, offset=len(start))
    if out == "out.raw" and order:
        wrong = failure_of([clipper, "--raw", layout, "--max", "3", "in.raw", "out.npy"], directory)
        same = not wrong and np.load(directory / "out.npy").tobytes() == read.tobytes()
        wrong = wrong or failure_of([clipper, "--to-raw", "--max", "3", "out.npy", "again.raw"], directory)
        if wrong or not same or (directory / "again.raw").read_bytes() != expected.tobytes():
            return wrong or f"{layout}: other bytes by way of .npy"
    return ""


def main(clipper, count, seed):
    clipper, rng, cases, failures = Path(clipper).resolve(), random.Random(seed), 0, []
    nodes = [case for case in collect_testcases(None) if case.model.graph.node[0].op_type == "Clip"]
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        for opset, kinds in OPSETS.items():
            for case in nodes:
                if case.data_sets[0][0][0].dtype.kind in kinds:
                    cases += 1
                    failures.append(node_test(clipper, case, opset, directory))
        print(f"node tests of Clip: {cases} commands, {sum(map(bool, failures))} failed")
        failures += [raw_case(clipper, rng, directory) for _ in range(count)]
    for failure in filter(None, failures):
        print(failure)
    print(json.dumps({"what": "TensorProto and raw files against onnx and numpy", "cases": cases + count, "violations": sum(map(bool, failures))}))
    return 1 if any(failures) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1))
