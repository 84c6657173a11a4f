"""clip() into another dtype, rounded, and with replacements, against the oracle in scripts/, numpy and the program."""

import itertools
import sys

import clipper
import ml_dtypes
import numpy as np
import pytest
from clip_test import error_of, sample
from conftest import DTYPES, FLOATS, INTEGERS, ROOT, assert_same_bits, dtype_of, load, save
from contract import nearest
from conversion import ROUNDS, Rule
from tensor import unsigned

def elements_of(x):
    """Ints, or floats that are exact."""
    with np.errstate(invalid="ignore"):
        return (x if x.dtype.kind in "iu" else x.astype(float)).ravel().tolist()


def exact_array(x, to, mode=None, nan=np.nan, saturate=False):
    """The expected result, in which a NaN is `nan`."""
    rule = Rule(to, mode or ("half-even" if to in INTEGERS else None), 0, saturate)
    values = [nan if value != value else value for value in elements_of(x)]
    bits = [rule.store(value)[0] if value == value else nearest(value, to) for value in values]
    return np.array(bits, unsigned(to)).view(dtype_of(to)).reshape(x.shape)


def assert_same_elements(actual, expected):
    """The same bits, but any NaN for a NaN."""
    with np.errstate(invalid="ignore"):  # numpy warns about NaN of bfloat16
        nan = expected != expected
        np.testing.assert_array_equal(actual != actual, nan)
    assert_same_bits(np.where(nan, expected, actual), expected)


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("name", DTYPES)
def test_every_pair(name, to):
    x = load(ROOT / f"data/edge/{name}.npy")
    options = {"nan": 7} if to in INTEGERS and name in FLOATS else {}
    expected = exact_array(x, to, nan=7 if options else np.nan)
    result = clipper.clip(x, to=to, **options)
    assert_same_elements(result, expected)
    assert_same_elements(clipper.clip(x, to=dtype_of(to), **options), expected)
    assert_same_elements(clipper.clip(x, to=dtype_of(to).type, **options), expected)
    out = np.empty_like(expected)
    assert clipper.clip(x, to=to, out=out, **options) is out
    assert_same_bits(out, result)
    for mode in ROUNDS:
        expected = exact_array(x, to, mode=mode, nan=7 if options else np.nan)
        assert_same_elements(clipper.clip(x, to=to, round=mode, **options), expected)
    if to in FLOATS:
        expected = exact_array(x, to, saturate=True)
        assert_same_elements(clipper.clip(x, to=to, saturate=True), expected)


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("name", ["float64", "int64", "uint64"])
def test_ties_and_neighbours(name, to):
    """Numbers half way between two of the result's, and next to them, which by way of another dtype are rounded twice."""
    values = [1 + 2.0**-8 + 2.0**-30, 1 + 2.0**-11, 1 + 2.0**-24, 65519.99, 65520, 2.0**-25, 0.5, 1.5, 2.5, 254.5, 255.5]
    values += [2**53 + 1, 2**63 - 1, 2**62 + 2**8 + 1, 2**40 + 2**32 + 1, 2**24 + 1, 257, 2**15 + 2**7]
    dtype = dtype_of(name)
    if name == "float64":
        x = np.array(values, dtype)
        x = np.concatenate([x, np.nextafter(x, 0), np.nextafter(x, np.inf), -x])
    else:
        x = np.array([int(value) + step for value in values[11:] for step in (-1, 0, 1) if value < 2**63 - 1], dtype)
    assert_same_elements(clipper.clip(x, to=to), exact_array(x, to))


@pytest.mark.parametrize("mode", ROUNDS)
@pytest.mark.parametrize("name", FLOATS)
def test_round_keeps_the_dtype(name, mode):
    x = load(ROOT / f"data/edge/{name}.npy")
    expected = exact_array(x, name, mode=mode)
    assert_same_elements(clipper.clip(x, round=mode), expected)
    y = x.copy()
    assert clipper.clip(y, round=mode, out=y) is y
    assert_same_elements(y, expected)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 0, 2)])
