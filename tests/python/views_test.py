"""x and out as random views of memory: out gets the result, and no other byte changes."""

import itertools

import clipper
import numpy as np
import pytest
from conftest import ALL_DTYPES, DTYPES, dtype_of

GUARD = 64  # bytes around the elements


class Views:
    """Views of memory that is larger than they are, and full of random bytes."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def below(self, end):
        return int(self.random.integers(0, end))

    def steps(self, shape, size):
        """Bytes from one element to the next along each axis, in any order of axes, with and without gaps."""
        steps = [0] * len(shape)
        for axis in self.random.permutation(len(shape)):
            steps[axis] = size if self.below(8) else -size
            size *= max(shape[axis], 1) + self.below(8) // 6
        return steps

    def view(self, memory, shape, dtype, steps):
        """The view at a random place of the memory that has room for it."""
        reach = [(count - 1) * step for count, step in zip(shape, steps, strict=True)]
        first, last = -sum(min(end, 0) for end in reach), sum(max(end, 0) for end in reach)
        room = len(memory) - 2 * GUARD - first - last - dtype.itemsize
        offset = GUARD + first + self.below(room + 1)
        offset -= 0 if self.below(4) == 0 else offset % dtype.itemsize
        return np.ndarray(shape, dtype, buffer=memory.data, offset=offset, strides=steps)

    def pair(self, source, target):
        """Views of one shape: x, out, and the memory of each, which can be the same."""
        shape = [1 + self.below(5) for _ in range(1 + self.below(3))]
        sizes = source.itemsize, target.itemsize
        gap = max(sizes) * 2 ** self.below(2)
        steps = self.steps(shape, gap if self.below(2) else sizes[0])
        kind = self.below(4)
        others = steps if kind < 2 else self.steps(shape, gap if kind == 2 else sizes[1])
        if any(abs(step) < sizes[1] for step in others):
            others = self.steps(shape, sizes[1])
        if self.below(6) == 0:
            axis = self.below(len(shape))
            steps = [0 if i == axis else step for i, step in enumerate(steps)]
        memory = [self.random.integers(0, 256, 8192, dtype=np.uint8) for _ in range(2)]
        if self.below(3) == 0:
            memory[1] = memory[0]
        return self.view(memory[0], shape, source, steps), self.view(memory[1], shape, target, others), memory


@pytest.mark.parametrize("source", ALL_DTYPES)
def test_no_byte_outside_of_out_changes(source):
    views = Views(ALL_DTYPES.index(source))
    for target, _ in itertools.product(ALL_DTYPES, range(40)):
        x, out, memory = views.pair(dtype_of(source), dtype_of(target))
        options = {} if source == target else {"to": target, "nan": 0}
        if source == target and source not in DTYPES[:-1] and views.below(2):
            names = [f"{kind}{x.dtype.itemsize}" for kind in "uiV"] + [x.dtype]
            x, out = (each.view(names[views.below(4)]) for each in (x, out))
            options["dtype"] = source
        bound = x.copy() if views.below(4) == 0 else x[..., :1] if views.below(4) == 0 else None
        if bound is not None and x.dtype.kind in "iu":
            options["max"] = bound
        try:
            result = clipper.clip(x.copy(), **{**options, "max": bound.copy()} if "max" in options else options)
        except clipper.ClipperError as error:
            with pytest.raises(type(error)):
                clipper.clip(x, out=out, **options)
            continue
        expected = [each.copy() for each in memory]
        place = out.__array_interface__["data"][0] - memory[1].__array_interface__["data"][0]
        np.ndarray(out.shape, out.dtype, expected[1].data, place, out.strides)[...] = result.view(out.dtype)
        if memory[0] is memory[1]:
            expected[0] = expected[1]
        assert clipper.clip(x, out=out, **options) is out
        np.testing.assert_array_equal(memory, expected, f"{x.shape} {x.dtype} {x.strides} to {out.dtype} {out.strides} {options}")
