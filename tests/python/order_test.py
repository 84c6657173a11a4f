"""Random arrays of every memory order: the shape, the memory order and the values are those of np.clip."""

import pickle

import clipper
import numpy as np
import pytest

DTYPES = [np.dtype(code) for code in "bhiqBHIQefd"]


class Random:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def below(self, end):
        return int(self.random.integers(0, end))

    def elements(self, shape, dtype):
        low = 0 if dtype.kind == "u" else -50
        return self.random.integers(low, 50, shape).astype(dtype)

    def shape(self):
        """Axes of 1 to 4 elements, rarely of none."""
        low = 0 if self.below(20) == 0 else 1
        return tuple(int(size) for size in self.random.integers(low, 5, self.below(5)))

    def part_of(self, shape):
        """A shape that broadcasts to this one."""
        if self.below(3) == 0:
            return shape
        inner = shape[self.below(len(shape) + 1) :]
        return tuple(1 if self.below(3) == 0 else size for size in inner)

    def array(self, shape, dtype):
        """An array of this shape in any memory order."""
        permutation = self.random.permutation(len(shape))
        permuted = [shape[axis] for axis in permutation]
        kinds = {
            "C": lambda: self.elements(shape, dtype),
            "Fortran": lambda: np.asfortranarray(self.elements(shape, dtype)),
            "permuted": lambda: self.elements(permuted, dtype).transpose(np.argsort(permutation)),
            "steps": lambda: self.elements([2 * size for size in shape], dtype)[(slice(None, None, 2),) * len(shape)],
            "backwards": lambda: self.elements(shape, dtype)[tuple(slice(None, None, -1 if self.below(2) else 1) for _ in shape)],
            "broadcast": lambda: np.broadcast_to(self.elements([1 if self.below(2) else size for size in shape], dtype), shape),
            "with gaps": lambda: self.elements([*permuted[:-1], permuted[-1] + 2], dtype)[..., 1:-1].transpose(np.argsort(permutation)),
        }
        names = list(kinds)[: -1 if not shape else None]
        return kinds[names[self.below(len(names))]]()

    def bound(self, shape, dtype):
        return [lambda: None, lambda: dtype.type(self.below(50)), lambda: self.array(self.part_of(shape), dtype)][self.below(3)]()


def order_of(array):
    """The strides of the axes that have some."""
    return [stride for stride, size in zip(array.strides, array.shape, strict=True) if size > 1]


def check(x, bounds):
    if all(bound is None for bound in bounds):
        return
    expected = np.clip(x, *bounds)
    found = clipper.clip(x, *bounds, profile="numpy-2")
    assert (type(found), found.dtype, found.shape) == (type(expected), expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)
    if expected.size:
        assert order_of(found) == order_of(expected)
    if isinstance(found, np.ndarray):
        out = np.zeros_like(found)
        assert clipper.clip(x, *bounds, out=out, profile="numpy-2") is out
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("seed", range(10))
def test_as_np_clip(seed):
    random = Random(seed)
    for _ in range(2000):
        shape, dtype = random.shape(), DTYPES[random.below(len(DTYPES))]
        x = random.array(random.part_of(shape), dtype)
        check(x, [random.bound(shape, dtype) for _ in range(2)])


def test_every_array_may_enlarge_x():
    x = np.array([1.0, 2, 3])
    column = np.array([[1.0], [10]])
    expected = np.array([[1.0, 2, 3], [10, 20, 30]])
    np.testing.assert_array_equal(clipper.clip(x, scale=column), expected)
    np.testing.assert_array_equal(clipper.clip(x, bias=column), x + column)
    np.testing.assert_array_equal(clipper.clip(x, scale=column, max=9, to="int8"), [[1, 2, 3], [9, 9, 9]])
    np.testing.assert_array_equal(clipper.clip(5, [1, 6], 10), [5, 6])
    with pytest.raises(clipper.ClipperError, match=r"out has shape \(3,\), but the result has shape \(2, 3\)"):
        clipper.clip(x, column, out=x)
    with pytest.raises(clipper.ClipperError, match=r"max array has shape \(3, 1\); it must broadcast to \(2, 3\)"):
        clipper.clip(x, column, np.zeros((3, 1)))


def test_the_function_can_be_pickled():
    assert pickle.loads(pickle.dumps(clipper.clip)) is clipper.clip