@pytest.mark.parametrize("to", DTYPES)
def test_no_elements(shape, to):
    x = np.zeros(shape, np.float32)
    assert_same_bits(clipper.clip(x, 0, 6, to=to), np.zeros(shape, dtype_of(to)))
    out = np.zeros(shape, dtype_of(to))
    assert clipper.clip(x, np.zeros(shape, "f4"), to=to, out=out) is out
    error_of(x, 300, to="uint8")


def test_scalars_and_lists():
    result = clipper.clip(np.float32(2.5), to="uint8")
    assert result == 2 and isinstance(result, np.uint8)
    assert isinstance(clipper.clip(7, to=ml_dtypes.bfloat16), ml_dtypes.bfloat16)
    assert_same_bits(clipper.clip([[1.5, 300], [-1, 3]], to=np.uint8), np.array([[2, 255], [0, 3]], np.uint8))
    assert_same_bits(clipper.clip([1.5, 2.5], to=float, round="floor"), np.array([1.0, 2]))
    out = np.array(0, np.int8)
    assert clipper.clip(7.5, to="int8", out=out) is out and out == 8


def test_raw_bfloat16():
    x = np.array([-1, 0.5, 7.75], ml_dtypes.bfloat16)
    for raw in (x.view(np.uint16), x.view("V2")):
        assert_same_bits(clipper.clip(raw, dtype="bfloat16", to="int16"), np.array([-1, 0, 8], np.int16))
        out = np.zeros(3, np.uint16)
        clipper.clip(raw, dtype="bfloat16", to="uint16", out=out)
        assert_same_bits(out, np.array([0, 0, 8], np.uint16))
        assert clipper.clip(raw, 0, dtype="bfloat16", to="bfloat16").dtype == raw.dtype


