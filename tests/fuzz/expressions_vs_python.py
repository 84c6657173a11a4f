#!/usr/bin/env python3
# torture clipper: 500 1 | 5000 | 100000
"""Random expressions: `clipper info --value`, --subtract and what elements become against Python's eval of the same text, of a tensor, of each index along an axis, of two tensors
together, in a mask and without nodata. Each trial has 20 expressions."""

import json

import trials
from expressions import random_tensor, random_text, value
from trials import np

EACH = 20


def check_results(trial, x, way, words, files, numbers_of, nan, outside, mark):
    """What elements become that are replaced: also by --apply of what --fit saves."""
    rng = trial.rng
    if way == "nodata" and mark != mark:
        return
    to = rng.choice(("float64", "float64", "float32", "int64"))
    limit = float(np.nanmedian(x.astype("f8")))
    given = [("--replace-above", x > limit), ("--replace-below", x < limit), ("--nan", nan)]
    given += [("--nodata-to", x == mark)] * (way == "nodata") + [("--mask-to", outside)] * ("mask" in way)
    taken = dict(rng.sample(given, rng.randrange(1, 1 + len(given))))
    if way == "nodata" and "--nodata-to" not in taken:
        to = "float64"  # which has the mark
    texts = {option: random_text(rng) for option in taken}
    numbers = {option: numbers_of(text) for option, text in texts.items()}
    if any(not np.isfinite(each).all() or np.any(abs(each) > 2.0**53) for each in numbers.values()):
        return
    ends = [f"--{end}={limit!r}" for option, end in (("--replace-above", "max"), ("--replace-below", "min")) if option in taken]
    keeps = ["--nan=7"] * (to == "int64" and "--nan" not in taken)
    run = trial.run(*words, *ends, *keeps, *(f"{option}={text}" for option, text in texts.items()), "--to", to, "--output-dir", "results", *files)
    y = np.load(trial.path("results/x.npy")) if run.code == 0 else None
    kept = np.where(np.isnan(x.astype("f8")), 7, x.astype("f8")) if keeps else x.astype("f8")
    wanted = np.rint(kept) if to == "int64" else kept
    for option, places in taken.items():
        each = np.rint(numbers[option]) if to == "int64" else numbers[option]
        wanted = np.where(places & ((x != mark) | (option == "--nodata-to") | (way != "nodata")), each, wanted)
    if "mask" in way and "--mask-to" in taken:
        wanted = np.where(outside, np.rint(numbers["--mask-to"]) if to == "int64" else numbers["--mask-to"], wanted)
    trial.check(y is not None and np.array_equal(y, wanted.astype(to), equal_nan=True), f"{way}: {taken.keys()} {texts}: {run.err}")
    if "--mask-to" in taken or way == "pooled" or (x.dtype.kind != "f" and taken.keys() == {"--nan"}):
        return
    nodata = words[words.index("--nodata"):][:2] if way == "nodata" else []
    codes = [trial.run(*words, *ends, *keeps, *(f"{option}={text}" for option, text in texts.items()), "--to", to, "--fit", "fit.npz", "x.npy", "fitted.npy"),
             trial.run(*nodata, *ends, *keeps, "--to", to, "--apply", "fit.npz", "x.npy", "applied.npy")]
    trial.check(not any(each.code for each in codes) and trial.path("fitted.npy").read_bytes() == trial.path("applied.npy").read_bytes(), f"{way}: --fit {texts}: {[each.err for each in codes]}")


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
    spread = lambda text: np.expand_dims(np.array([value(text, numbers) for numbers in values]), others) if "axis" in way else value(text, values[0])
    check_results(trial, x, way, words + ["--pooled"] * (way == "pooled"), files, spread, np.isnan(x.astype("f8")), ~mask, mark)
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
