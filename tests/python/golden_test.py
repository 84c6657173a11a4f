"""assert_same() with files and archives, and the pytest plugin, in a pytest of its own."""

import re
import subprocess
import sys
import time
import zipfile

import clipper
import numpy as np
import pytest
from conftest import DTYPES, FLOATS, dtype_of

A = np.float32([1, 2, 3])
B = np.float32([1, 2.5, 3])
LINES = """1 of 3 differ (33.3 %); no tolerance
  max abs 0.5 at [1], max rel 0.2
  [1] actual 2 expected 2.5 (0.5, 2097152 ulp)
  would pass with rtol=0.2 or atol=0.5 or ulp=2097152"""
NAN = np.float32("nan")
SUITE = '''
import clipper, numpy as np

def test_tensor(clipper_golden):
    clipper.assert_same(np.float32([1, 2]) * {factor}, clipper_golden("golden/tensor.npy"), rtol=1e-6)

def test_archive(clipper_golden):
    clipper.assert_same({{"w": np.arange(3) * {factor}, "b": np.zeros(1)}}, clipper_golden("golden/archive.npz"))

def test_other():
    pass
'''


def message(*tensors, **options):
    with pytest.raises(AssertionError) as raised:
        clipper.assert_same(*tensors, **options)
    return str(raised.value)


def test_the_message_names_the_files_and_both_values(tmp_path):
    a, b = tmp_path / "a.npy", tmp_path / "b.npy"
    np.save(a, A)
    np.save(b, B)
    assert message(A, b)== (f"{b}: {LINES}")
    assert message(a, B)== (f"{a}: {LINES}")
    assert message(a, b)== (f"{a}, expected {b}: {LINES}")
    assert message(A, B, err_msg="layer 1")== (f"layer 1\n{LINES}")
    clipper.assert_same(A, b, atol=0.5)


def test_mismatches_can_be_allowed():
    clipper.assert_same(A, B, max_mismatch=1)
    clipper.assert_same(A, B, max_mismatch="33.4%")
    message(A, B, max_mismatch="33.3%")
    message(A, B, max_mismatch=0)
    message(A, B.astype(np.float64), max_mismatch=3)
    assert message(A, -A, max_mismatch=2).endswith("; max_mismatch allows 2")
    for bad in ("x", "1/0", "", -1, 1.5, "-1%", "101%", NAN):
        with pytest.raises(clipper.ClipperError, match="max_mismatch: .* is neither a whole number nor a percentage from 0% to 100%"):
            clipper.assert_same(A, A, max_mismatch=bad)


def test_nan_is_named_as_the_cause():
    assert message(np.float32([1, NAN, NAN, 4]), np.float32([1, 2, 3, 4]), rtol=1e-6).splitlines() == [
        "2 of 4 differ (50 %); rtol=1e-06",
        "  2 NaN against numbers, first [1]",
        "  [1] actual nan expected 2",
        "  [2] actual nan expected 3",
        "  no tolerance would let it pass",
    ]
    assert "\n  1 NaN against a number at [0, 1]\n" in message(np.array([[1, NAN]]), np.ones((1, 2)))
    assert "\n  2 NaN match nothing, first [0]\n" in message(np.array([NAN, NAN]), np.array([NAN, NAN]), nan_equal=False)
    days = np.array(["2020-02-29", "NaT"], "M8[D]")
    assert "\n  1 NaT against a time at [1]\n" in message(days, np.array(["2020-02-29", "2020-03-01"], "M8[D]"))
    quiet, other = np.uint32([0x7FC00000]).view(np.float32), np.uint32([0x7FC00001]).view(np.float32)
    assert "[0] actual nan expected nan (bits 0x7fc00000 and 0x7fc00001)" in message(quiet, other, bits=True)


def test_the_first_mismatches_are_listed():
    x = np.arange(10)
    lines = message(x, x + 1).splitlines()
    assert lines[2:8] == [*(f"  [{i}] actual {i} expected {i + 1} (1)" for i in range(5)), "  and 5 more"]
    assert "[9] actual 9 expected 10 (1)\n  would" in message(x, x + 1, max_listed=10)
    with pytest.raises(clipper.ClipperError, match="max_listed must be from 0"):
        clipper.assert_same(x, x, max_listed=-1)
    with pytest.raises(TypeError, match="ulp must be an int, not float"):
        clipper.assert_same(x, x, ulp=0.5)


