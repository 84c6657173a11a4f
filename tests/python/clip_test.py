"""clip() of arrays: layouts, out, arguments, errors."""

import itertools
import pickle
import threading

import clipper
import ml_dtypes
import numpy as np
import pytest
from conftest import DTYPES, FLOATS, assert_same_bits, dtype_of, save


def error_of(*arguments, **options):
    with pytest.raises(clipper.ClipperError) as caught:
        clipper.clip(*arguments, **options)
    return caught.value


def sample(shape, dtype, seed=1):
    size = int(np.prod(shape))
    values = np.random.default_rng(seed).integers(0, 120, size) / (2 if dtype in FLOATS else 1)
    return values.astype(dtype_of(dtype)).reshape(shape)


LAYOUTS = {
    "C": lambda x: x.copy(),
    "Fortran": lambda x: np.array(x, order="F"),
    "other axes": lambda x: x.transpose(1, 2, 0).copy().transpose(2, 0, 1),
    "steps": lambda x: np.repeat(x, 3, axis=2)[..., ::3],
    "rows apart": lambda x: np.concatenate([x, x], axis=2)[..., : x.shape[2]],
    "backwards": lambda x: x[::-1, :, ::-1].copy()[::-1, :, ::-1],
    "unaligned": lambda x: np.frombuffer(bytearray(b"\0" + x.tobytes()), np.uint8)[1:].view(x.dtype).reshape(x.shape),
    "read-only": lambda x: np.frombuffer(x.tobytes(), np.uint8).view(x.dtype).reshape(x.shape),
    "big-endian": lambda x: x if x.dtype.kind == "V" else x.astype(x.dtype.newbyteorder(">")),
}


PAIRS = [
    ("float32", "uint8"), ("uint8", "float64"), ("int16", "bfloat16"), ("bfloat16", "int32"), ("float64", "float32"),
    ("float16", "int64"), ("uint64", "float16"), ("int8", "uint8"), ("float32", "int32"),
]  # fmt: skip


def in_order_of(x, to):
    """The result's dtype: bfloat16 and what becomes of bytes have this machine's byte order."""
    is_big = x.dtype.byteorder == ">" and to != "bfloat16" and dtype_of(to).itemsize > 1
    return dtype_of(to).newbyteorder(">") if is_big else dtype_of(to)


def test_mask_says_in_which_elements_figures_are_found():
    x = np.float32([[1, 2, 3, 100], [-5, 6, 70, 8]])
    mask = np.array([[1, 1, 1, 0], [0, 1, 0, 1]], bool)
    right = np.minimum(x, np.float32(8))
    for given in (mask, mask.tolist(), mask.astype("f4"), np.asfortranarray(mask)):
        assert_same_bits(clipper.clip(x, max="100%", mask=given), right)
        assert_same_bits(clipper.clip(np.asfortranarray(x), max="100%", mask=given), np.asfortranarray(right))
    assert_same_bits(clipper.clip(x, subtract="max", per_axis=0, mask=mask[:, ::-1][:, ::-1]), x - np.float32([[3], [8]]))
    with pytest.raises(clipper.ClipperError, match="must broadcast"):
        clipper.clip(x, max="1%", mask=mask[:, :3])
    with pytest.raises(clipper.ClipperError, match="mask requires"):
        clipper.clip(x, 0, mask=mask)


def test_max_norm_scales_elements_down():
    x = np.float64([[3, 4], [0, -1]])
    for given in (2, "2", 2.0, np.int8(2), None):
        assert_same_bits(clipper.clip(x, max_norm=2.5, norm=given, per_axis=0), np.float64([[1.5, 2], [0, -1]]))
    for given in (np.inf, "inf"):
        assert_same_bits(clipper.clip(x, 0, max_norm=2, norm=given), np.float64([[1.5, 2], [0, 0]]))
    assert_same_bits(clipper.clip(x, max_norm=4, norm=1, out=x), x)
    assert_same_bits(x, np.float64([[1.5, 2], [0, -0.5]]))
    for given in ({"norm": 3}, {"norm": 2, "max_norm": None}, {"max_norm": np.ones(2)}, {"max_norm": -1}):
        with pytest.raises(clipper.ClipperError, match="norm"):
            clipper.clip(x, **{"max_norm": 1, **given})


