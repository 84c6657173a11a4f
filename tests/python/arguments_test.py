"""What clip() takes as arguments besides numbers and arrays of x's dtype, and how it refuses the others."""

import array
import collections
import errno
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import warnings
from decimal import Decimal
from fractions import Fraction

import clipper
import clipper._errors
import ml_dtypes
import numpy as np
import pytest

X = np.array([-3.5, -0.0, 0.25, 5.5, 7.0, np.nan], np.float32)
Pair = collections.namedtuple("Pair", "a b c d e f", defaults=[0] * 4)
ONE = [0, 0.0, False, np.bool_(False), Decimal(0), Fraction(0), "0", np.int8(0), np.float64(0), np.array(0), np.array(0, np.int16), [0], (0.0,),
       np.zeros(1, np.int64), range(1), array.array("f", [0]), memoryview(bytes(1)), collections.deque([0]), Pair(0, 0), [0] * 6, np.zeros(6, ">i8"), np.zeros((1, 6)), np.ma.masked_array([0])[0]]


@pytest.mark.parametrize("low", ONE, ids=repr)
def test_one_number_in_every_form(low):
    if np.size(low) == 1 and np.ndim(low) < 2:
        assert clipper.clip(X, low, 6).tobytes() == clipper.clip(X, 0, 6).tobytes()
        assert clipper.clip(X[:5].astype(np.int16), low).tobytes() == X[:5].astype(np.int16).clip(0).tobytes()
    assert clipper.clip(X[np.newaxis], low, 6).tobytes() == clipper.clip(X, 0, 6).tobytes()


def test_numbers_that_are_rounded_once():
    for dtype in (np.float16, np.float32, np.float64):
        x = np.full(3, -1, dtype)
        assert clipper.clip(x, Fraction(1, 3))[0] == dtype(1 / 3 if dtype is np.float64 else np.float64(1 / 3))
        one = dtype(1)
        tie = (Fraction(1) + Fraction(float(np.nextafter(one, dtype(2))))) / 2  # between two elements
        above = tie + Fraction(1, 10**300 * 7)
        assert clipper.clip(x, tie)[0] == 1
        assert clipper.clip(x, above)[0] == np.nextafter(one, dtype(2))
        assert clipper.clip(x, Decimal("0.1"))[0] == dtype("0.1")
    with pytest.raises(clipper.ClipperError, match=r"min 3\.333333333333333333\.\.\.e\+399 exceeds the float64 maximum"):
        clipper.clip(np.array([0.0]), Fraction(10**400, 3))
    assert clipper.clip(np.array([9], np.int64), max=Fraction(2**62)) == 9


def test_arrays_of_other_dtypes_are_exact_bounds():
    x = np.arange(-3, 4, dtype=np.int8)
    low = np.array([-2, -1, 0, 0, 1, 2, 3])
    for dtype in (np.int64, np.uint8, np.float16, np.float64, np.longdouble):
        if dtype is np.uint8:
            low = np.abs(low)
        assert clipper.clip(x, low.astype(dtype)).tobytes() == np.clip(x, low.astype(np.int8), None).tobytes()
    assert clipper.clip(x, [0.5] * 7, to="float32").tolist() == np.clip(x, 0.5, None).tolist()
    assert clipper.clip(x, [0.5] * 7).tolist() == [0, 0, 0, 0, 1, 2, 3]
    for bad in ([300] * 7, [np.inf] * 7, [np.nan] * 7, [2**63] * 7):
        with pytest.raises(clipper.ClipperError, match="min"):
            clipper.clip(x, bad)
    for value in (2**24 + 1, 1e40, 0.1):
        assert clipper.clip(X, max=np.full(6, value)).tobytes() == clipper.clip(X, max=value).tobytes()
    assert clipper.clip(X, max=np.full(6, 2.0**24)).tobytes() == X.tobytes()
    assert clipper.clip(np.array([9] * 2, np.int64), max=[2.0**62, 1.0]).tolist() == [9, 1]
    assert clipper.clip(np.array([9] * 2, np.int64), max=[2.0**63, 1.0]).tolist() == [9, 1]
    b = 1700000000000000000
    assert clipper.clip(np.array([b, b + 1]), subtract=np.array([b, b]), round="half-even").tolist() == [0, 1]
    assert clipper.clip(np.array([1, 9, 10], np.uint8), [0.5, 9.5, 9.5], replace_below=7).tolist() == [1, 7, 10]


