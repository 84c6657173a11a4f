#!/usr/bin/env python3
# torture clipper: 300 | 3000 | 30000
"""Runs every node test of Clip of the onnx package as one command on its TensorProto files, with the rules of opset 6, 11, 12 and 13, and
clips raw files of random dtypes, byte orders, shapes and offsets, which must become what numpy.tofile writes.

    formats_vs_libraries.py CLIPPER CASES [SEED [DIRECTORY]]
"""

import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))

import libraries  # noqa: E402

libraries.require({name: libraries.PEERS[name] for name in ("numpy", "ml_dtypes", "onnx")})

import trials  # noqa: E402
from onnx import numpy_helper  # noqa: E402
from onnx.backend.test.case.node import collect_testcases  # noqa: E402
from trials import ml_dtypes, np  # noqa: E402

OPSETS = {6: "f", 11: "f", 12: "fiu", 13: "fiu"}  # with the kinds of their dtypes
DTYPES = [np.dtype(name) for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")] + [
    np.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")]


def node_test(trial, case, opset):
    """From opset 11 on the bounds are inputs, before that attributes; min above max is an error before opset 13."""
    (inputs, outputs), node = case.data_sets[0], case.model.graph.node[0]
    for name, arrays in (("input", inputs), ("output", outputs)):
        for i, array in enumerate(arrays):
            trial.path(f"{name}_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(array), "x").SerializeToString())
    words, given = ["--profile", f"onnx-{opset}"], {}
    for i, name in enumerate(filter(None, node.input)):
        if name != "x":
            given[name] = inputs[i]
            words += [f"--{name}", f"@input_{i}.pb" if opset > 6 else repr(float(inputs[i]))]
    if opset < 13 and len(given) == 2 and given["min"] > given["max"]:
        words += ["--min-above-max", "max"]
    return trial.run(*words, "input_0.pb", "--verify", "output_0.pb").code == 0


def raw_case(trial):
    rng, path = trial.rng, trial.path
    dtype, shape = rng.choice(DTYPES), [rng.randrange(1, 7) for _ in range(rng.randrange(4))]
    order = rng.choice("<>") if dtype.itemsize > 1 and dtype.kind != "V" else ""
    array = np.frombuffer(rng.randbytes(int(np.prod(shape, dtype=int)) * dtype.itemsize), dtype).reshape(shape)
    if order:
        array = array.view(dtype.newbyteorder(order))
    start = rng.randbytes(rng.choice([0, 0, 1, 512]))
    path("in.raw").write_bytes(start + array.tobytes())
    extents = list(shape)
    if extents and rng.random() < 0.4:
        extents[rng.randrange(len(extents))] = -1
    name = f"{order}{dtype.str[1:]}" if order else dtype.name
    layout = name + (":" + ",".join(map(str, extents)) if extents else "") + (f"@{len(start)}" if start else "")
    high = dtype.type(3)
    expected = np.where(array > high, high, array).astype(array.dtype)
    out = "in.raw" if rng.random() < 0.3 else "out.raw"
    done = trial.run("--raw", layout, "--max", "3", "in.raw", out)
    if not trial.check(done.code == 0 and path(out).read_bytes() == start + expected.tobytes(), f"{layout}: {done}"):
        return
    if out == "out.raw" and order:
        done = trial.run("--raw", layout, "--max", "3", "in.raw", "out.npy"), trial.run("--to-raw", "--max", "3", "out.npy", "again.raw")
        same = np.load(path("out.npy")).tobytes() == path("again.raw").read_bytes() == expected.tobytes()
        trial.check(same, f"{layout}, by way of .npy: {done}")


def node_tests(clipper):
    """The numbers of the tests and of those that fail."""
    nodes = [case for case in collect_testcases(None) if case.model.graph.node[0].op_type == "Clip"]
    with tempfile.TemporaryDirectory() as directory:
        trial = trials.Trial(clipper, 0, Path(directory))
        passed = [node_test(trial, case, opset) for opset, kinds in OPSETS.items() for case in nodes
                  if case.data_sets[0][0][0].dtype.kind in kinds]
        print(*(line for line, is_good in zip(trial.lines, passed, strict=True) if not is_good), sep="\n", end="")
    return len(passed), passed.count(False)


if __name__ == "__main__":
    trials.main("TensorProto and raw files against onnx and numpy", raw_case, afterwards=node_tests)
