"""Many threads of Python clip at once: in a free-threaded Python they also run at once."""

import sys
import sysconfig
import threading

import clipper
import numpy as np
import pytest

@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL")
def test_the_module_needs_no_gil():
    assert not sys._is_gil_enabled()


CALLS = {
    "numbers": lambda x, i: (clipper.clip(x, -i, i), np.clip(x, -i, i)),
    "out": lambda x, i: (clipper.clip(x, -i, i, out=np.empty_like(x)), np.clip(x, -i, i)),
    "scalars": lambda x, i: (clipper.clip(x, np.float32(-i), np.array(i, np.float32)), np.clip(x, -i, i)),
    "arrays": lambda x, i: (clipper.clip(x, np.full_like(x, -i), [i] * x.shape[-1]), np.clip(x, -i, i)),
    "another order": lambda x, i: (clipper.clip(x.T, np.full_like(x, -i).T.copy(), i), np.clip(x.T, -i, i)),
    "another dtype": lambda x, i: (clipper.clip(x, -i, i, to="int8"), np.rint(np.clip(x, -i, i)).astype(np.int8)),
    "other names": lambda x, i: (clipper.clip(x, a_min=-i, a_max=i), np.clip(x, -i, i)),
    "refused": lambda x, i: (refusal(x, i), f"min {i + 1} exceeds max {i}"),
}


def refusal(x, i):
    with pytest.raises(clipper.ClipperError) as caught:
        clipper.clip(x, i + 1, i)
    return str(caught.value).partition(";")[0]


@pytest.mark.parametrize("name", CALLS)
def test_threads_get_their_own_results(name):
    x = np.random.default_rng(1).normal(0, 20, (8, 16)).astype(np.float32)
    failures = []
    barrier = threading.Barrier(8)

    def work(number):
        barrier.wait()
        for step in range(150):
            found, expected = CALLS[name](x, (step * 7 + number * 31) % 100)
            if not np.array_equal(found, expected):
                failures.append((number, step))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
