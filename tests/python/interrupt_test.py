"""Ctrl-C ends a long clip() of arrays; files_test.py has the functions for files."""

import signal
import time

import clipper
import numpy as np
import pytest


@pytest.fixture
def interrupted():
    """Calls a function that a signal interrupts; the seconds from the signal to the exception, or None if it never came."""

    def interrupt(*_):
        raise KeyboardInterrupt

    def run(work, after):
        handler = signal.signal(signal.SIGALRM, interrupt)
        begin = time.perf_counter()
        try:
            signal.setitimer(signal.ITIMER_REAL, after)
            work()
        except KeyboardInterrupt:
            return time.perf_counter() - begin - after
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
        return None

    return run


ROW = np.full(1024, 1, np.float32)
ROWS = [1 << 15, 1 << 17, 1 << 18]
ONES = np.full((ROWS[-1], 1024), 1, np.float32)
CALLS = {
    "numbers": lambda x, out, threads: clipper.clip(x, 1, 6, out=out, threads=threads),
    "array like x": lambda x, out, threads: clipper.clip(x, ONES[: len(x)], 6, out=out, threads=threads),
    "broadcast": lambda x, out, threads: clipper.clip(x, ROW, 6, out=out, threads=threads),
    "cast": lambda x, out, threads: clipper.clip(x, 1, 6, to="int32", out=out.view(np.int32), threads=threads),
    "percentile": lambda x, out, threads: clipper.clip(x, "99.9%", out=out, threads=threads),
    "steps": lambda x, out, threads: clipper.clip(x[:, ::2], 1, 6, out=out[:, ::2], threads=threads),
}


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize("name", CALLS)
def test_a_signal_ends_the_work(name, threads, interrupted):
    """Elements that were not clipped show that the call did not go on to its end. A call that ends before the signal is
    tried again with a larger array."""
    for rows in ROWS:
        x, out = np.zeros((rows, 1024), np.float32), np.zeros((rows, 1024), np.float32)
        latency = interrupted(lambda: CALLS[name](x, out, threads), 0.005)
        if latency is not None and not out.all():
            break
    else:
        raise AssertionError("no call was interrupted")
    print(f"{name}, {threads} threads: {latency:.3f} s after the signal")
    assert latency < 5
    assert clipper.clip(x[:100], 1).all()
