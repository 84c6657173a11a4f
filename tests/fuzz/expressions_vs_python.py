#!/usr/bin/env python3
# torture clipper: 500 1 | 5000 | 100000
"""Random expressions: `clipper info --value` and --subtract against Python's eval of the same text, of a tensor, of each index along an axis, of two tensors together, in a mask and
without nodata. Each trial has 20 expressions."""

import json

import trials
from expressions import random_tensor, random_text, value
from trials import np

EACH = 20


def check_expressions(trial):
    rng = trial.rng
    x = random_tensor(rng, trial.generator)
    mask = trial.generator.random(x.shape) < 0.7
    way = trial.way = rng.choice(("tensor", "axis", "pooled", "mask", "nodata", "axis and mask"))
    for name in ("x.npy", "y.npy"):
        np.save(trial.path(name), x)
    np.save(trial.path("m.npy"), mask)
    axis = rng.randrange(x.ndim)
    mark = x.flat[0].item()
    others = tuple(i for i in range(x.ndim) if i != axis)
    valid = ~np.isnan(x.astype("f8")) & (mask if "mask" in way else True) & (x != mark if way == "nodata" else True)
    groups = [valid & (np.indices(x.shape)[axis] == i) for i in range(x.shape[axis])] if "axis" in way else [valid]
    if not all(group.any() for group in groups):
        return
    values = [np.tile(x[group].astype("f8"), 1 + (way == "pooled")) for group in groups]
    words = [*["--per-axis", str(axis)] * ("axis" in way), *["--mask", "@m.npy"] * ("mask" in way), *["--nodata", repr(mark)] * (way == "nodata")]
    texts = [random_text(rng) for _ in range(EACH)]
    files = ["x.npy", "y.npy"][: 1 + (way == "pooled")]
    run = trial.run("info", "--json", *words, *["--total"] * (way == "pooled"), *(f"--value={text}" for text in texts), *files)
    lines = [json.loads(line) for line in run.out.splitlines()] if run.code == 0 else []
    trial.check(len(lines) == len(groups), f"{way}: {run.err}")
    for line, numbers in zip(lines, values):
        for text, each in zip(texts, line["statistics"]["values"]):
            expected = value(text, numbers)
            trial.check(float(each["value"]) == expected, f"{way}: {text}: {each['value']} is not {expected!r}")
    expected = np.array([value(texts[0], numbers) for numbers in values])
    pooled = ["--pooled"] * (way == "pooled")
    run = trial.run(*words, *pooled, f"--subtract={texts[0]}", "--to", "float64", "--output-dir", "out", *files)
    y = np.load(trial.path("out/x.npy")) if run.code == 0 else None
    wanted = x.astype("f8") - (np.expand_dims(expected, others) if "axis" in way else expected[0])
    if way == "nodata":
        wanted[x == mark] = mark
    trial.check(y is not None and np.array_equal(y, wanted, equal_nan=True), f"{way}: --subtract {texts[0]}: {run.err}")


if __name__ == "__main__":
    trials.main("expressions against Python's eval", check_expressions, tensors=EACH)