def test_bfloat16_needs_ml_dtypes(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    error = error_of(np.zeros(3), to="bfloat16")
    assert (error.kind, error.field) == ("usage", "to") and "package ml_dtypes" in str(error)


@pytest.mark.parametrize("count", [1000, 3_000_001])
def test_large_arrays(count):
    x = np.random.default_rng(1).normal(0, 100, count).astype("f4")
    expected = np.rint(np.clip(x, -50.25, 99)).astype(np.int16)
    assert_same_bits(clipper.clip(x, -50.25, 99, to="int16"), expected)
    assert_same_bits(clipper.clip(x, -50.25, 99, to="int16", threads=1), expected)
    assert_same_bits(clipper.clip(x, np.full(count, -50.25, "f4"), 99, to="int16"), expected)
    assert_same_bits(clipper.clip(np.repeat(x, 2)[::2], -50.25, 99, to="int16"), expected)
    lowest, highest = clipper.percentiles(x, [5, 95])
    assert_same_bits(clipper.clip(x, "5%", "95%", to="int16"), np.rint(np.clip(x, lowest, highest)).astype("i2"))
    x[count - 2] = np.nan
    assert str(error_of(x, to="int16")) == f"NaN at element {count - 2} cannot become int16; to replace NaN, add nan=0"
    assert np.isnan(clipper.clip(x, to=np.float16)[count - 2])


def test_a_nan_is_named_by_its_place_in_c_order():
    x = np.zeros((2, 5, 3), "f4")
    x[1, 3, 1] = np.nan
    folded = x.transpose(0, 2, 1).copy().transpose(0, 2, 1)
    for array in x, folded:
        assert str(error_of(array, to="int16")).startswith("NaN at element 25 ")


@pytest.mark.parametrize("to", ["int32", "int8", "float64"])
@pytest.mark.parametrize("shift", range(-8, 9, 4))
def test_overlapping_out_is_as_if_x_were_copied(shift, to):
    memory = (np.arange(800, dtype=np.float32) % 100).view(np.uint8)
    x = memory[800:1600].view(np.float32)
    expected = np.clip(x, 10, 90).astype(to)
    out = memory[800 + shift :][: expected.nbytes].view(to)
    clipper.clip(x, 10, 90, to=to, out=out)
    np.testing.assert_array_equal(out, expected)


def quantized(x, scale, zero_point, to):
    """QuantizeLinear of ONNX: one division in float32, one rounding."""
    limits = np.iinfo(to)
    return np.clip(np.rint((x / scale).astype(float)) + zero_point, limits.min, limits.max).astype(to)


def test_quantize(tmp_path):
    x = np.random.default_rng(2).normal(0, 8, (500, 64)).astype("f4")
    for value, zero_point, to in itertools.product([0.1, 0.05, 1 / 3], [0, 128, "7"], ["uint8", "int16"]):
        scale = np.float32(value)
        expected = quantized(x, scale, int(zero_point), to)
        for divisor in (scale, float(scale), value, np.array(scale), np.array([scale])):
            result = clipper.clip(x, scale=clipper.reciprocal(divisor), zero_point=zero_point, to=to)
            assert_same_bits(result, expected)
        assert_same_bits(clipper.clip(x, scale=f"1/{value!r}", zero_point=zero_point, to=to), expected)
    scales = np.linspace(0.01, 0.2, 64).astype("f4")
    np.save(tmp_path / "s.npy", scales)
    path = tmp_path / "s.npy"
    expected = quantized(x, scales, 3, "int8")
    for scale in (clipper.reciprocal(scales), clipper.reciprocal(path), clipper.reciprocal(f"@{path}"), f"1/@{path}"):
        assert_same_bits(clipper.clip(x, scale=scale, zero_point=3, to="int8"), expected)
    for zero_point in (3, "3", np.int8(3), np.array(3), np.array([3], "i1")):
        assert_same_bits(clipper.clip(x, scale=clipper.reciprocal(scales), zero_point=zero_point, to="int8"), expected)
    assert_same_bits(clipper.clip(x, scale=clipper.reciprocal(scales)), x / scales)
    assert clipper.reciprocal(2) == clipper.reciprocal(divisor=2) and repr(clipper.reciprocal(2)) == "reciprocal(divisor=2)"


@pytest.mark.parametrize("name", INTEGERS)
def test_zero_point_of_the_same_dtype(name):
    x = load(ROOT / f"data/edge/{name}.npy")
    limits = np.iinfo(name)
    expected = np.array([min(int(element) + 3, limits.max) for element in x], name)
    assert_same_bits(clipper.clip(x, zero_point=3, to=name), expected)


@pytest.mark.parametrize("name", DTYPES)
def test_replacements(name):
    x = sample((7, 9), name)
    values = x.astype(float)
    for below, above in itertools.product([None, 3, "5"], repeat=2):
        options = {"replace_below": below, "replace_above": above}
        expected = np.where(values < 20, 20 if below is None else float(below), values)
        expected = np.where(values > 40, 40 if above is None else float(above), expected)
        assert_same_bits(clipper.clip(x, 20, 40, **options), expected.astype(x.dtype))
        y = x.copy()
        clipper.clip(y, "20", np.full(9, 40, x.dtype), out=y, **options)
        assert_same_bits(y, expected.astype(x.dtype))
        assert_same_bits(clipper.clip(x, 20, 40, to="int16", **options), np.rint(expected).astype(np.int16))
    result = clipper.clip(x, 20, 40, to="float32", replace_below=np.nan, replace_above="inf")
    assert_same_elements(result, np.where(values < 20, np.nan, np.where(values > 40, np.inf, values)).astype("f4"))


def test_nan_follows_nan():
    x = np.array([np.nan, 1, 9])
    np.testing.assert_array_equal(clipper.clip(x, 2, 6, replace_below=-1, replace_above=7), [np.nan, -1, 7])
    np.testing.assert_array_equal(clipper.clip(x, 2, 6, replace_below=-1, nan="min", to="int8"), [2, -1, 6])
    np.testing.assert_array_equal(clipper.clip(x, nan=1000, to="int32"), [1000, 1, 9])
    for options in (dict(to="int8"), dict(to="float32", nan="error"), dict(round="floor", nan="error")):
        assert error_of(x, **options).kind == "input"
    assert error_of(np.array([1, np.inf]), scale=0, to="int8").kind == "input"


REQUESTS = [
    dict(to="uint8"), dict(to="int64", round="ceil"), dict(to="float16", min="-1", max="100"), dict(to="bfloat16"),
    dict(to="float64", scale="0.5", bias="1"), dict(to="int8", scale="1/0.3", zero_point="5"), dict(to="float32"),
    dict(scale="0.25", round="half-away"), dict(min="3", max="50", replace_below="7", replace_above="0"),
    dict(to="int16", min="1%", max="90%"), dict(to="uint32", min="2", replace_below="9"), dict(scale="1/3"),
    dict(to="float16", saturate=True, scale="1e6"),
]  # fmt: skip


@pytest.mark.parametrize("request_of_case", REQUESTS, ids=str)
@pytest.mark.parametrize("name", DTYPES)
def test_as_the_program(name, request_of_case, program, tmp_path):
    """The same bytes by the program, clip_file(), clip_in_place() and clip()."""
    arguments = dict(request_of_case, nan="2") if name in FLOATS else request_of_case
    words = [
        word for key, value in arguments.items()
        for word in ([f"--{key.replace('_', '-')}"] + ([] if value is True else [f"{value}"]))
    ]  # fmt: skip
    x = load(ROOT / f"data/edge/{name}.npy")
    files = [tmp_path / f"{i}.npy" for i in range(4)]
    for path in (files[0], files[3]):
        save(path, x)
    assert program("--quiet", *words, files[0], files[1]) == (0, "")
    counts = clipper.clip_file(files[0], files[2], **arguments)
    assert files[2].read_bytes() == files[1].read_bytes()
    assert clipper.clip_in_place(files[3], **arguments) == counts
    assert files[3].read_bytes() == files[1].read_bytes()
    expected = load(files[1])
    assert_same_bits(clipper.clip(x, **arguments), expected.view(dtype_of(arguments.get("to", name))))


def test_files(tmp_path):
    path, out = tmp_path / "x.npy", tmp_path / "y.npy"
    np.save(path, np.array([-1.0, 2.5, 300]))
    assert clipper.clip_file(path, out, to=np.uint8) == (3, 1, 1, 0, True, 0, 0, 0, 0, 0, ())
    assert_same_bits(np.load(out), np.array([0, 2, 255], np.uint8))
    before = path.read_bytes()
    with pytest.raises(clipper.ClipperError, match="direct") as caught:
        clipper.clip_in_place(path, to="uint8", direct=True)
    assert caught.value.kind == "usage" and path.read_bytes() == before
    clipper.clip_in_place(path, 0, replace_below=-7, round="floor")
    assert_same_bits(np.load(path), np.array([-7.0, 2, 300]))
    clipper.clip_in_place(path, scale=clipper.reciprocal(10), to=ml_dtypes.bfloat16)
    clipper.assert_same(path, np.array([-0.7, 0.2, 30], ml_dtypes.bfloat16))
    np.savez(tmp_path / "a.npz", w=np.array([1.5, 9]), v=np.arange(3))
    clipper.clip_file(tmp_path / "a.npz", tmp_path / "b.npz", members=["w"], to="int8")
    with np.load(tmp_path / "b.npz") as archive:
        assert_same_bits(archive["w"], np.array([2, 9], np.int8))
        assert archive["v"].dtype == np.int64


def test_another_dtype_in_place():
    x = np.arange(4, dtype="f4")
    error = error_of(x, to="uint8", out=x)
    assert (error.kind, error.field) == ("usage", "out") and isinstance(error, ValueError)
    assert str(error) == "out is x, whose elements cannot become uint8 in the same memory"
    assert clipper.clip(x, max=2, to="float32", out=x) is x
    np.testing.assert_array_equal(x, [0, 1, 2, 2])
