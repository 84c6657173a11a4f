"""Expressions as subtract: the bytes of x minus Python's eval of the same text, of all elements, of each index, in a mask and without nodata."""

import random

import clipper
import numpy as np
import pytest
from expressions import random_tensor, random_text, value


@pytest.mark.parametrize("seed", range(5))
def test_expressions(seed):
    rng, generator = random.Random(seed), np.random.default_rng(seed)
    for _ in range(100):
        x, text = random_tensor(rng, generator), random_text(rng)
        way, axis, mark = rng.choice(["tensor", "axis", "mask", "nodata"]), rng.randrange(x.ndim), x.flat[0]
        mask = generator.random(x.shape) < 0.7
        valid = ~np.isnan(x.astype("f8")) & (mask if way == "mask" else x != mark if way == "nodata" else True)
        groups = [valid & (np.indices(x.shape)[axis] == i) for i in range(x.shape[axis])] if way == "axis" else [valid]
        if not all(group.any() for group in groups):
            continue
        found = np.array([value(text, x[group].astype("f8")) for group in groups])
        others = tuple(i for i in range(x.ndim) if i != axis)
        wanted = x.astype("f8") - (np.expand_dims(found, others) if way == "axis" else found[0])
        given = {"axis": {"per_axis": axis}, "mask": {"mask": mask}, "nodata": {"nodata": mark}, "tensor": {}}[way]
        y = clipper.clip(x, subtract=text, to="float64", **given)
        np.testing.assert_array_equal(y, np.where(x == mark, mark, wanted) if way == "nodata" else wanted, f"{way}: {text}")