@pytest.mark.parametrize("given", [{}, {"rtol": 1e-9}, {"atol": 1e-12}, {"ulp": 1}, {"rtol": 1e-9, "atol": 1e-12}], ids=repr)
@pytest.mark.parametrize("dtype", [*DTYPES, "float8_e4m3fn", "complex64"])
def test_what_is_suggested_would_pass(dtype, given):
    """By the smallest change of what was given; also for pairs that are far apart or 0."""
    random = np.random.default_rng(len(dtype))
    for scale in (1, 1e-3, 100):
        e = np.abs(random.normal(0, 30, 50)).clip(1).astype(dtype_of(dtype))
        a = (e.astype(np.float64 if dtype != "complex64" else dtype) * (1 + scale * random.random(50) / 50)).astype(e.dtype)
        if (a == e).all():
            continue
        last = message(a, e, **given).splitlines()[-1]
        assert last.startswith("  would pass with ")
        suggested = [word.split("=") for word in last.removeprefix("  would pass with ").split(" or ")]
        possible = [name for name in given if name != "ulp" or dtype in (*FLOATS, "float8_e4m3fn", "complex64")]
        assert [name for name, _ in suggested] == (possible or [name for name, _ in suggested])
        for name, value in suggested:
            clipper.assert_same(a, e, **{**given, name: int(value) if name == "ulp" else float(value)})
            clipper.assert_same(a, e, **{**given, name: int(value) if name == "ulp" else value})
    assert "would pass with atol=" in message(np.ones(2), np.zeros(2), rtol=1e-6)


def test_arrays_are_compared_where_they_are():
    """A file in memory for each array took 420 us."""
    x = np.arange(10, dtype=np.float32)
    y = x.copy()
    times = []
    for _ in range(30):
        begin = time.thread_time()
        for _ in range(10):
            clipper.assert_same(x, y, rtol=1e-6)
        times.append((time.thread_time() - begin) / 10)
    assert min(times) < 100e-6
    for a, b in ((x[::2], y[::2]), (x.astype(">f4"), y), (np.asfortranarray(x.reshape(2, 5)), y.reshape(2, 5)), (x > 3, y > 3), (x * 1j, y * 1j),
                 (x[:0], y[:0]), (x[3], y[3]), (x.astype("m8[s]"), y.astype(">m8[s]")), ([1, 2], [1, 2]), (x.astype("M8[25s]"), y.astype("M8[25s]"))):
        clipper.assert_same(a, b, bits=True)
    z = x.reshape(2, 5).copy(order="F")
    z[1, 2] = 9
    assert "[1, 2] actual 9 expected 7 (2, " in message(z, x.reshape(2, 5))
    with pytest.raises(clipper.ClipperError, match="expected has dtype object, which is none of clipper's"):
        clipper.assert_same(x, None)
    with pytest.raises(TypeError, match="mask would be lost"):
        clipper.assert_same(np.ma.masked_array(x, x > 3), x)
    assert "dtype timedelta64[s], expected timedelta64[ms]" in message(x.astype("m8[s]"), x.astype("m8[ms]"))


def test_members_that_are_no_numbers_are_compared_by_their_bytes(tmp_path):
    golden, other = tmp_path / "golden.npz", tmp_path / "other.npz"
    members = {"w": A, "s": np.array(["a", "b"]), "o": np.array([1, None]), "r": np.array([(1, 2.0)], "i4, f8"), "l": np.longdouble([1])}
    np.savez(golden, **members)
    np.savez(other, **{**members, "s": np.array(["a", "c"])})
    for path, text in ((golden, "hi"), (other, "hi")):
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("note.txt", text)
    clipper.assert_same(golden, golden)
    clipper.assert_same({**members, "note.txt": b"hi"}, golden)
    with np.load(golden, allow_pickle=True) as loaded:
        clipper.assert_same(loaded, golden)
    said = message(other, golden, rtol=1, max_mismatch=1)
    assert f"{other}, expected {golden}:s (bytes): 1 of 136 differ" in said and "would pass" not in said
    assert "s (bytes): 1 of 136 differ" in message({**members, "s": np.array(["a", "c"]), "note.txt": b"hi"}, golden)
    assert "s: 136 bytes, expected 144" in message(golden, {**members, "s": np.array(["a", "bb"]), "note.txt": b"hi"})


def test_archives_are_compared_by_name(tmp_path):
    golden = tmp_path / "golden.npz"
    np.savez(golden, w=A, v=np.arange(3))
    clipper.assert_same({"v": np.arange(3), "w": A}, golden)
    clipper.assert_same(golden, golden)
    with np.load(golden) as loaded:
        clipper.assert_same(loaded, golden)
    assert message({"v": np.arange(3), "w": B}, golden).startswith(f"{golden}:w: 1 of 3 differ")
    assert message({"w": A}, golden) == f"{golden}:v: is missing in the actual archive"
    assert message({"w": A, "v": np.arange(3), "x": A}, golden) == f"{golden}:x: is missing in the expected archive"


def suite(directory, factor, *options):
    return run(directory, SUITE.format(factor=factor), *options)