@pytest.mark.parametrize("name, to", [(name, None) for name in DTYPES] + PAIRS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, name, to):
    x = sample((3, 4, 5), name)
    expected = np.clip(x.astype(float), 20, 40)
    expected = (expected if (to or name) in FLOATS else np.rint(expected)).astype(dtype_of(to or name))
    options = {"to": to} if to else {}
    given = LAYOUTS[layout](x)
    before = given.copy()
    lo, hi = (np.full((4, 1), bound, given.dtype) for bound in (20, 40))
    for bounds in [(20, 40), ("20", "40"), (lo, hi), (lo, 40), (np.full(x.shape, 20, given.dtype), hi)]:
        result = clipper.clip(given, *bounds, **options)
        assert result.dtype == (in_order_of(given, to) if to else given.dtype)
        assert result.flags.writeable and result.flags.owndata and type(result) is np.ndarray
        assert_same_bits(result.astype(expected.dtype), expected)
        for out_layout in set(LAYOUTS) - {"read-only"}:
            out = LAYOUTS[out_layout](np.zeros_like(expected))
            assert clipper.clip(given, *bounds, **options, out=out) is out
            assert_same_bits(out.astype(expected.dtype), expected)
    np.testing.assert_array_equal(given.astype(float), before.astype(float))
    if given.flags.writeable and not to:
        assert clipper.clip(given, 20, 40, out=given) is given
        assert_same_bits(given.astype(x.dtype), expected)


@pytest.mark.parametrize("shape", [(1000, 1000), (2, 3, 100_000), (700_000,), (1, 600_000), (600_000, 1)])
def test_large_arrays_with_gaps(shape):
    x = np.random.default_rng(1).normal(size=(*shape[:-1], 2 * shape[-1]))[..., ::2]
    for given in (x, x.T, x[::-1]):
        expected = np.clip(given, -1, 1)
        np.testing.assert_array_equal(clipper.clip(given, -1, 1), expected)
        np.testing.assert_array_equal(clipper.clip(given, "-1", "1"), expected)
        np.testing.assert_array_equal(clipper.clip(given, np.full(given.shape, -1.0), 1), expected)
        out = np.empty(given.shape)
        clipper.clip(given, -1, 1, out=out)
        np.testing.assert_array_equal(out, expected)
    x[(-1,) * x.ndim] = np.nan
    last = x.size - 1
    assert str(last) in str(error_of(x, nan="error"))
    clipper.clip(x, -1, 1, out=x)
    np.testing.assert_array_equal(x, np.clip(x, -1, 1))


def test_memory_order_is_kept():
    for order in "CF":
        x = np.zeros((3, 4), order=order)
        assert clipper.clip(x, 0).strides == x.strides
        assert clipper.clip(x, to="int8").flags[f"{order}_CONTIGUOUS"]
    x = np.zeros((2, 3, 4)).transpose(1, 2, 0)
    assert clipper.clip(x, 0).strides == x.strides


@pytest.mark.parametrize("step", [1, -1, 2, -2])
@pytest.mark.parametrize("shift", range(-4, 5))
def test_overlapping_out_is_as_if_x_were_copied(shift, step):
    memory = np.arange(64, dtype=np.int32)
    x, out = memory[16:32][::step], memory[16 + shift : 32 + shift][::step]
    expected = np.clip(x, 18, 28)
    clipper.clip(x, 18, 28, out=out)
    np.testing.assert_array_equal(out, expected)
    memory = np.arange(64, dtype=np.int32)
    x, out = memory[16:32], memory[16 + shift : 32 + shift][::-1]
    expected = np.clip(x, 18, 28)
    clipper.clip(x, np.full(16, 18, np.int32), 28, out=out)
    np.testing.assert_array_equal(out, expected)


