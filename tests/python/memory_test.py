"""Leaks, the largest arrays, threads and processes."""

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time

import clipper
import numpy as np
import pytest


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(work, calls):
    """Bytes by which the process grows in `calls` calls, after a tenth of them."""
    for _ in range(calls // 10):
        work()
    gc.collect()
    before = resident()
    for _ in range(calls):
        work()
    gc.collect()
    return resident() - before


def refused(*arguments, **options):
    with pytest.raises(clipper.ClipperError):
        clipper.clip(*arguments, **options)


x = np.linspace(-3, 9, 16, dtype=np.float32)
lo = np.zeros(16, np.float32)
spare = np.zeros(16, np.float32)
strided = np.zeros((4, 8), np.float32)[:, ::2]
numbers = iter(range(10**9))


@pytest.mark.parametrize(
    "name, work, calls",
    [
        ("numbers", lambda: clipper.clip(x, 0, 6), 1_000_000),
        ("out", lambda: clipper.clip(x, 0.5, 6.5, out=x), 1_000_000),
        ("many bounds", lambda: clipper.clip(x, -next(numbers) / 7), 200_000),
        ("text", lambda: clipper.clip(x, "0", "1e400"), 100_000),
        ("large int", lambda: clipper.clip(x, -(10**40), 10**40), 100_000),
        ("arrays", lambda: clipper.clip(x, lo, max=6), 100_000),
        ("strided", lambda: clipper.clip(strided, strided, scale=2), 100_000),
        ("enlarged", lambda: clipper.clip(x, lo[:, np.newaxis], a_max=6), 50_000),
        ("another order", lambda: clipper.clip(strided, np.asfortranarray(strided)), 100_000),
        ("memory of another object", lambda: clipper.clip(x, 0, out=memoryview(spare), dtype="f4"), 20_000),
        ("scalars", lambda: clipper.clip(np.float32(3), np.float32(1), np.int8(2)), 100_000),
        ("percentiles", lambda: clipper.clip(x, "1%", "99%"), 20_000),
        ("another dtype", lambda: clipper.clip(x, 0, lo + 6, to="bfloat16"), 50_000),
        ("quantized", lambda: clipper.clip(x, scale=clipper.reciprocal(lo + 2), zero_point=lo[:1], to="uint8"), 50_000),
        ("refused to", lambda: refused(x, to="uint8", out=x), 20_000),
        ("refused", lambda: refused(x, 3, 2), 20_000),
        ("refused out", lambda: refused(x, 3, out=strided), 20_000),
        ("compare", lambda: clipper.compare(x, lo, max_listed=3), 1_000),
        ("info", lambda: clipper.info(x), 1_000),
    ],
)
def test_no_leak(name, work, calls):
    assert growth(work, calls) < 1 << 20, name


def test_large_calls_do_not_leak():
    big = np.zeros(1 << 21)  # 16 MiB: several threads
    assert growth(lambda: clipper.clip(big, 1, out=big), 50) < 4 << 20


def test_references():
    bounds = [3.25, 10**30, "4", np.float32(1), np.zeros(16, np.float32)]
    before = [sys.getrefcount(bound) for bound in bounds]
    held = sys.getrefcount(x)
    for bound in bounds:
        clipper.clip(x, bound, min_above_max="max")
        clipper.clip(x, bound, out=x, scale=1, min_above_max="max")
    del bound
    assert [sys.getrefcount(bound) for bound in bounds] == before
    assert sys.getrefcount(x) == held


@pytest.mark.slow
def test_more_than_2_to_the_31_elements():
    count = 2**31 + 5
    with open("/proc/meminfo") as file:
        available = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable")) * 1024
    if available < 3 * count:
        pytest.skip(f"needs {3 * count >> 20} MiB of memory")
    big = np.zeros(count, np.int8)
    big[-3:] = 9, -9, 3
    result = clipper.clip(big, -5, 5)
    np.testing.assert_array_equal(result[-4:], [0, 5, -5, 3])
    clipper.clip(big.reshape(-1, 1), -4, 4, out=result.reshape(-1, 1))
    np.testing.assert_array_equal(result[-4:], [0, 4, -4, 3])
    assert clipper.clip(big, np.int8(-1), nan="error").min() == -1


def test_python_goes_on_while_a_large_array_is_clipped():
    big = np.zeros(1 << 26, np.float32)
    done = threading.Event()
    steps = 0

    def work():
        clipper.clip(big, 0, 6, out=big, threads=1)
        done.set()

    thread = threading.Thread(target=work)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # so that only clip() gives the GIL away
    try:
        thread.start()
        while not done.is_set():
            steps += 1
            time.sleep(0)
    finally:
        sys.setswitchinterval(interval)
    thread.join()
    assert steps > 100


def clip_in_child(size):
    array = np.full(size, 7.0)
    return float(clipper.clip(array, 0, 6).sum()) / size


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children(method):
    big = np.zeros(1 << 21)
    clipper.clip(big, 1)  # starts threads, which a forked child does not have
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(clip_in_child, [10, 1 << 21, 1 << 21]).get(timeout=60) == [6.0] * 3


def test_threads_at_the_exit():
    code = """if True:
        import threading, numpy as np, clipper
        big = np.zeros(1 << 23)
        def work():
            while True:
                clipper.clip(big, 1, 2)
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        clipper.clip(big, 1, 2)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_other_numbers_of_threads_print_nothing():
    code = """if True:
        import numpy as np, clipper
        big = np.zeros(1 << 22)
        for threads in (2, 3, 2, 0, 3):
            clipper.clip(big, 1, 2, threads=threads)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_symbols_are_hidden():
    """Another oneTBB in the process must not be mixed up with the one in the module."""
    core = clipper._core.__file__
    symbols = subprocess.run(["nm", "--dynamic", "--defined-only", core], capture_output=True, text=True, check=True)
    names = [line.split()[-1] for line in symbols.stdout.splitlines()]
    assert names == ["PyInit__core"]


@pytest.mark.nightly
def test_a_wheel_needs_the_c_library_only():
    core = clipper._core.__file__
    needed = subprocess.run(["readelf", "--dynamic", core], capture_output=True, text=True, check=True).stdout
    libraries = {line.split("[")[1][:-1] for line in needed.splitlines() if "(NEEDED)" in line}
    assert libraries <= {"libc.so.6", "libgcc_s.so.1", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