def run(directory, text, *options):
    (directory / "suite_test.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", directory, *options, directory]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_a_suite_fails_is_updated_and_passes(tmp_path):
    code, text = suite(tmp_path, 1)
    assert code == 1 and "2 failed, 1 passed" in text
    assert re.search(r"AssertionError: .*golden/tensor.npy: no golden\n.* obtained: .*golden/tensor.obtained.npy\n.* --clipper-update-golden writes", text)
    assert np.load(tmp_path / "golden/tensor.obtained.npy").tolist() == [1, 2]
    code, text = suite(tmp_path, 1, "--clipper-update-golden")
    assert code == 0 and "3 passed" in text
    assert re.search(r"clipper: golden files.*\ncreated .*golden/tensor.npy\ncreated .*golden/archive.npz", text)
    code, text = suite(tmp_path, 1)
    assert code == 0 and "golden files" not in text

    code, text = suite(tmp_path, 2)
    assert code == 1 and "2 failed, 1 passed" in text
    assert re.search(r"AssertionError: .*golden/tensor.npy: 2 of 2 differ \(100 %\); rtol=1e-06\n.*\n.* \[0\] actual 2 expected 1 ", text)
    assert "_assertions.py" not in text and "_tensors.py" not in text  # frames of clipper
    code, text = suite(tmp_path, 2, "--clipper-update-golden")
    assert code == 0 and re.search(r"\nupdated .*golden/tensor.npy\nupdated .*golden/archive.npz", text)
    assert suite(tmp_path, 2)[0] == 0
    assert sorted(path.name for path in (tmp_path / "golden").iterdir()) == ["archive.npz", "tensor.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "golden/tensor.npy"), np.float32([2, 4]))


def test_a_file_that_cannot_be_compared_is_no_golden_to_update(tmp_path):
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden/tensor.npy").write_text("text")
    code, text = suite(tmp_path, 1, "--clipper-update-golden")
    assert code == 1 and "ClipperError: " in text and "_tensors.py" not in text
    assert (tmp_path / "golden/tensor.npy").read_text() == "text"


PROLOGUE = "import clipper, ml_dtypes, numpy as np, pytest\n"


def test_a_golden_without_a_name_is_named_after_the_test(tmp_path):
    text = PROLOGUE + """
@pytest.mark.parametrize("n", ["a/b", "c"])
def test_x(clipper_golden, n):
    clipper.assert_same(np.ones(2), clipper_golden())
class TestY:
    def test_y(self, clipper_golden):
        clipper.assert_same({"file": np.ones(1), "allow_pickle": np.zeros(1), "8": np.ones(2).astype(ml_dtypes.float8_e5m2), "s": np.array(["x"])}, clipper_golden())
"""
    assert run(tmp_path, text, "--clipper-update-golden")[0] == 0
    names = ["TestY.test_y.npz", "test_x-a-b.npy", "test_x-c.npy"]
    assert sorted(path.name for path in (tmp_path / "suite_test").iterdir()) == names
    assert run(tmp_path, text)[0] == 0
    np.save(tmp_path / "saved.npy", np.ones(2))
    assert (tmp_path / "saved.npy").read_bytes() == (tmp_path / "suite_test/test_x-c.npy").read_bytes()
    with zipfile.ZipFile(tmp_path / "suite_test/TestY.test_y.npz") as archive:
        assert archive.namelist() == ["file.npy", "allow_pickle.npy", "8.npy", "s.npy"]


@pytest.mark.parametrize("call, words", [
    ('np.array([None]), clipper_golden("o.npy")', "Python objects cannot be in a golden"),
    ('{"a": {"b": 1}}, clipper_golden("o.npz")', "Python objects cannot be in a golden"),
    ('{1: np.ones(1)}, clipper_golden("o.npz")', "the keys of a golden archive are texts, not 1"),
    ('{"a": np.ones(1)}, clipper_golden("o.npy")', "a golden of a mapping cannot be a .npy file"),
    ('np.ones(1), clipper_golden("o.npz")', "a golden of one tensor cannot be a .npz file"),
    ('np.ones(1), clipper_golden("o.safetensors")', "a golden is a whole .npy or .npz file"),
    ('np.ones(1), clipper_golden("o.npz:w")', "a golden is a whole .npy or .npz file"),
    ('np.array(["x"]), clipper_golden("o.npy")', "is not supported"),
    ('np.ones(1), clipper_golden("o.npy"), dtype="bfloat16"', "bfloat16"),
    ('np.array([np.nan]), clipper_golden("o.npy"), nan_equal=False', "the golden is not written: it would not match"),
])
def test_what_would_fail_the_next_time_is_not_written(tmp_path, call, words):
    code, text = run(tmp_path, PROLOGUE + f"def test_x(clipper_golden):\n    clipper.assert_same({call})\n", "--clipper-update-golden")
    assert code == 1 and words in text
    assert not list(tmp_path.glob("*.np*")) and not list(tmp_path.glob(".clipper*"))


def test_two_results_for_one_golden_fail_and_unused_goldens_are_listed(tmp_path):
    text = PROLOGUE + """
@pytest.fixture(scope="session")
def shared(clipper_golden):
    return clipper_golden("shared.npy")
def test_one(shared):
    clipper.assert_same(np.ones(2), shared)
def test_same(shared):
    clipper.assert_same(np.ones(2), shared)
def test_other(clipper_golden):
    clipper.assert_same(np.zeros(2), clipper_golden("shared.npy"))
"""
    np.save(tmp_path / "old.npy", np.ones(1))
    code, text = run(tmp_path, text, "--clipper-update-golden", "--clipper-unused-goldens")
    assert code == 1 and "1 failed, 2 passed" in text and "this run has written another result to this golden" in text
    assert f"created {tmp_path}/shared.npy\nunused {tmp_path}/old.npy\n" in text


def test_goldens_that_are_read_in_other_ways_are_used(tmp_path):
    text = PROLOGUE + """
def test_all(clipper_golden):
    assert clipper.compare(np.ones(2), clipper_golden("compared.npy"))
    assert np.load(clipper_golden("loaded.npy")).size == 2
    clipper.assert_same(clipper_golden("first.npy"), np.ones(2))
"""
    for name in ("compared", "loaded", "first", "old"):
        np.save(tmp_path / name, np.ones(2))
    code, said = run(tmp_path, text, "--clipper-unused-goldens")
    assert code == 0 and [line for line in said.splitlines() if line.startswith("unused")] == [f"unused {tmp_path}/old.npy"]


def test_processes_that_write_different_results_to_one_golden_fail(tmp_path):
    text = PROLOGUE + """
def test_other(clipper_golden, worker_id):
    clipper.assert_same(np.full(2, int(worker_id[2:])), clipper_golden("other.npy"))
@pytest.mark.xdist_group("group")
def test_same(clipper_golden):
    clipper.assert_same(np.ones(2), clipper_golden())
"""
    code, said = run(tmp_path, text, "--clipper-update-golden", "-n2", "--dist=each")
    assert code == 1 and "1 failed, 3 passed" in said and "this run has written another result to this golden" in said
    assert said.count("created ") == 2 and "updated" not in said
    assert run(tmp_path, text, "-n2", "--dist=loadgroup", "-k", "test_same")[0] == 0


def test_a_golden_that_a_session_shares_is_beside_each_test_that_uses_it(tmp_path):
    (tmp_path / "conftest.py").write_text(
        "import pytest\n@pytest.fixture(scope='session')\ndef shared(clipper_golden):\n    return clipper_golden('shared.npy')\n")
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}_test.py").write_text(
            f"import clipper\ndef test_before(shared):\n    pass\ndef test_{name}(shared):\n    clipper.assert_same({[name == 'a']}, shared)\n")
    code, text = run(tmp_path, "", "--clipper-update-golden")
    assert code == 0 and f"created {tmp_path}/a/shared.npy\ncreated {tmp_path}/b/shared.npy\n" in text
    assert run(tmp_path, "")[0] == 0


