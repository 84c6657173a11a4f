"""Functions for files, and for tensors that are arrays or files."""

import ctypes
import doctest
import fcntl
import mmap
import os
import pickle
import signal
import subprocess
import threading
import time

import clipper
import clipper._assertions
import clipper._files
import clipper._reciprocal
import clipper._tensors
import ml_dtypes
import numpy as np
import pytest
from conftest import DTYPES, FLOATS, ROOT, assert_same_bits, dtype_of, load, save


@pytest.fixture
def paths(tmp_path):
    save(tmp_path / "x.npy", np.array([[-3.5, -0.0, 0.25], [5.5, 7.0, np.nan]], np.float32))
    return tmp_path / "x.npy", tmp_path / "y.npy"


def test_doctests():
    for module in (clipper, clipper._assertions, clipper._files, clipper._reciprocal, clipper._tensors):
        assert doctest.testmod(module).failed == 0
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(clipper.clip, "clip", globs={"clip": clipper.clip}):
        runner.run(test)
    parser = doctest.DocTestParser()
    runner.run(parser.get_doctest(clipper.clip.__doc__, {"clip": clipper.clip}, "clip", None, 0))
    assert runner.tries >= 8 and runner.failures == 0


def test_clip_file_as_the_program(paths, program, tmp_path):
    x, y = paths
    expected = tmp_path / "expected.npy"
    assert program("--min", 0, "--max", "6", "--scale", "0.5", x, expected)[0] == 0
    for given in (x, str(x), os.fsencode(x)):
        counts = clipper.clip_file(given, y, 0, "6", scale=0.5)
        assert counts == (6, 1, 0, 1, True, 0, 0, 0, 0, 0, ())
        assert y.read_bytes() == expected.read_bytes()
    assert clipper.clip_in_place(x, 0, 6, scale=0.5).elements == 6
    assert clipper.clip_file(y, y, 1, 3, replace_below=-1, replace_above=9).replaced == 4
    assert x.read_bytes() == expected.read_bytes()


def test_file_options(paths):
    x, y = paths
    before = x.read_bytes()
    y.write_bytes(b"old")
    with pytest.raises(clipper.ClipperError, match="already exists") as caught:
        clipper.clip_file(x, y, 0, overwrite=False)
    assert caught.value.kind == "refused" and y.read_bytes() == b"old"
    x.write_bytes(before + b"more")
    with pytest.raises(clipper.ClipperError) as caught:
        clipper.clip_file(x, y, 0)
    assert caught.value.kind == "input"
    clipper.clip_file(x, y, 0, ignore_trailing=True, sync=True, threads=2)
    x.write_bytes(before)
    clipper.clip_in_place(x, 0, direct=True)
    assert x.read_bytes() == y.read_bytes()
    with pytest.raises(clipper.ClipperError) as caught:
        clipper.clip_file(x.with_name("none.npy"), y, 0)
    assert caught.value.kind == "io" and "none.npy" in str(caught.value)
    with pytest.raises(TypeError):
        clipper.clip_file(1, y, 0)


