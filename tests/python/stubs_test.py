"""The stubs describe the package that is installed."""

import ast
import importlib.metadata
import importlib.resources
import inspect
import re
import subprocess
import sys
import tempfile

import clipper
import numpy as np
import pytest

TREE = ast.parse((importlib.resources.files(clipper) / "__init__.pyi").read_text())
FUNCTIONS = [node for node in TREE.body if isinstance(node, ast.FunctionDef)]
CLASSES = {node.name: node for node in TREE.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"}
REQUEST = {line.target.id: ast.unparse(line.annotation) for node in TREE.body if getattr(node, "name", "") == "_Request" for line in node.body}

USER = """
import array, pathlib
from decimal import Decimal
from fractions import Fraction
import clipper, clipper_pytest, numpy as np
from numpy.typing import NDArray

x: NDArray[np.float32] = np.zeros(3, np.float32)
y: NDArray[np.float32] = clipper.clip(x, 0, "6", profile="onnx-13", scale=np.float32(0.5))
y = clipper.clip([1, 2], max=x, out=x)
z: NDArray[np.uint8] = np.zeros(3, np.uint8)
z = clipper.clip(x, scale=clipper.reciprocal(0.1), zero_point=128, to=np.uint8, out=z)
z = clipper.clip(x, 0, replace_below=np.nan, round="half-away", to="uint8")
y = clipper.clip(x, Decimal("0.1"), Fraction(1, 3))
y = clipper.clip(x, [0, 1, 2], (3, 4, 5), dtype="f4")
y = clipper.clip(x, None, a_max=pathlib.Path("hi.npy"))
same: bytearray = clipper.clip(z, 1, 2, bytearray(3))
other: array.array[float] = clipper.clip(x, 1, out=array.array("f", [1]))
replaced: int = clipper.clip_in_place(pathlib.Path("x.npy"), members=["a"]).replaced
lowered: int = clipper.clip_file("in.npy", "out.npy", max=6, to="float16", saturate=True).lowered
y = clipper.clip(x, "1%", subtract="mean", divide="std", per_axis=(0, -1), nodata=[-9999, "nan"], nodata_to=0)
missing: int = clipper.clip_file("in.bin", "out.bin", max=6, raw="<f4:2,-1", to_raw=True, pooled=False, nodata=0, per_axis=1).nodata
clipper.assert_same(x, "x.pb", format="pb", tolerance="torch", any_dtype=True)
first: tuple[int, ...] = clipper.compare(x, "golden.npy", ulp=2).first[0].index
names: tuple[str, ...] = clipper.profiles()
for name in clipper.profiles():
    clipper.clip(x, profile=name)
def test(clipper_golden: clipper_pytest.GoldenMaker) -> None:
    clipper.assert_same(x, clipper_golden("x.npy"))
clipper.assert_same({"a": x}, "b.npz")
clipper.clip(x, profile="onx-13")  # type: ignore[call-overload] # pyright: ignore
clipper.clip_file("in.npz", "out.npz", 0, profile="numpi")  # type: ignore[arg-type] # pyright: ignore
clipper.clip_file("in.npz", "out.npz", 0, only="flaot")  # type: ignore[arg-type] # pyright: ignore
clipper.clip_file("in.npz", "out.npz", 0, profile="numpy", only=["float", "int8"])
clipper.compare(x, "x.pb", format="onnx")  # type: ignore[arg-type] # pyright: ignore
clipper.compare(x, x, tolerance="jax")  # type: ignore[arg-type] # pyright: ignore
clipper.clip(x, threads="2")  # type: ignore[call-overload] # pyright: ignore
clipper.clip(x, round="up")  # type: ignore[call-overload] # pyright: ignore
clipper.clip_file("in.npy", "out.npy", stretch=3)  # type: ignore[arg-type] # pyright: ignore
clipper.clip_file("in.npy", "out.npy", pool=True)  # type: ignore[call-arg] # pyright: ignore
clipper.clip_file("in.npy")  # type: ignore[call-arg] # pyright: ignore
"""


def test_version():
    assert clipper.__version__ == importlib.metadata.version("clipper-npy-core")


def test_names():
    assert {node.name for node in FUNCTIONS} | set(CLASSES) == set(clipper.__all__)
    assert (importlib.resources.files(clipper) / "py.typed").is_file()
    assert ast.get_docstring(next(node for node in FUNCTIONS if node.name == "clip"))  # pyright shows no other: clip is a builtin


def test_words():
    """The words that mypy knows are those that clipper takes."""
    words = {line.targets[0].id: line for line in TREE.body if isinstance(line, ast.Assign)}
    literals = lambda name: [node.value for node in ast.walk(words[name]) if isinstance(node, ast.Constant)]
    assert set(clipper.profiles()) <= set(literals("_Profile"))
    for profile in literals("_Profile"):
        clipper.clip(np.zeros((1, 1, 1, 1), np.float32), 0, 6, profile=profile)
    with tempfile.TemporaryDirectory() as directory:
        np.savez(f"{directory}/x.npz", x=np.zeros(1))
        for kind in literals("_Kind"):
            try:
                clipper.clip_file(f"{directory}/x.npz", f"{directory}/y.npz", 0, only=kind)
            except clipper.ClipperError as refused:
                assert "no member can be clipped" in str(refused)


@pytest.mark.parametrize("node", FUNCTIONS, ids=lambda node: node.name)
def test_signatures(node):
    function = getattr(clipper, node.name)
    assert function.__doc__
    arguments = node.args
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults + arguments.kw_defaults
    stub = {
        argument.arg: inspect.Parameter.empty if default is None else ast.literal_eval(default)
        for argument, default in zip(arguments.args + arguments.kwonlyargs, defaults, strict=True)
    }
    if node.name == "profiles":
        return
    if arguments.kwarg:
        stub |= {name: False if kind == "bool" else None for name, kind in REQUEST.items()}
    real = inspect.signature(function).parameters
    if node.name == "clip":  # has overloads, which differ in their defaults
        assert set(real) == set(stub)
        return
    assert {name: parameter.default for name, parameter in real.items()} == stub


@pytest.mark.parametrize("name", [name for name, node in CLASSES.items() if not name.endswith(("Error", "Warning"))])
def test_fields(name):
    stub = [line.target.id for line in CLASSES[name].body if isinstance(line, ast.AnnAssign)]
    assert stub == list(getattr(clipper, name)._fields)


def test_mypy():
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null", "-c", USER]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    command[-1] = USER.replace("  # type: ignore[call-overload] # pyright: ignore", "", 1)
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and len(done.stdout) < 6000, done.stdout


@pytest.mark.nightly
def test_pyright(tmp_path):
    (tmp_path / "user.py").write_text("# pyright: strict, reportUnnecessaryTypeIgnoreComment=true\n" + re.sub(r"# type: ignore\[\S+ ", "", USER))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(tmp_path / "user.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