def test_the_mode_and_links_of_a_golden_are_kept(tmp_path):
    np.save(tmp_path / "real.npy", np.zeros(1))
    (tmp_path / "real.npy").chmod(0o640)
    name = "n" * 246 + ".npy"
    (tmp_path / name).symlink_to("real.npy")
    text = PROLOGUE + f"def test_x(clipper_golden):\n    clipper.assert_same(np.ones(2), clipper_golden({name!r}))\n"
    assert run(tmp_path, text, "--clipper-update-golden")[0] == 0
    assert (tmp_path / name).is_symlink() and np.load(tmp_path / "real.npy").tolist() == [1, 1]
    assert (tmp_path / "real.npy").stat().st_mode & 0o777 == 0o640


def test_archives_that_are_none_are_named(tmp_path):
    for data, words in ((b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"), (b"text", "is no archive")):
        (tmp_path / "g.npz").write_bytes(data)
        with pytest.raises(clipper.ClipperError, match=f"g.npz: {words}"):
            clipper.assert_same({"w": A}, tmp_path / "g.npz")


def test_the_plugin_imports_nothing_before_it_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other plugins may import numpy
    text = "import sys\ndef test_x():\n    assert not {'clipper', 'numpy'} & set(sys.modules)\n"
    assert run(tmp_path, text, "-p", "clipper_pytest")[0] == 0