def cached(path):
    """The share of the file's pages that are in the page cache, after all are on the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        memory = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    pages = np.zeros(-(-memory.size // mmap.PAGESIZE), np.uint8)
    assert ctypes.CDLL(None).mincore(ctypes.c_void_p(memory.ctypes.data), ctypes.c_size_t(memory.size), ctypes.c_void_p(pages.ctypes.data)) == 0
    return (pages & 1).mean()


def make_cold(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.mark.parametrize("work", ["clip_file", "clip_in_place", "direct", "compare", "assert_same", "info", "percentiles"])
def test_no_cache(tmp_path, work):
    """What is read and written is in the page cache, and with no_cache=True it is not."""
    x, y, golden = (tmp_path / name for name in ("x.npy", "y.npy", "golden.npy"))
    before = np.tile(np.float32([-1, 2, 9, 4]), 1 << 20)
    save(golden, np.tile(np.float32([0, 2, 6, 4]), 1 << 20))
    calls = {
        "clip_file": (lambda **o: clipper.clip_file(x, y, 0, 6, **o), [x, y], y),
        "clip_in_place": (lambda **o: clipper.clip_in_place(x, 0, 6, **o), [x], x),
        "direct": (lambda **o: clipper.clip_in_place(x, 0, 6, direct=True, **o), [x], x),
        "compare": (lambda **o: clipper.compare(x, golden, **o), [x, golden], None),
        "assert_same": (lambda **o: clipper.assert_same(x, golden, atol=3, **o), [x, golden], None),
        "info": (lambda **o: clipper.info(x, **o), [x], None),
        "percentiles": (lambda **o: clipper.percentiles(x, [1], **o), [x], None),
    }  # fmt: skip
    call, files, result = calls[work]
    for options in ({}, dict(no_cache=True)):
        save(x, before)
        for path in (x, golden):
            make_cold(path)
        has_disk = cached(x) == 0  # tmpfs has files nowhere but in the page cache
        call(**options)
        for path in files if has_disk else []:
            share = cached(path)
            assert share < 0.25 if options else share > 0.75, path  # reading ahead may still be under way
        if result:
            assert result.read_bytes() == golden.read_bytes()


def test_arrays_as_bounds_of_files(paths):
    x, y = paths
    lo = np.array([0, 1, 2], np.float32)
    clipper.clip_file(x, y, lo)
    assert_same_bits(load(y), clipper.clip(load(x), lo))
    save(x.with_name("lo.npy"), lo)
    clipper.clip_file(x, y.with_name("z.npy"), x.with_name("lo.npy"))
    assert y.read_bytes() == y.with_name("z.npy").read_bytes()


MATRIX = np.float32([[-3, 0.5, 9], [2, np.nan, 7]])
MESSAGE = b"\x08\x02\x08\x03\x10\x01\x4a\x18" + MATRIX.tobytes()  # dims, data_type and raw_data of a TensorProto


@pytest.mark.parametrize("name, content, files", [
    ("x.bin", MATRIX.tobytes(), {"raw": "float32:2,3"}), ("x.bin", b"head" + MATRIX.tobytes(), {"raw": "<f4:-1,3@4"}),
    ("x.pb", MESSAGE, {}), ("x.any", MESSAGE, {"format": "pb"}),
], ids=["raw", "offset", "by name", "pb"])  # fmt: skip
def test_files_that_are_no_npy_files(tmp_path, name, content, files):
    x, y, npy = tmp_path / name, tmp_path / f"y{name[1:]}", tmp_path / "y.npy"
    x.write_bytes(content)
    about = clipper.info(x, **files)
    assert (about.dtype, about.shape, about.max) == ("float32", (2, 3), 9)
    assert clipper.percentiles(x, [100], **files) == [9]
    clipper.assert_same(x, MATRIX, **files)
    expected = clipper.clip(MATRIX, 0, 6)
    for out in (y, npy):
        assert clipper.clip_file(x, out, 0, 6, **files).lowered == 2
        assert clipper.compare(out, expected, bits=True, **files)
    assert_same_bits(load(npy), expected)
    assert y.read_bytes().startswith(content[:4]) == (name != "x.bin" or "@" in files["raw"])
    clipper.clip_file(x, tmp_path / "raw", 0, 6, to_raw=True, **files)
    assert (tmp_path / "raw").read_bytes().endswith(expected.tobytes())
    high = tmp_path / f"hi{name[1:]}"
    high.write_bytes(content[:-24] + np.full(6, 5, np.float32).tobytes())
    for bound in (high, f"@{high}"):  # an array in a file of the same kind
        clipper.clip_file(y, npy, None, bound, **files)
        assert_same_bits(load(npy), clipper.clip(expected, max=5))
    assert clipper.clip_in_place(y, 1, **files).raised == 2
    clipper.assert_same(y, clipper.clip(expected, 1), **files)


def test_raw_files_are_those_of_numpy(tmp_path):
    for dtype in ("<i2", ">f8", "|u1", "<f2"):
        x = np.arange(24, dtype=dtype).reshape(4, 6)
        x.tofile(tmp_path / "x")
        np.full(6, 7, dtype).tofile(tmp_path / "lo")
        for low in (7, tmp_path / "lo", f"@{tmp_path}/lo"):
            clipper.clip_file(tmp_path / "x", tmp_path / "y", low, 20, raw=f"{dtype}:4,6")
            np.testing.assert_array_equal(np.fromfile(tmp_path / "y", dtype).reshape(4, 6), np.clip(x, 7, 20))
    with pytest.raises(clipper.ClipperError, match="float33") as caught:
        clipper.info(tmp_path / "x", raw="float33")
    assert caught.value.field == "raw"


def test_nodata_of_files(tmp_path):
    x, y = tmp_path / "x.npy", tmp_path / "y.npy"
    np.save(x, np.float64([-9999, -1, 2, 9, np.nan]))
    counts = clipper.clip_file(x, y, 0, 6, nodata=[-9999, "nan"], nodata_to=255, to="uint8")
    assert np.load(y).tolist() == [255, 0, 2, 6, 255]
    assert (counts.nodata, counts.became_nodata, counts.raised, counts.nan) == (2, 0, 1, 0)
    assert clipper.clip_in_place(x, 0, nodata=-9999).nodata == 1 and np.load(x)[0] == -9999


def test_figures_of_one_file_are_applied_to_another(tmp_path):
    x, y, fit = tmp_path / "x.npy", tmp_path / "y.npy", tmp_path / "fit.npz"
    save(x, np.array([[1, 3, 8], [0, 5, 5]], np.float32))
    clipper.clip_file(x, y, max="50%", per_axis=0, fit=fit)
    right = load(y)
    clipper.clip_file(x, y, apply=fit)
    assert_same_bits(load(y), right)
    with np.load(fit) as figures:
        assert figures["max"].dtype == np.float32 and figures["max"].shape == (2, 1)
        assert_same_bits(clipper.clip(load(x), **figures), right)
    clipper.clip_in_place(x, max=2, apply=os.fspath(fit))
    assert_same_bits(load(x), np.float32([[1, 2, 2], [0, 2, 2]]))
    with pytest.raises(clipper.ClipperError, match="is also an input or an output"):
        clipper.clip_file(fit, tmp_path / "z.npz", 0, fit=fit)


def test_archives(tmp_path):
    archive = tmp_path / "a.npz"
    np.savez(archive, w=np.arange(5.0), v=np.arange(9.0))
    clipper.clip_file(archive, tmp_path / "b.npz", max=2, members=["w"])
    with np.load(tmp_path / "b.npz") as clipped:
        np.testing.assert_array_equal(clipped["w"], [0, 1, 2, 2, 2])
        np.testing.assert_array_equal(clipped["v"], np.arange(9))
    assert clipper.clip_in_place(tmp_path / "b.npz", 1, exclude_members=["v*"]).raised == 1
    clipper.assert_same(f"{tmp_path}/b.npz:w", np.array([1.0, 1, 2, 2, 2]))
    clipper.assert_same(f"{tmp_path}/b.npz:v", f"{tmp_path}/a.npz:v")


def test_only(tmp_path):
    a, b = tmp_path / "a.npz", tmp_path / "b.npz"
    np.savez(a, w=np.ones(2, "f4"), ids=np.array([16777217]))
    clipper.clip_file(a, b, to="float16")
    with np.load(b) as result:
        assert [result["w"].dtype, result["ids"].dtype, result["ids"][0]] == ["float16", "int64", 16777217]
    clipper.clip_file(a, b, to="float64", only=["int"])
    with np.load(b) as result:
        assert [result["w"].dtype, result["ids"].dtype] == ["float32", "float64"]
    np.savez(a, ids=np.array([1]))
    with pytest.raises(clipper.ClipperError, match="a.npz:ids: int64.*only=int") as refused:
        clipper.clip_in_place(a, to="float32")
    assert refused.value.kind == "input"
    assert clipper.clip_in_place(a, to="float32", only="int").elements == 1
    with pytest.raises(clipper.ClipperError, match="'real' is neither"):
        clipper.clip_in_place(a, 0, only="real")


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_of_every_dtype(dtype, tmp_path):
    x = load(ROOT / f"data/edge/{dtype}.npy")
    path = ROOT / f"data/edge/{dtype}.npy"
    clipper.assert_same(x, path, bits=True)
    clipper.assert_same(path, np.repeat(x, 2)[::2], bits=True)
    assert clipper.info(x)[4:] == pytest.approx(clipper.info(path)[4:], nan_ok=True)
    about = clipper.info(x)
    assert about.dtype == dtype and about.shape == x.shape and about.byte_order == "little"
    with np.errstate(invalid="ignore"):
        values = x.astype(np.longdouble)
    assert about.min == np.nanmin(values) and about.max == np.nanmax(values)
    assert about.nan == np.isnan(values).sum()
    assert clipper.percentiles(x, [0, "100"]) == [about.min, about.max]
    kinds = (float,) if dtype in FLOATS else (int,)
    assert isinstance(about.min, kinds) and isinstance(clipper.percentiles(path, [50])[0], (*kinds, float))
    y = x.copy()
    y[-1] = 1
    found = clipper.compare(y, x, max_listed=5)
    assert not found and found.mismatches == 1 and found.first[0].index == (x.size - 1,)
    assert found.first[0].actual == y[-1]


def test_comparison_is_that_of_the_program(paths, program):
    x, y = paths
    save(y, clipper.clip(load(x), 0, 6))
    found = clipper.compare(x, y)
    path = os.environ.get("CLIPPER", ROOT / "build" / "clipper")
    line = subprocess.run([path, "compare", x, y], capture_output=True, text=True).stdout
    assert line == f"FAIL {x}: {found.summary}\n".replace("atol=", "--atol ").replace("ulp=", "--ulp ")
    report = clipper.compare(x, y, max_listed=5).report
    with pytest.raises(AssertionError) as caught:
        clipper.assert_same(x, y)
    assert str(caught.value) == f"{x}, expected {y}: {report}"
    with pytest.raises(AssertionError) as caught:
        clipper.assert_same(load(x), load(y))
    assert str(caught.value) == report
    for options, words in ({"tolerance": "torch"}, "--tolerance torch"), ({"tolerance": "allclose"}, "--tolerance allclose"), ({"any_dtype": True}, "--any-dtype"):
        save(y, clipper.clip(load(x), 0, 6).astype(np.float64))
        line = subprocess.run([path, "compare", x, y, *words.split()], capture_output=True, text=True).stdout
        for actual, expected in (x, y), (load(x), load(y)):
            found = clipper.compare(actual, expected, **options)
            assert line == f"FAIL {x}: {found.summary}\n".replace("atol=", "--atol ").replace("ulp=", "--ulp ")
    save(y, clipper.clip(load(x), 0, 6))
    clipper.assert_same(x, y, atol=3.5)
    clipper.assert_same(load(x), y, atol="3.5")
    assert pickle.loads(pickle.dumps(found)) == found


def test_arrays_of_different_dtypes_are_compared_as_numbers():
    x = np.array([1, 2, 2**53 + 1])
    clipper.assert_same(x[:2], np.float16([1, 2]), any_dtype=True)
    clipper.assert_same([True, False], np.int8([1, 0]), any_dtype=True)
    found = clipper.compare(x, x.astype(np.float64), any_dtype=True)
    assert found.mismatches == 1 and found.first[0][1:] == (2**53 + 1, 2.0**53) and type(found.first[0].actual) is int
    assert found.dtype == "float64" and found.largest == 1
    clipper.assert_same(x, x * (1 + 1e-6), tolerance="allclose")
    with pytest.raises(AssertionError, match="dtype int64, expected float64"):
        clipper.assert_same(x, x * (1 + 1e-6), tolerance="torch")
    with pytest.raises(AssertionError, match=r"1 of 1 differ \(100 %\); tolerance=torch\n  1 NaN match"):
        clipper.assert_same(np.float32([np.nan]), np.float32([np.nan]), tolerance="torch")
    clipper.assert_same(np.float32([np.nan]), np.float32([np.nan]), tolerance="torch", nan_equal=True)
    for options in {"rtol": 1, "tolerance": "numpy"}, {"bits": True, "any_dtype": True}, {"tolerance": "jax"}:
        with pytest.raises(clipper.ClipperError, match="cannot be used together|expected one of: torch, numpy, allclose") as caught:
            clipper.compare(x, x, **options)
        assert caught.value.field in options


def test_layouts_of_compared_arrays():
    x = np.arange(24.0).reshape(2, 3, 4)
    for other in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x.astype(">f8"), x.tolist()):
        clipper.assert_same(other, x)
        clipper.assert_same(x, other)
    assert "shape" in clipper.compare(x, x[0]).summary
    assert clipper.compare(x[:0], x[:0])
    assert clipper.info(np.asfortranarray(x)).fortran_order
    assert clipper.info(x.astype(">f8")).byte_order == "big"
    assert clipper.info(x, stats=False).min is None


def test_errors_of_tensors(tmp_path):
    x = np.zeros(3)
    for call in (
        lambda: clipper.compare(np.array([b"a"] * 3), x),
        lambda: clipper.info(np.array(["a"])),
        lambda: clipper.percentiles(np.array([object()]), [1]),
    ):
        with pytest.raises(clipper.ClipperError) as caught:
            call()
        assert caught.value.kind == "input" and "/proc" not in str(caught.value)
    np.save(tmp_path / "zero.npy", np.zeros(2))
    file = f"@{tmp_path}/zero.npy"
    for options in (dict(rtol=-1), dict(atol="nan"), dict(rtol="x"), dict(atol=file)):
        with pytest.raises(clipper.ClipperError) as caught:
            clipper.compare(x, x, **options)
        assert caught.value.kind == "usage" and caught.value.field == list(options)[0]
    for percentage in (101, file):
        with pytest.raises(clipper.ClipperError, match="is not a percentage" if percentage == file else "from 0 to 100"):
            clipper.percentiles(x, [percentage])
    with pytest.raises(TypeError):
        clipper.assert_same(x, x, tolerance=1)
    for tensor, numbers in ((np.float32([0.1, 2]), [0.1, 2]), (np.uint8([1, 2]), (1.0, 2.0)), (np.float16(1.5), 1.5)):
        clipper.assert_same(tensor, numbers)
        clipper.assert_same(numbers, tensor)
    for tensor, numbers in ((np.uint8([1, 2]), [1, 300]), (np.float16([1]), [70000.0]), (np.int8([1]), [1.5]), (np.float32([1]), [True]),
                            (np.int32([0, -2**31]), [0.0, np.nan]), (np.int8([0]), [np.nan]), (np.array([np.nan], dtype_of("float8_e4m3fn")), [1000.0])):
        with pytest.raises(AssertionError, match="dtype"):
            clipper.assert_same(tensor, numbers)
    with pytest.raises(TypeError, match="mask"):
        clipper.info(np.ma.array([1, 2], mask=[0, 1]))
    assert clipper.percentiles(np.array([np.nan]), [50]) == [None]


def test_errors_name_the_right_tensor(monkeypatch):
    places, create = iter((77, 770)), os.memfd_create
    monkeypatch.setattr(os, "memfd_create", lambda *arguments: fcntl.fcntl(create(*arguments), fcntl.F_DUPFD, next(places)))

    def refuse(actual, expected, _):
        raise clipper.ClipperError(f"{expected} and {actual}", "input")

    monkeypatch.setattr(clipper._core, "compare", refuse)
    with pytest.raises(clipper.ClipperError, match="^expected and actual$"):
        clipper.compare(np.zeros(1), np.zeros(1), dtype="float64")


def test_raw_bfloat16(tmp_path):
    x = np.array([1, 2.5], ml_dtypes.bfloat16)
    np.save(tmp_path / "raw.npy", x.view("V2"))
    assert clipper.info(tmp_path / "raw.npy", dtype="bfloat16").max == 2.5
    clipper.assert_same(tmp_path / "raw.npy", x.view(np.uint16), dtype="bfloat16")
    clipper.clip_in_place(tmp_path / "raw.npy", max=2, dtype="bfloat16")
    assert clipper.clip(np.load(tmp_path / "raw.npy"), dtype="bfloat16").dtype == np.dtype("V2")


@pytest.mark.parametrize("kept, name", [("u2", "bfloat16"), (">u2", "bfloat16"), ("i2", "bfloat16"), ("u1", "float8_e4m3fn"), ("V1", "float8_e5m2")])
def test_files_that_keep_floats_as_integers(tmp_path, kept, name):
    x = np.array([-1, 2.5, 7]).astype(getattr(ml_dtypes, name))
    order = kept[0] if kept[0] == ">" else "="
    keep = lambda array: (array.view(f"u{x.itemsize}").astype(order + f"u{x.itemsize}")).view(kept)
    np.save(tmp_path / "x.npy", keep(x))
    clipper.clip_file(tmp_path / "x.npy", tmp_path / "y.npy", 0, 6, dtype=name)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), keep(np.array([0, 2.5, 6]).astype(x.dtype)))
    assert clipper.info(tmp_path / "y.npy", dtype=name).max == 6
    clipper.assert_same(tmp_path / "x.npy", x.view(f"u{x.itemsize}"), dtype=name)


def test_profiles(program):
    assert clipper.profiles()[0] == "clipper" and len(clipper.profiles()) == 19


@pytest.mark.parametrize("work", ["clip_file", "clip_in_place", "compare", "info", "percentiles"])
def test_a_signal_stops_the_work_and_leaves_nothing(tmp_path, work):
    """A sparse file takes longer than the time to the signal; where it does not, a larger one is tried."""
    path, out = tmp_path / "x.npy", tmp_path / "y.npy"
    calls = {
        "clip_file": lambda: clipper.clip_file(path, out, 1, 6), "clip_in_place": lambda: clipper.clip_in_place(path, 1, 6),
        "compare": lambda: clipper.compare(path, path), "info": lambda: clipper.info(path),
        "percentiles": lambda: clipper.percentiles(path, [1]),
    }  # fmt: skip

    def interrupt(*_):
        raise KeyboardInterrupt

    for size in (1 << 28, 1 << 30, 1 << 32):
        with open(path, "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (size // 4,)})
            file.truncate(file.tell() + size)
        before = os.stat(path)
        handler = signal.signal(signal.SIGALRM, interrupt)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            calls[work]()
        except KeyboardInterrupt:
            break
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
    else:
        raise AssertionError("the work never lasted until the signal")
    assert os.listdir(tmp_path) == ["x.npy"]
    assert (os.stat(path).st_ino, os.stat(path).st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_progress_is_told_in_this_thread_and_may_end_the_call(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(1 << 16, dtype=np.float32))
    told = []
    thread = threading.get_ident()
    clipper.clip_file(tmp_path / "x.npy", tmp_path / "y.npy", 0, 6, progress=lambda *bytes: told.append((*bytes, threading.get_ident())))
    assert told[-1] == (1 << 18, 1 << 18, thread)
    told.clear()
    clipper.clip_in_place(tmp_path / "y.npy", 0, 5, progress=lambda *bytes: told.append(bytes))
    assert told[-1] == (1 << 18, 1 << 18)
    with pytest.raises(TypeError, match="progress must be a function, or None, not int"):
        clipper.clip_file(tmp_path / "x.npy", tmp_path / "none.npy", 0, progress=1)
    assert not (tmp_path / "none.npy").exists()


def test_an_exception_of_progress_ends_the_call(tmp_path):
    pipe = tmp_path / "pipe.npy"
    os.mkfifo(pipe)

    def write():
        with pytest.raises(BrokenPipeError), open(pipe, "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (1 << 24,)})
            for _ in range(64):
                file.write(bytes(1 << 20))
                file.flush()
                time.sleep(0.02)

    def end(done, all):
        assert all == 1 << 26
        raise LookupError(done)

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(LookupError):
        clipper.clip_file(pipe, tmp_path / "y.npy", 0, 6, progress=end)
    writer.join()
    assert not (tmp_path / "y.npy").exists()
