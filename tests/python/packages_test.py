"""clip() of the tensors of other packages. scripts/nightly also tries torch."""

import array
import ctypes

import clipper
import dask.array
import ml_dtypes
import numpy as np
import pandas
import pytest
import xarray
import zarr

VALUES = np.random.default_rng(1).normal(0, 5, (60, 70)).astype(np.float32)
CLIPPED = np.clip(VALUES, 0, 6)


def test_dask_blocks():
    lazy = dask.array.from_array(VALUES, chunks=(20, 30))
    for scheduler in ("threads", "processes"):
        result = lazy.map_blocks(clipper.clip, 0, 6, dtype=np.float32).compute(scheduler=scheduler)
        np.testing.assert_array_equal(result, CLIPPED)
    lower = dask.array.from_array(VALUES[0], chunks=30)
    result = dask.array.map_blocks(clipper.clip, lazy, lower, max=6, dtype=np.float32, min_above_max="max").compute()
    np.testing.assert_array_equal(result, np.clip(VALUES, VALUES[0], 6))
    result = lazy.map_blocks(clipper.clip, scale=10, to="int8", dtype=np.int8).compute()
    np.testing.assert_array_equal(result, np.rint(VALUES * np.float32(10)).clip(-128, 127).astype(np.int8))


def test_xarray():
    named = xarray.DataArray(VALUES, dims=("y", "x"), attrs={"units": "K"}, name="temperature")
    result = xarray.apply_ufunc(clipper.clip, named, 0, 6, keep_attrs=True)
    assert result.dims == named.dims and result.attrs == named.attrs and result.name == named.name
    np.testing.assert_array_equal(result.values, CLIPPED)
    lazy = xarray.apply_ufunc(clipper.clip, named.chunk({"y": 7}), kwargs={"min": 0, "max": 6}, dask="parallelized", output_dtypes=[np.float32])
    np.testing.assert_array_equal(lazy.compute().values, CLIPPED)
    lower = xarray.DataArray(VALUES[:, 0], dims="y")
    result = xarray.apply_ufunc(clipper.clip, named, lower, kwargs={"min_above_max": "max", "max": 6})
    np.testing.assert_array_equal(result.values, np.clip(VALUES, VALUES[:, :1], 6))
    direct = clipper.clip(named, 0, 6)
    assert isinstance(direct, xarray.DataArray) and direct.dims == named.dims
    np.testing.assert_array_equal(direct.values, CLIPPED)
    assert isinstance(clipper.clip(named, np.zeros_like(VALUES), 6), xarray.DataArray)
    clipper.clip(named.copy(), 0, 6, out=named)
    np.testing.assert_array_equal(named.values, CLIPPED)


def test_zarr_chunks(tmp_path):
    stored = zarr.create_array(tmp_path / "x.zarr", shape=VALUES.shape, chunks=(16, 16), dtype="f4")
    stored[:] = VALUES
    np.testing.assert_array_equal(clipper.clip(stored, 0, 6), CLIPPED)
    for row in range(0, 60, 16):
        for column in range(0, 70, 16):
            part = np.s_[row : row + 16, column : column + 16]
            stored[part] = clipper.clip(stored[part], 0, 6)
    np.testing.assert_array_equal(stored[:], CLIPPED)


def test_pandas():
    series = pandas.Series(VALUES[0], index=range(70, 140), name="x")
    pandas.testing.assert_series_equal(clipper.clip(series, 0, 6), np.clip(series, 0, 6))
    frame = pandas.DataFrame(VALUES, columns=range(7, 7 + len(VALUES[0])))
    pandas.testing.assert_frame_equal(clipper.clip(frame, 0, 6), np.clip(frame, 0, 6))
    pandas.testing.assert_series_equal(clipper.clip(series, np.zeros_like(VALUES[0])), np.clip(series, 0, None))
    assert clipper.clip(series, 0, 6, to="uint8").dtype == np.uint8
    assert type(clipper.clip(series, 0, 6, out=np.empty_like(VALUES[0]))) is np.ndarray
    assert type(clipper.clip(series, np.zeros((2, 70)))) is np.ndarray
    lower = pandas.Series([-1, 0, 1])
    np.testing.assert_array_equal(clipper.clip(np.float32([-5, -5, 5]), min=lower), [-1, 0, 5])
    np.testing.assert_array_equal(series.to_frame().apply(clipper.clip, args=(0, 6))["x"], CLIPPED[0])
    with pytest.raises((TypeError, clipper.ClipperError), match="out"):
        clipper.clip(series, 0, out=series)  # pandas shares its memory read-only


class Exporter:
    """Has nothing but DLPack."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_dlpack():
    result = clipper.clip(Exporter(VALUES), 0, 6)
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, CLIPPED)
    np.testing.assert_array_equal(clipper.clip(VALUES, Exporter(VALUES[0]), profile="numpy-2"), np.maximum(VALUES, VALUES[0]))
    out = Exporter(np.zeros_like(VALUES))
    assert clipper.clip(VALUES, 0, 6, out) is out
    np.testing.assert_array_equal(out.values, CLIPPED)
    assert clipper.clip(out, 1, 5, out=out) is out
    np.testing.assert_array_equal(out.values, np.clip(VALUES, 1, 5))


class OfMlDtypes(Exporter):
    """As torch's tensors of dtypes that numpy does not have."""

    def __init__(self, values, code):
        super().__init__(values)
        self.code = code

    def __array__(self, *_, **__):
        raise TypeError("Got unsupported ScalarType")

    def __dlpack__(self, **_):
        capsule = self.values.view(f"u{self.values.itemsize}").__dlpack__(max_version=(1, 0))
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        ctypes.c_uint8.from_address(pointer(capsule, b"dltensor_versioned") + 52).value = self.code
        return capsule