def test_bounds_that_overlap_out():
    for shift in range(-3, 4):
        x, memory = np.arange(20.0), np.arange(40.0)[::-1].copy()
        lo, out = memory[10:30], memory[10 + shift : 30 + shift]
        expected = np.maximum(x, lo)
        clipper.clip(x, lo, out=out)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 0, 2)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_elements(shape, dtype):
    x = np.zeros(shape, dtype_of(dtype))
    for bounds in [(0, 6), (np.zeros(shape, x.dtype), None)]:
        assert_same_bits(clipper.clip(x, *bounds), x)
        assert clipper.clip(x, *bounds, out=x) is x
    error_of(np.zeros(0), 3, 2)
    assert_same_bits(clipper.clip(x, nan="error"), x)


def test_scalars_and_lists():
    assert clipper.clip(np.float32(7), max=6) == np.float32(6)
    assert isinstance(clipper.clip(np.float32(7), max=6), np.float32)
    assert isinstance(clipper.clip(np.array(7), max=6), np.int64)
    assert clipper.clip(7, max=6) == 6
    np.testing.assert_array_equal(clipper.clip([[1, 2], [3, 4]], 2, 3), [[2, 2], [3, 3]])
    out = np.array(0.0)
    assert clipper.clip(7.0, max=6, out=out) is out


def test_subclasses():
    class Own(np.ndarray):
        pass

    assert type(clipper.clip(np.array([[1, 2]]).view(Own), 2)) is Own
    with pytest.raises(TypeError, match="mask"):
        clipper.clip(np.ma.array([1, 2], mask=[0, 1]), 2)


def test_bfloat16():
    x = np.array([-1, 0.1, 7], ml_dtypes.bfloat16)
    expected = np.array([0, 0.1, 6], ml_dtypes.bfloat16)
    assert_same_bits(clipper.clip(x, 0, 6), expected)
    for raw in (x.view(np.uint16), x.view(np.int16), x.view("V2")):
        result = clipper.clip(raw, 0, 6, dtype="bfloat16")
        assert result.dtype == raw.dtype
        assert_same_bits(result.view(ml_dtypes.bfloat16), expected)
        clipper.clip(raw.copy(), 0, 6, dtype=ml_dtypes.bfloat16, out=result)
        for other in ("u2", "i2", "V2", ml_dtypes.bfloat16):
            out = np.zeros(6, other)[::2]
            assert_same_bits(clipper.clip(raw, 0, 6, dtype="bfloat16", out=out).view(ml_dtypes.bfloat16), expected)
    assert 'dtype="bfloat16"' in str(error_of(x.view("V2"), 0))
    assert clipper.clip(x, ml_dtypes.bfloat16(0), 6)[0] == 0
    assert error_of(x, dtype="float16").field == "dtype"


@pytest.mark.parametrize("bound", [2**63 - 2, 2**53 + 1, -(2**63) + 1, 3])
def test_integers_are_exact(bound):
    x = np.array([-(2**63), 2**63 - 1, 0])
    for given in (bound, str(bound), np.int64(bound)):
        np.testing.assert_array_equal(clipper.clip(x, max=given), np.minimum(x, np.int64(bound)))


def test_large_integers():
    x = np.array([1.0, 1e300])
    np.testing.assert_array_equal(clipper.clip(x, max=10**200), [1, 1e200])
    np.testing.assert_array_equal(clipper.clip(x, -(10**5000), 10**5000), x)
    np.testing.assert_array_equal(clipper.clip(np.array([2**64 - 1], np.uint64), max=2**64 - 2), [2**64 - 2])
    assert clipper.clip(np.array([5]), True, max=4) == 4


def test_many_bounds_are_not_confused():
    x = np.linspace(-3, 3, 13)
    for _ in range(2):
        for lo in range(-40, 40):
            np.testing.assert_array_equal(clipper.clip(x, lo / 16), np.maximum(x, lo / 16))
            np.testing.assert_array_equal(clipper.clip(x, max=lo / 16), np.minimum(x, lo / 16))
            y = x.astype("f4")
            np.testing.assert_array_equal(clipper.clip(y, lo / 16), np.maximum(y, np.float32(lo / 16)))
    assert clipper.clip(np.array([0.5]), 1)[0] == 1 and clipper.clip(np.array([0.5]), 1.0, scale=2)[0] == 1
    np.testing.assert_array_equal(clipper.clip(np.zeros(2), -0.0), np.zeros(2))