@pytest.mark.parametrize("bad", [{}, b"0", object(), [None], ["0"], [[0], [0, 1]], 1j, np.complex64(1), np.datetime64("2020"), np.timedelta64(1, "s")], ids=repr)
def test_no_numbers(bad):
    with pytest.raises((TypeError, ValueError)) as caught:
        clipper.clip(X, min=bad)
    assert "min" in str(caught.value) or isinstance(bad, list)
    assert "incompatible function arguments" not in str(caught.value)


def test_masked_arrays_would_lose_their_mask():
    masked = np.ma.masked_array(np.zeros(6, np.float32), [1, 0, 0, 0, 0, 0])
    for arguments in ({"x": masked}, {"x": X, "min": masked}, {"x": X, "max": masked}, {"x": X, "scale": masked}, {"x": X, "max": "50%", "mask": masked}):
        with pytest.raises(TypeError, match="must not be a masked array"):
            clipper.clip(**{"min": 0} | arguments)


def test_truncation_warns_once_for_each_call_site():
    x = np.arange(4, dtype=np.int16)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            assert clipper.clip(x, 0.5, max=2).tolist() == [0, 1, 2, 2]
    assert [str(w.message) for w in caught] == ["min 0.5 is no integer: its fraction is cut off, because x has dtype int16"]
    assert caught[0].category is clipper.TruncationWarning and caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for bound in (0.5, "0.5", np.float32(2.5), np.float16(0.5)):
            with pytest.raises(clipper.TruncationWarning, match="max .* is no integer"):
                clipper.clip(x, max=bound)
        clipper.clip(x, 0.0, "2e0")
        clipper.clip(x, 0, np.inf)
        clipper.clip(x.astype(float), 0.5)
        clipper.clip(x, 0.5, 2.5, profile="openvino")
        clipper.clip(x, 0.5, to="float32")
    with pytest.raises(clipper.ClipperError):
        clipper.clip(x, 0.5, profile="onnx-13")


