"""Random arrays and bounds: clip() does what np.clip and the program do."""

import warnings

import clipper
import ml_dtypes
import numpy as np
import pytest
from conftest import DTYPES, FLOATS, assert_same_bits, bits, dtype_of, load, save
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hynp

settings.register_profile("here", deadline=None, derandomize=True, database=None, print_blob=True)
settings.load_profile("here")


def elements(dtype, allow_nan=True):
    """Any bits of the dtype."""
    bits_of = hynp.from_dtype(np.dtype(f"u{dtype_of(dtype).itemsize}"))
    any_bits = bits_of.map(lambda x: x.view(dtype_of(dtype)))
    small = st.integers(-3, 3) if dtype in FLOATS or dtype.startswith("int") else st.integers(0, 3)
    numbers = any_bits | small.map(lambda x: dtype_of(dtype).type(x))
    return numbers if allow_nan else numbers.filter(lambda x: not x != x)


@st.composite
def arrays(draw, dtype, shape, allow_nan=True):
    size = int(np.prod(shape))
    values = draw(st.lists(elements(dtype, allow_nan), min_size=size, max_size=size))
    array = np.array(values, dtype_of(dtype)).reshape(shape)
    array = np.array(array, order=draw(st.sampled_from("CF")))
    if draw(st.booleans()) and array.ndim:
        array = np.repeat(array, 2, axis=draw(st.integers(0, array.ndim - 1)))[tuple([slice(None)] * array.ndim)]
        steps = [slice(None, None, 2 if n != m else None) for n, m in zip(array.shape, shape, strict=True)]
        array = array[tuple(steps)]
    if draw(st.booleans()) and array.ndim:
        array = array[::-1]
    return array


@st.composite
def cases(draw, nan_bounds=False):
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(hynp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6))
    x = draw(arrays(dtype, shape))
    bounds = []
    for _ in range(2):
        kind = draw(st.sampled_from(["none", "scalar", "array"]))
        if kind == "none":
            bounds.append(None)
        elif kind == "scalar":
            bounds.append(draw(elements(dtype, nan_bounds)))
        else:
            own = shape[draw(st.integers(0, len(shape))) :]
            own = tuple(draw(st.sampled_from([size, 1])) for size in own)
            bounds.append(draw(arrays(dtype, own, nan_bounds)))
    return x, *bounds


def expected_of(x, lo, hi):
    """x < lo ? lo : x, then > hi ? hi, as np.clip with two bounds; an element that is kept keeps its bits."""
    wide = np.float64 if x.dtype.kind in "fV" and x.dtype.itemsize < 8 else x.dtype
    y = x.copy(order="C")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if lo is not None:
            y = np.where(y.astype(wide) < np.asarray(lo).astype(wide), np.asarray(lo, x.dtype), y)
        if hi is not None:
            y = np.where(y.astype(wide) > np.asarray(hi).astype(wide), np.asarray(hi, x.dtype), y)
    return y.reshape(x.shape)


@settings(max_examples=1000)
@given(cases(), st.booleans())
def test_as_numpy(case, in_place):
    x, lo, hi = case
    expected = expected_of(x, lo, hi)
    if in_place and x.flags.writeable:
        result = clipper.clip(x, lo, hi, out=x, min_above_max="max")
        assert result is x
    else:
        before = x.copy()
        result = np.asarray(clipper.clip(x, lo, hi, min_above_max="max"), x.dtype)
        assert_same_bits(x, before)
    assert_same_bits(result, expected)


@settings(max_examples=1000)
@given(cases(nan_bounds=True))
def test_as_np_clip(case):
    x, lo, hi = case
    if x.dtype.kind == "V":
        return
    # np.clip may give either zero if x and a bound are zeros of different sign, and either NaN if both are NaN.
    expected = np.clip(x, lo, hi)
    result = np.asarray(clipper.clip(x, lo, hi, profile="numpy-2"))
    assert result.dtype == expected.dtype and result.shape == expected.shape
    np.testing.assert_array_equal(result, expected)
    same = (bits(result) == bits(expected)) | (result == 0) | np.isnan(result)
    assert same.all()


numbers = st.one_of(
    st.integers(-300, 300),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True, width=64),
    st.floats(-10, 10).map(lambda x: f"{x:.30g}"),
    st.sampled_from(["1e400", "-1e400", "0x1.8p1", "inf", "nan", "25%", "99.9%", "-0", ""]),
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_as_the_program(data, program, tmp_path):
    """The same bytes or the same refusal, for every profile."""
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = data.draw(hynp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4))
    x = np.ascontiguousarray(data.draw(arrays(dtype, shape))).reshape(shape)
    options = {"profile": data.draw(st.sampled_from(clipper.profiles()))}
    for name in ("min", "max", "scale", "bias"):
        if data.draw(st.sampled_from([True, False, False] if name in ("scale", "bias") else [True, True, False])):
            options[name] = data.draw(numbers)
    if data.draw(st.booleans()):
        options["nan"] = data.draw(st.sampled_from(["keep", "error", "min", "max", 0, 1.5]))
    if data.draw(st.booleans()):
        options["min_above_max"] = data.draw(st.sampled_from(["error", "min", "max"]))
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    save(tmp_path / "in.npy", x)
    (tmp_path / "out.npy").unlink(missing_ok=True)
    status, message = program(*words, tmp_path / "in.npy", tmp_path / "out.npy")
    try:
        result = np.empty_like(x)
        clipper.clip(x, out=result, **options)
    except clipper.ClipperError as error:
        kinds = {2: "usage", 3: "input"}
        assert status in kinds, (words, error)
        assert error.kind == kinds[status], (message, error)
        return
    if status != 0:
        # The program refuses to do nothing.
        assert "does nothing" in message or "no effect" in message or "nothing to do" in message, (words, message)
        return
    assert_same_bits(load(tmp_path / "out.npy"), result)


def test_bfloat16_is_compared_as_float():
    x = np.array([1, 2, 3], ml_dtypes.bfloat16)
    assert_same_bits(expected_of(x, x.dtype.type(2), None), np.array([2, 2, 3], x.dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0, 1, 7, 31, 32, 33, 63, 64, 65, 127, 1000, 8191, 70_001, 3_000_001])
def test_sizes(dtype, size):
    raw = np.random.default_rng(size).integers(0, 256, size * dtype_of(dtype).itemsize, np.uint8)
    x = raw.view(dtype_of(dtype))
    lo, hi = (dtype_of(dtype).type(bound) for bound in (3, 90))
    expected = expected_of(x, lo, hi)
    for threads in (0, 1, 2, 3):
        assert_same_bits(clipper.clip(x, lo, hi, threads=threads), expected)
    clipper.clip(x, lo, hi, out=x)
    assert_same_bits(x, expected)