def result_of(x, *bounds, **arguments):
    """The result, or the text of the error."""
    try:
        return clipper.clip(x, *bounds, **arguments)
    except clipper.ClipperError as error:
        return str(error)


@pytest.mark.parametrize("name", DTYPES)
def test_arrays_as_bounds_are_the_same_read_directly(name):
    """nan="keep", the default, makes clip() prepare a request for the arrays instead of reading them directly."""
    random = np.random.default_rng(5)
    make = lambda *shape: random.integers(0, 60, shape).astype(dtype_of(name))
    swapped = [] if name == "bfloat16" else [make(4).astype(dtype_of(name).newbyteorder(">"))]
    cubic = [make(6, 5, 4), np.asfortranarray(make(6, 5, 4)), make(5, 4, 6).transpose(2, 0, 1)]
    cubic.append(make(6, 5, 8)[:, :, ::2])
    long = [make(3, 5000), make(5000), make(1)]
    others = [np.array(7, dtype_of(name)), make(1, 4), make(4), 9, None]
    arrays = cubic + long + others + swapped
    for x in cubic + long + swapped:
        for lo, hi in itertools.product(arrays, repeat=2):
            above = None if hi is None or isinstance(hi, int) else hi + dtype_of(name).type(60)
            for bounds in (lo, hi), (lo, above):
                expected = result_of(x, *bounds, nan="keep")
                found = result_of(x, *bounds)
                before = np.broadcast_to(x, np.shape(expected) or x.shape)
                out = before.copy()
                kept = result_of(x, *bounds, out=out)
                if isinstance(expected, str):
                    assert found == expected and (kept == expected or "the result has shape" in kept)
                    assert_same_bits(out, before)
                    continue
                assert_same_bits(found, expected)
                assert_same_bits(out, expected)


def test_refused_elements_of_arrays_read_directly():
    x = np.zeros((3, 4))
    lo = np.zeros((3, 4))
    lo[2, 1] = 5
    assert str(error_of(x, lo, 4)).startswith("min array (5) exceeds max 4 at [2, 1]; to allow this")
    lo[1, 3] = np.nan
    assert str(error_of(x, None, lo, out=x)) == "max array: NaN at [1, 3] cannot be a bound"
    assert str(error_of(x, np.array(5.0), np.array(4.0))).startswith("min array exceeds max array")
    np.testing.assert_array_equal(clipper.clip(x, np.full(x.shape, -0.0), lo.dtype.type(3)), x)


def test_percentiles_and_files_as_bounds(tmp_path):
    x = np.arange(101.0)[::-1].reshape(1, 101)
    np.testing.assert_array_equal(clipper.clip(x, "1%", "99%"), np.clip(x, 1, 99))
    np.testing.assert_array_equal(clipper.clip(x[:, ::2], "2%", None), np.clip(x[:, ::2], 2, None))
    np.save(tmp_path / "lo.npy", np.full(101, 7.0))
    for given in (f"@{tmp_path}/lo.npy", tmp_path / "lo.npy"):
        np.testing.assert_array_equal(clipper.clip(x, given), np.maximum(x, 7))
    assert error_of(x, "101%").field == "min"
    assert error_of(x, f"@{tmp_path}/missing.npy").kind == "io"