def test_bounds_of_floats_that_become_other_integers():
    half = np.zeros(2, np.float16)
    for bound, integer in ((1e-8, 0), (0.99999, 1), (2049, 2048), ("2049", 2048), (-2049, -2048), (np.float32(0.99999), 1)):
        with pytest.warns(clipper.TruncationWarning, match=f"max .* becomes {integer}, because x has dtype float16"):
            clipper.clip(half, max=bound)
    with pytest.warns(clipper.TruncationWarning, match="min 9007199254740993 becomes 9007199254740992"):
        clipper.clip(np.zeros(2), 2**53 + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for bound in (0.1, 2048, 1e6, 10**400, 1e30, np.inf, "0.5", np.float16(0.1)):
            clipper.clip(half, max=bound)
        clipper.clip(np.zeros(2, np.float32), 1e30, 3.4e38)


def test_arguments_of_np_clip():
    out = np.empty_like(X)
    assert clipper.clip(X, 0, 6, out) is out
    assert out.tobytes() == clipper.clip(X, 0, 6).tobytes()
    assert clipper.clip(X, a_min=0, a_max=6).tobytes() == out.tobytes()
    assert clipper.clip(X, None, a_max=6).tobytes() == clipper.clip(X, max=6).tobytes()
    with pytest.raises(TypeError, match="min and a_min are the same"):
        clipper.clip(X, 0, a_min=0)


@pytest.mark.parametrize("call, words", [
    (lambda: clipper.clip(X, 0, where=X > 0), "does not support where: assign to a part"),
    (lambda: clipper.clip(X, 0, casting="unsafe"), "does not support casting"),
    (lambda: clipper.clip(X, 0, minimum=0), "no argument 'minimum'; it has x, min, max"),
    (lambda: clipper.clip(), "clip.. needs x"),
    (lambda: clipper.clip(X, 0, 1, None, 2), "got 5 arguments by position"),
    (lambda: clipper.percentiles(X, "50"), "sequence of numbers, not text; ..50.. is one"),
])
def test_wrong_arguments_are_named(call, words):
    with pytest.raises(TypeError, match=words) as caught:
        call()
    assert "incompatible" not in str(caught.value)


@pytest.mark.parametrize("name", ["f4", "<f4", "=f4", "single", "float32", np.dtype("f4"), np.float32], ids=repr)
def test_names_of_dtypes(name, tmp_path):
    x = np.arange(4, dtype=np.float32)
    assert clipper.clip(x, 1, dtype=name).dtype == clipper.clip(x.astype(int), 1, to=name).dtype == np.float32
    assert clipper.info(x, dtype=name).max == clipper.percentiles(x, [100], dtype=name)[0] == 3
    assert clipper.compare(x, x, dtype=name)
    np.save(tmp_path / "x.npy", x.astype(np.float64))
    clipper.clip_file(tmp_path / "x.npy", tmp_path / "y.npy", 1, to=name)
    assert clipper.clip_in_place(tmp_path / "y.npy", 1, dtype=name).elements == 4
    assert np.load(tmp_path / "y.npy").dtype == np.float32
    assert clipper.clip(x.astype(">f4"), to=name).dtype == np.dtype("<f4" if str(name) in ("<f4", "=f4") else ">f4")


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("made", [str, np.dtype])
def test_byte_order_of_the_result(order, made, tmp_path):
    asked = made(f"{order}f4")
    for x in (np.arange(4, dtype="<f4"), np.arange(4, dtype=">f4"), np.arange(4, dtype=np.uint8)):
        result = clipper.clip(x, 1, to=asked)
        wanted = order if made is str or order == ">" else x.dtype.str[0].replace("|", "<")  # only > says it as an object
        assert result.dtype == np.dtype(f"{wanted}f4") and result.tolist() == [1, 1, 2, 3]
        np.save(tmp_path / "x.npy", x)
        clipper.clip_file(tmp_path / "x.npy", tmp_path / "y.npy", 1, to=asked)
        assert np.load(tmp_path / "y.npy").tobytes() == result.tobytes()


@pytest.mark.parametrize("name, words", [("single4", "unknown value 'single4'"), ("f4,f4", "unknown value 'f4,f4'")])
def test_names_that_are_refused(name, words):
    with pytest.raises(clipper.ClipperError, match=words) as caught:
        clipper.clip(X, to=name)
    assert caught.value.field == "to"


@pytest.mark.parametrize("name", ["bf16", "BF16", "BFLOAT16", "torch.bfloat16", "jnp.bfloat16", "bfloat16"])
def test_names_of_other_programs(name):
    x = np.arange(4, dtype=np.float32)
    assert clipper.clip(x, to=name).dtype == ml_dtypes.bfloat16
    assert clipper.clip(x.astype(np.uint16), 1, dtype=name).dtype == np.uint16


def test_objects_that_print_the_name_of_a_dtype():
    class TorchType:
        def __repr__(self):
            return "torch.float16"

    assert clipper.clip(X, to=TorchType()).dtype == np.float16
    with pytest.raises(TypeError, match="to must be a dtype, its name or a scalar type, not object"):
        clipper.clip(X, to=object())


def test_numpy_decides_what_its_own_names_mean():
    for name in ("i8", "u8", "f8", "float", "byte", "long", "|i1", "<i8"):
        assert clipper.clip(np.ones(2, np.int8), to=name).dtype == np.dtype(name)
    for name in ("I8", "U8", "F8", "Float"):
        with pytest.raises(clipper.ClipperError, match=f"to: '{name}' is .* in numpy and .* elsewhere") as caught:
            clipper.clip(np.ones(2, np.int8), to=name)
        assert caught.value.field == "to"


def test_messages():
    with pytest.raises(clipper.ClipperError, match="min: 'lo.txt' is not a number"):
        clipper.clip(X, "lo.txt")
    for field, value in [(name, "abc") for name in ("min", "max", "scale", "bias", "subtract", "divide_zero", "max_norm", "nan", "nodata", "stretch", "to")] + [("stretch", (0, "abc"))]:
        with pytest.raises(clipper.ClipperError, match=f"^{field}: .*abc") as caught:
            clipper.clip(X, **{field: value})
        assert caught.value.field == field
    with pytest.raises(clipper.ClipperError, match="to read the number from a file, write @lo.npy"):
        clipper.clip(X, "lo.npy")
    with pytest.raises(clipper.ClipperError, match="nan: unknown value 'err'; did you mean 'error'[?]"):
        clipper.clip(np.zeros(2), nan="err")
    with pytest.raises(clipper.ClipperError, match="round: unknown value 'trunk'; did you mean 'trunc'[?]"):
        clipper.clip(np.zeros(2), round="trunk")
    with pytest.raises(clipper.ClipperError, match="profile: unknown value 'none'; expected one of: clipper, directml, "):
        clipper.clip(X, 0, profile="none")
    for name, meant in (("onx", "onnx"), ("onnx-14", "onnx"), ("numpy2", "numpy"), ("ONNX-13", "onnx-13"), ("torch", "pytorch")):
        with pytest.raises(clipper.ClipperError, match=f"did you mean '{meant}'[?]"):
            clipper.clip(X, 0, profile=name)
    for path in ("x.npy", b"x.npy", pathlib.Path("x.npy")):
        with pytest.raises(TypeError, match="x must be an array, not the path of a file, which clip_file.. clips"):
            clipper.clip(path, 0, 6)
    with pytest.raises(clipper.ClipperError, match="min_above_max") as caught:
        clipper.clip(X, 6, 0)
    assert caught.value.field in ("min", "min_above_max")


def test_texts_mean_what_they_mean_to_the_program():
    x = np.array([-1.0, 5, 9])
    assert clipper.clip(x, 0, 6, stretch="0:255", to="uint8").tolist() == [0, 212, 255]
    assert clipper.clip(x, scale="1/2").tolist() == [-0.5, 2.5, 4.5]
    with pytest.raises(clipper.ClipperError, match="scale: 'mean' is not a number") as caught:
        clipper.clip(x, scale="mean")
    assert caught.value.field == "scale"
    with pytest.raises(clipper.ClipperFileNotFoundError, match="min @missing.npy: cannot be opened"):
        clipper.clip(x, "@missing.npy")
    with pytest.raises(clipper.ClipperError, match="nan keep and to uint8 cannot be used together"):
        clipper.clip(x, nan="keep", to="uint8")


def test_pooled_is_for_archives():
    with pytest.raises(clipper.ClipperError, match="pooled: only for functions that read all files first"):
        clipper.clip(X, "1%", pooled=True)


def test_a_nul_ends_no_text(tmp_path):
    np.savez(tmp_path / "x.npz", w=X)
    for call in (lambda: clipper.clip(X, max=f"@{tmp_path}/x.npz:w\0.gone"), lambda: clipper.clip(X, 0, nan="keep\0"),
                 lambda: clipper.clip_in_place(tmp_path / "x.npz", 0, members=["w\0z"]), lambda: clipper.info(f"{tmp_path}/x.npz\0")):
        with pytest.raises(ValueError, match="embedded null byte"):
            call()


def test_whole_numbers_and_bools_of_numpy():
    one, no = np.int64(1), np.False_
    assert clipper.clip(X, 0, 6, threads=one).tobytes() == clipper.clip(X, 0, 6).tobytes()
    assert clipper.clip(X, 0, 6, saturate=no, pooled=no).tobytes() == clipper.clip(X, 0, 6).tobytes()
    assert clipper.clip(np.float32([1e9]), to="float16", saturate=np.True_) == 65504
    x = np.arange(6.0).reshape(2, 3)
    for axes in (one, (one,), [np.uint8(1)]):
        assert clipper.clip(x, "50%", per_axis=axes).tobytes() == clipper.clip(x, "50%", per_axis=1).tobytes()
    assert len(clipper.compare(x, x + 1, ulp=one, max_listed=np.uint8(3)).first) == 3
    for bad in (True, 1.0, np.ones(2, int), np.True_):
        with pytest.raises(TypeError, match="threads must be an int, not "):
            clipper.clip(X, 0, threads=bad)


def test_wrong_arguments_of_functions_of_files_are_named():
    with pytest.raises(TypeError, match="there is no argument 'minimum'"):
        clipper.clip_file("in.npy", "out.npy", minimum=0)


def test_missing_files_are_file_not_found_errors(tmp_path):
    missing = tmp_path / "missing.npy"
    calls = [lambda: clipper.clip_file(missing, tmp_path / "out.npy", 0), lambda: clipper.clip_in_place(missing, 0), lambda: clipper.info(missing),
             lambda: clipper.compare(missing, X), lambda: clipper.clip(X, missing), lambda: clipper.percentiles(missing, [1])]
    for call in calls:
        with pytest.raises(FileNotFoundError, match="missing.npy") as caught:
            call()
        assert isinstance(caught.value, clipper.ClipperFileNotFoundError) and caught.value.kind == "io"
        for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
            assert str(error) == str(caught.value) and error.errno == errno.ENOENT
    name = os.fsdecode(b"\xff\xc3.npy")
    with pytest.raises(FileNotFoundError, match=name):
        clipper.info(tmp_path / name)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_forbidden_files_are_permission_errors(number):
    """Not by a file, because root may open every file."""
    error = clipper._errors._error("x.npy: cannot be opened", "io", None, number)
    assert isinstance(error, clipper.ClipperPermissionError) and isinstance(error, PermissionError)
    assert (str(error), error.kind, error.field) == ("x.npy: cannot be opened", "io", None)


def test_subclasses_keep_their_type():
    class Units(np.ndarray):
        pass

    x = X.view(Units)
    assert type(clipper.clip(x, 0, 6)) is Units
    assert type(clipper.clip(x, np.zeros(6, np.float32))) is type(clipper.clip(x[:5], x[:5], X[:5])) is Units
    assert type(clipper.clip(x, 0, 6, out=np.empty_like(X))) is np.ndarray
    assert type(clipper.clip(x[:5], X[:5], out=np.empty_like(X[:5]))) is np.ndarray
    assert type(clipper.clip(np.asmatrix(X), 0, 6)) is np.matrix
    assert type(clipper.clip([1, 2], 0, 1)) is np.ndarray
    mapped = np.memmap(tempfile.TemporaryFile(), np.float32, shape=3)
    assert type(clipper.clip(mapped, 0, 6)) is type(np.clip(mapped, 0, 6)) is np.ndarray


def test_dtypes_of_other_packages_are_named():
    class dtype:  # as torch's
        def __str__(self):
            return "torch.bool"

    with pytest.raises(clipper.ClipperError, match="to: .*'torch.bool'"):
        clipper.clip(X, 0, to=dtype())


def test_what_has_a_method_mask_is_no_masked_array():
    class Series:  # as pandas'
        def __array__(self, dtype=None, copy=None):
            return X

        def mask(self):
            raise AssertionError

        def __array_wrap__(self, array, context=None, return_scalar=False):
            return ("series", array)

    name, result = clipper.clip(Series(), 0, 6)
    assert name == "series" and result.tobytes() == clipper.clip(X, 0, 6).tobytes()
    with pytest.raises(clipper.ClipperError, match="NaN at .5. cannot be a bound"):
        clipper.clip(X, min=Series())


def test_main():
    done = subprocess.run([sys.executable, "-m", "clipper", "--version"], capture_output=True, text=True,
                          env=os.environ | {"PATH": str(pathlib.Path(os.environ["CLIPPER"]).parent)})
    assert done.stdout.startswith("clipper ")
    done = subprocess.run([sys.executable, "-m", "clipper"], capture_output=True, text=True, env={"PATH": ""})
    assert "pip install clipper-npy" in done.stderr and done.returncode == 1
