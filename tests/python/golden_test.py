"""assert_same() with files and archives, and the pytest plugin, in a pytest of its own."""

import re
import subprocess
import sys

import clipper
import numpy as np
import pytest

A = np.float32([1, 2, 3])
B = np.float32([1, 2.5, 3])
LINE = "1 of 3 differ (33.3 %); first [1] actual 2 expected 2.5 (0.5, 2097152 ulp); max abs 0.5 at [1]; "
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
    assert message(A, b).startswith(f"{b}: {LINE}")
    assert message(a, B).startswith(f"{a}: {LINE}")
    assert message(a, b).startswith(f"{a}, expected {b}: {LINE}")
    assert message(A, B, err_msg="layer 1").startswith(f"layer 1\n{LINE}")
    clipper.assert_same(A, b, atol=0.5)


def test_mismatches_can_be_allowed():
    clipper.assert_same(A, B, max_mismatch=1)
    clipper.assert_same(A, B, max_mismatch="33.4%")
    message(A, B, max_mismatch="33.3%")
    message(A, B, max_mismatch=0)
    message(A, B.astype(np.float64), max_mismatch=3)
    with pytest.raises(clipper.ClipperError, match="max_mismatch: 'x' is not a number"):
        clipper.assert_same(A, B, max_mismatch="x")


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
    (directory / "suite_test.py").write_text(SUITE.format(factor=factor))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", directory, *options, directory]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_a_suite_fails_is_updated_and_passes(tmp_path):
    code, text = suite(tmp_path, 1)
    assert code == 1 and "2 failed, 1 passed" in text
    assert re.search(r"AssertionError: .*golden/tensor.npy: no golden; --clipper-update-golden writes it", text)
    code, text = suite(tmp_path, 1, "--clipper-update-golden")
    assert code == 0 and "3 passed" in text
    assert re.search(r"clipper: golden files.*\ncreated .*golden/tensor.npy\ncreated .*golden/archive.npz", text)
    code, text = suite(tmp_path, 1)
    assert code == 0 and "golden files" not in text

    code, text = suite(tmp_path, 2)
    assert code == 1 and "2 failed, 1 passed" in text
    assert re.search(r"AssertionError: .*golden/tensor.npy: 2 of 2 differ \(100 %\); first \[0\] actual 2 expected 1 ", text)
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