@pytest.mark.parametrize("order", ["C", "F", "step"])
def test_figures(order, tmp_path):
    x = np.random.default_rng(1).integers(1, 33, (3, 16, 50)).astype("f4")
    x = np.repeat(x, 2, 2)[:, :, ::2] if order == "step" else np.asarray(x, order=order)
    for axes, over in ((None, None), (1, (0, 2)), (-1, (0, 1)), ((0, 1), 2), ([0, -1], 1)):
        y = np.minimum(x, 20).astype("f8")
        expected = ((y - y.mean(over, keepdims=True)) / y.std(over, keepdims=True)).astype("f4")
        np.testing.assert_array_equal(clipper.clip(x, None, 20, subtract="mean", divide="std", per_axis=axes), expected)
        lo = np.percentile(x.astype("f8"), 50, over, keepdims=True).astype("f4")
        np.testing.assert_array_equal(clipper.clip(x, "50%", per_axis=axes), np.maximum(x, lo))
    y = x.astype("f8")
    median = np.median(y)
    np.testing.assert_array_equal(clipper.clip(y, max="median+3*1.4826*mad"), np.minimum(y, median + 3 * 1.4826 * np.median(abs(y - median))))
    np.testing.assert_array_equal(clipper.clip(x, divide="absmax/127", round="half-even", to="int8"), np.rint(y / (y.max() / 127)))
    np.savez(tmp_path / "a.npz", a=x[:1], b=x[1:])
    clipper.clip_file(tmp_path / "a.npz", tmp_path / "b.npz", subtract="min", divide="max", per_axis=1, pooled=True)
    y = x.astype("f8")
    np.testing.assert_array_equal(np.load(tmp_path / "b.npz")["b"], ((y - y.min((0, 2), keepdims=True)) / y.max((0, 2), keepdims=True)).astype("f4")[1:])
    mean, std = np.float64([0.485, 0.456, 0.406]), np.float64([0.229, 0.224, 0.225])
    image = np.float32(np.arange(24).reshape(2, 3, 4))
    expected = ((image.astype("f8") - mean[:, None]) / std[:, None]).astype("f4")
    np.testing.assert_array_equal(clipper.clip(image, subtract="0.485,0.456,0.406", divide="0.229,0.224,0.225", per_axis=1), expected)
    np.testing.assert_array_equal(clipper.clip(image, "1,9,3", per_axis=-2), np.maximum(image, np.float32([1, 9, 3])[:, None]))
    assert error_of(image, "1,9", per_axis=1).field == "min"
    assert error_of(x, subtract="meen").field == "subtract"
    assert error_of(x, subtract="mean", per_axis=3).field == "per_axis"
    with pytest.raises(TypeError, match="per_axis must be an int or a tuple of ints, not str"):
        clipper.clip(x, "1%", per_axis="1")