@pytest.mark.parametrize("name, code", [("bfloat16", 4), ("float8_e4m3fn", 10), ("float8_e5m2", 12), ("float8_e8m0fnu", 14)])
def test_dlpack_of_dtypes_of_ml_dtypes(name, code):
    values = np.array([1, 2, 8], getattr(ml_dtypes, name))
    tensor, out = OfMlDtypes(values, code), OfMlDtypes(np.zeros_like(values), code)
    result = clipper.clip(tensor, 2, 4)
    assert result.dtype == values.dtype and result.tolist() == [2, 2, 4]
    assert clipper.clip(tensor, 2, 4, out=out) is out and out.values.tolist() == [2, 2, 4]
    assert clipper.clip(values, max=out).tolist() == [1, 2, 4]
    clipper.assert_same(tensor, values)
    assert clipper.compare(tensor, out).mismatches == 2
    with pytest.raises(Exception, match="type|DLTensor"):
        clipper.clip(OfMlDtypes(values, 99), 0)


def test_memory_of_other_objects_as_out():
    memory = array.array("f", [-1, 3, 9])
    assert clipper.clip(memory, 0, 6, out=memory) is memory and memory.tolist() == [0, 3, 6]
    raw = bytearray(3)
    assert clipper.clip(np.array([1, 200, 3], np.uint8), 2, 100, out=raw) is raw and raw == bytes([2, 100, 3])
    with pytest.raises(TypeError, match="out must be a numpy array, or share its memory .* list does not"):
        clipper.clip(memory, 0, out=[0.0] * 3)


@pytest.mark.nightly
def test_torch():
    import torch

    for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64):
        tensor = (torch.arange(-20, 20).reshape(5, 8) if dtype != torch.uint8 else torch.arange(40).reshape(5, 8)).to(dtype)
        expected = torch.clamp(tensor, 3, 6)
        result = clipper.clip(tensor, 3, 6)
        assert type(result) is np.ndarray
        np.testing.assert_array_equal(result, expected.numpy())
        np.testing.assert_array_equal(clipper.clip(tensor.T, 3, 6), expected.numpy().T)
        out = torch.zeros_like(tensor)
        assert clipper.clip(tensor, 3, 6, out=out) is out and torch.equal(out, expected)
        out = torch.zeros(8, 5, dtype=dtype).T
        assert clipper.clip(tensor, 3, 6, out) is out and torch.equal(out, expected)
        assert clipper.clip(tensor, 3, 6, out=tensor) is tensor and torch.equal(tensor, expected)
        np.testing.assert_array_equal(clipper.clip(np.zeros(8, result.dtype), expected[0], expected[0]), expected[0].numpy())
    names = [name for name in dir(torch) if name.startswith(("bfloat16", "float8_"))]
    assert len(names) >= 6
    for dtype in (getattr(torch, name) for name in names):
        tensor = torch.tensor([1.0, 2, 8]).to(dtype)
        assert clipper.clip(tensor, 2, 4).tolist() == [2, 2, 4]
        clipper.clip(torch.tensor([1.0, 2, 8]), to=dtype, out=(out := torch.zeros(3).to(dtype)))
        clipper.assert_same(out, tensor)
        assert clipper.clip(tensor, 2, 4, out=tensor) is tensor and tensor.float().tolist() == [2, 2, 4]
        clipper.assert_same(tensor, clipper.clip(tensor, 2, 4))
        clipper.assert_same(tensor, tensor.double(), any_dtype=True)
    with pytest.raises(RuntimeError, match="grad"):
        clipper.clip(torch.zeros(3, requires_grad=True), 0)


@pytest.mark.nightly
def test_tolerances_are_those_of_torch_and_numpy():
    import torch

    rng = np.random.default_rng(1)
    passed = 0
    for i in range(2000):
        dtype = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32)[i % 5]
        expected = torch.from_numpy(rng.normal(0, 10 ** rng.uniform(-6, 2), 4))
        actual = expected * (1 + 10 ** rng.uniform(-9, -1) * rng.normal(0, 1, 4))
        if i % 10 == 0:
            actual[0] = expected[0] = np.nan
        expected, actual = expected.to(dtype), actual.to(dtype)

        def passes(check, *args, **options):
            try:
                return check(*args, **options) is not False
            except AssertionError:
                return False

        for nan_equal in (None, True):
            same = passes(torch.testing.assert_close, actual, expected, equal_nan=bool(nan_equal))
            assert bool(clipper.compare(actual, expected, tolerance="torch", nan_equal=nan_equal)) is same, (actual, expected)
            passed += same
        a, e = actual.double().numpy(), expected.double().numpy()
        assert bool(clipper.compare(a, e, tolerance="numpy")) is passes(np.testing.assert_allclose, a, e)
        assert bool(clipper.compare(actual, e, tolerance="allclose")) is np.allclose(a, e)
    assert 500 < passed < 3500