@pytest.mark.parametrize("request_, expected", [
    (dict(min=0, max=6, nodata=-9999), [-9999, 0, 2, 6, np.nan]),
    (dict(min=0, max=6, nodata=[-9999]), [-9999, 0, 2, 6, np.nan]),
    (dict(min=0, max=6, nodata=(np.float32(-9999), "nan"), nodata_to=-1), [-1, 0, 2, 6, -1]),
    (dict(min="50%", nodata=-9999), [-9999, 2, 2, 9, np.nan]),
    (dict(max=6, scale=10, nodata="-9999"), [-9999, -10, 6, 6, np.nan]),
    (dict(min=0, max=4, subtract="mean", nodata=(-9999, np.nan)), [-9999, -2, 0, 2, np.nan]),
    (dict(min=0, max=4, stretch=(0, 100), nodata=-9999, nodata_to=np.nan), [np.nan, 0, 50, 100, np.nan]),
    (dict(max=6, nodata=[-9999, np.nan], nodata_to=200, to="uint8"), [200, 0, 2, 6, 200]),
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["<f4", ">f8"])
def test_nodata(request_, expected, dtype):
    x = np.array([-9999, -1, 2, 9, np.nan], dtype)
    np.testing.assert_array_equal(clipper.clip(x, **request_), expected)
    np.testing.assert_array_equal(clipper.clip(np.repeat(x, 2)[::2], **request_), expected)


def test_mask_to():
    x = np.array([[1, 2, 9], [-5, np.nan, 7]])
    mask = x < 8
    np.testing.assert_array_equal(clipper.clip(x, 0, 6, mask=mask, mask_to=-1), [[1, 2, -1], [0, -1, 6]])
    np.testing.assert_array_equal(
        clipper.clip(x, max="mean", mask=mask.tolist(), mask_to="median/2", to="int8"), [[1, 1, 1], [-5, 1, 1]])
    np.testing.assert_array_equal(clipper.clip(x.T, 0, mask=False, mask_to=np.nan), np.full((3, 2), np.nan))
    groups = dict(max=6, mask=mask, mask_to="max", replace_above="median", nan="2*mean", per_axis=0)
    np.testing.assert_array_equal(clipper.clip(x, **groups), [[1, 2, 2], [-5, 7, 1]])
    assert error_of(x, mask_to=1).field == "mask_to"
    assert error_of(x, mask=mask, mask_to=300, to="uint8").field == "mask_to"


def test_nodata_that_is_refused():
    assert error_of(np.zeros(2), nodata="x").field == "nodata"
    assert error_of(np.zeros(2), nodata_to=1).field == "nodata_to"
    with pytest.raises(TypeError, match="nodata must be a number, or a list of numbers, not NoneType"):
        clipper.clip(np.zeros(2), nodata=[None])


def test_nan():
    x = np.array([np.nan, 1, 9])
    np.testing.assert_array_equal(clipper.clip(x, 2, 6), [np.nan, 2, 6])
    np.testing.assert_array_equal(clipper.clip(x, 2, 6, nan="min"), [2, 2, 6])
    np.testing.assert_array_equal(clipper.clip(x, 2, 6, nan="max"), [6, 2, 6])
    np.testing.assert_array_equal(clipper.clip(x, 2, 6, nan=5), [5, 2, 6])
    np.testing.assert_array_equal(clipper.clip(x, 2, 6, nan="5.5"), [5.5, 2, 6])
    for given in (x, x.astype("f4"), x[::-1][::-1], np.repeat(x, 2)[::2]):
        before = given.copy()
        assert error_of(given, 2, 6, nan="error", out=given).kind == "input"
        np.testing.assert_array_equal(given, before)
    with pytest.raises(clipper.ClipperError, match="0 \\* inf|NaN at element 1"):
        clipper.clip(np.array([1, np.inf]), scale=0, nan="error")


@pytest.mark.parametrize(
    "arguments, kind, field",
    [
        (dict(min="a"), "usage", "min"),
        (dict(max="1 "), "usage", "max"),
        (dict(min=3, max=2), "usage", "min"),
        (dict(min=float("nan")), "usage", "min"),
        (dict(scale="inf"), "usage", "scale"),
        (dict(bias=float("nan")), "usage", "bias"),
        (dict(profile="numpy-1"), "usage", "profile"),
        (dict(profile="onnx-14"), "usage", "profile"),
        (dict(profile="directml-5.0", min=0), "usage", "max"),
        (dict(nan="zero"), "usage", "nan"),
        (dict(nan="min"), "usage", "nan"),
        (dict(min_above_max="x"), "usage", "min_above_max"),
        (dict(dtype="float64"), "usage", "dtype"),
        (dict(dtype="complex64"), "usage", "dtype"),
        (dict(threads=-1), "usage", "threads"),
        (dict(threads=2**70), "usage", "threads"),
        (dict(max=np.zeros((2, 3), "f4")), "input", "max"),
        (dict(max=np.zeros((2, 4), "f4"), out=np.zeros(4, "f4")), "usage", "out"),
        (dict(max=np.full(4, np.nan)), "usage", "max"),
        (dict(out=np.zeros(4)), "usage", "out"),
        (dict(out=np.zeros((4, 1), "f4")), "usage", "out"),
        (dict(out=np.zeros((2, 4), "f4")), "usage", "out"),
        (dict(out=np.broadcast_to(np.float32(0), 4)), "usage", "out"),
        (dict(out=np.frombuffer(bytes(16), "f4")), "usage", "out"),
        (dict(to="complex64"), "usage", "to"),
        (dict(to=complex), "usage", "to"),
        (dict(to=bool), "usage", "to"),
        (dict(to="uint8", profile="onnx-13"), "usage", "to"),
        (dict(round="up"), "usage", "round"),
        (dict(round="half_even"), "usage", "round"),
        (dict(zero_point=1), "usage", "zero_point"),
        (dict(zero_point=1, to="float16"), "usage", "zero_point"),
        (dict(zero_point=1.5, to="int8"), "usage", "zero_point"),
        (dict(zero_point=200, to="int8"), "usage", "zero_point"),
        (dict(zero_point=np.full(4, 300), to="int8"), "usage", "zero_point"),
        (dict(saturate=True), "usage", "saturate"),
        (dict(replace_below=1), "usage", "replace_below"),
        (dict(replace_above=1), "usage", "replace_above"),
        (dict(min=0, replace_below=0.1), "usage", "replace_below"),
        (dict(min=0, replace_below=np.nan, to="int8"), "usage", "replace_below"),
        (dict(max=0, replace_above=256, to="uint8"), "usage", "replace_above"),
        (dict(min=300, to="uint8"), "usage", "min"),
        (dict(max=-1, to="uint8"), "usage", "max"),
        (dict(nan="keep", to="uint8"), "usage", "nan"),
        (dict(nan=300, to="uint8"), "usage", "nan"),
        (dict(scale=clipper.reciprocal(0)), "usage", "scale"),
        (dict(scale=clipper.reciprocal("1/2")), "usage", "scale"),
        (dict(scale="1/1/2"), "usage", "scale"),
        (dict(scale=clipper.reciprocal(np.zeros(3, "f4"))), "input", "scale"),
        (dict(to="uint8", out=np.zeros(4, "f4")), "usage", "out"),
        (dict(to="uint8", out=np.zeros(3, "u1")), "usage", "out"),
        (dict(out=np.zeros(4, "u1")), "usage", "out"),
    ],
)
def test_errors_name_the_argument(arguments, kind, field):
    x = np.arange(4, dtype="f4")
    error = error_of(x, **arguments)
    assert (error.kind, error.field) == (kind, field)
    assert field in str(error) and "\n" not in str(error) and "--" not in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    np.testing.assert_array_equal(x, np.arange(4))


@pytest.mark.parametrize(
    "arguments, field",
    [
        (dict(min=["1"]), "min"),
        (dict(max=1j), "max"),
        (dict(scale=b"1"), "scale"),
        (dict(nan=[1]), "nan"),
        (dict(profile=1), "profile"),
        (dict(min_above_max=1), "min_above_max"),
        (dict(out=[1.0]), "out"),
        (dict(threads="2"), "threads"),
        (dict(threads=1.0), "threads"),
        (dict(max=np.longdouble(1)), "max"),
        (dict(minimum=1), "clip"),
        (dict(to=3), "to"), (dict(to=[1]), "to"), (dict(round=1), "round"), (dict(saturate=1), "saturate"),
        (dict(saturate=None), "saturate"), (dict(zero_point={}, to="int8"), "zero_point"),
        (dict(min=0, replace_below=b"1"), "replace_below"), (dict(scale=clipper.reciprocal(None)), "scale"),
        (dict(scale=clipper.reciprocal(clipper.reciprocal(2))), "scale"), (dict(min=clipper.reciprocal(2)), "min"),
        (dict(scale=("2",)), "scale"),
    ],
)  # fmt: skip
def test_wrong_types(arguments, field):
    with pytest.raises(TypeError, match=field):
        clipper.clip(np.zeros(1), **arguments)


@pytest.mark.parametrize("dtype", [bool, complex, object, "M8[s]", "m8[s]", "S3", "U3", "V3", "g", [("a", "f4")]])
def test_refused_dtypes(dtype):
    error = error_of(np.zeros(3, dtype), 0)
    assert (error.kind, error.field) == ("input", "x")


def test_ranks():
    x = np.zeros((1,) * 64)
    assert clipper.clip(x, 1).shape == x.shape
    low = np.ones((3,) + (1,) * 39 + (2,))
    assert clipper.clip(np.zeros(2), low).shape == low.shape
    assert clipper.clip(np.zeros((4, 1, 1)), low).shape == (3,) + (1,) * 37 + (4, 1, 2)
    assert "min" in str(error_of(np.zeros(5), low))
    assert error_of(np.zeros((2, 2), "f4"), 0, 1, profile="directml-1.0").kind == "input"
    x = np.zeros((1, 1, 2, 2), "f4")
    assert clipper.clip(x, 1, 2, profile="directml-1.0").max() == 1


@pytest.mark.parametrize("layout", ["C", "gaps", "unaligned", "large"])
def test_many_threads_of_python(layout):
    """With more bounds than prepared requests are remembered, so that threads replace those of others."""
    x = np.random.default_rng(1).normal(size=2_000_000 if layout == "large" else 100_000)
    bounds = [(i + 1) / 256 for i in range(600)]
    if layout == "gaps":
        x = np.repeat(x, 2)[::2]
    if layout == "unaligned":
        x = np.frombuffer(b"\0" * 4 + x.tobytes(), np.uint8)[4:].view(float)
    wrong = []

    def work(number):
        for i in range(20 if layout == "large" else 200):
            bound = bounds[(i * 7 + number * 31) % len(bounds)]
            result = clipper.clip(x, -bound, bound, threads=(0, 2, 3)[number % 3])
            if result.min() != -bound or result.max() != bound:
                wrong.append(bound)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("dtype", ["f4", "i2", "u8"])
def test_percentiles_are_those_of_x_not_of_what_it_is_broadcast_to(dtype):
    x, lows = np.array([1, 9, 10], dtype), np.zeros((3, 1), dtype)
    expected = np.repeat(np.clip(x, None, x.dtype.type(np.percentile(x, 25)))[None], 3, 0)
    assert_same_bits(clipper.clip(x, lows, "25%"), expected)
    with pytest.raises(clipper.ClipperError, match="max: a percentile beside scale, bias or nodata needs an x that has the shape of the result"):
        clipper.clip(x, lows, "25%", scale=2)
    mask = np.array([1, 1, 0], bool)
    for options in ({"subtract": "mean", "round": "floor"}, {"scale": 2}):
        wide = clipper.clip(np.broadcast_to(x, (3, 3)), lows, "100%", mask=mask, **options)
        assert_same_bits(clipper.clip(x, lows, "100%", mask=mask, **options), wide)


@pytest.mark.parametrize("options", [{}, {"to": "float64"}, {"to": "int32"}, {"to": "float32", "min_above_max": "max"}, {"to": "float64", "subtract": 2**53 + 1}])
@pytest.mark.parametrize("dtype", ["u1", "i8", "f2", "f4"])
@pytest.mark.parametrize("kind", [*DTYPES, "float8_e4m3fn"])
def test_arrays_of_every_dtype_are_bounds_as_for_the_program(kind, dtype, options, program, tmp_path):
    x = np.array([0, 1, 2, 3, 7, 100, 101], dtype)
    low, high = (np.array(each).astype(dtype_of(kind)) for each in ([0, 1.5, 0, 2.5, 3, 2, 0], [1, 2, 1.25, 5, 6.75, 112, 6]))
    for name, array in (("x", x), ("low", low), ("high", high)):
        if kind == "float8_e4m3fn" and name != "x":
            array = array.astype("f4")
        save(tmp_path / f"{name}.npy", array)
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    status, message = program("-q", "--min", f"@{tmp_path / 'low.npy'}", "--max", f"@{tmp_path / 'high.npy'}", *words, tmp_path / "x.npy", tmp_path / "y.npy")
    assert status == 0, message
    assert_same_bits(clipper.clip(x, low, high, **options), np.load(tmp_path / "y.npy"))


@pytest.mark.parametrize("kind", [bool, "M8[s]", "m8[s]", "c8", object])
@pytest.mark.parametrize("options", [{}, {"to": "float64"}])
def test_arrays_of_other_kinds_are_no_bounds(kind, options):
    bounds = np.zeros(3, kind)
    for given in (bounds, bounds.tolist()) if kind is bool else (bounds,):
        with pytest.raises((clipper.ClipperError, TypeError), match="min"):
            clipper.clip(np.arange(3), given, **options)
