#!/usr/bin/env python3
# torture: 100 | 4000 | 100000
"""Checks mean and standard deviation of `clipper info --stats` for random and edge tensors against Python's fractions: both are the
float64 nearest to the exact value, for any number of threads and any byte order."""

import json

import trials
from trials import FLOATS, INTEGERS, edges, np, save

from figures import mean_and_deviation

BATCH = 40  # max number of tensors per run of clipper


def random_bits(generator, dtype, count):
    """Elements of any bits, mixed with edges."""
    known = edges(dtype)
    bits = generator.bit_generator.random_raw(count).astype(known.dtype)
    return np.where(generator.random(count) < 0.3, generator.choice(known, count), bits).view(dtype)


def random_integers(generator, dtype, count):
    """Elements near one end of the dtype, or all equal."""
    limits = np.iinfo(dtype)
    width = int(generator.choice([0, 1, 10, 127]))
    start = (limits.min, limits.max - width)[generator.integers(2)]
    return (generator.integers(0, width + 1, count).astype(object) + start).astype(dtype)


def random_floats(generator, dtype, count):
    """Elements whose magnitudes are alike, differ widely, or differ by little from a large one; some with special values."""
    values = generator.normal(0, 1, count)
    kind = generator.integers(7)
    if kind == 1:
        values = values * 10.0 ** generator.uniform(-30, 30, count)
    elif kind == 2:
        values = values + 1e8
    elif kind == 3:
        values = np.ldexp(values, int(generator.integers(-1070, 1020)))
    elif kind == 4:
        values = np.full(count, values[0] if count else 0)
    elif kind == 5:
        values[generator.random(count) < 0.01] = generator.choice([-9999, 1e20, 9.96921e36, np.nan, np.inf, -np.inf])
    elif kind == 6:
        values = np.exp(20 * values)
    return values.astype(dtype)


def random_tensor(rng, generator):
    dtype = rng.choice(INTEGERS + FLOATS)
    count = rng.choice([0, 1, 2, 3, 7, 100, 1023, 1024, 1025, 3000, 5000])
    if rng.random() < 0.02:
        count = 300_000
    if rng.random() < 0.3:
        return random_bits(generator, dtype, count)
    return (random_floats if dtype in FLOATS else random_integers)(generator, dtype, count)


def exact_statistics(tensor):
    """Mean and standard deviation of the finite elements, as floats; None if there are none."""
    values = tensor.astype(np.float64) if tensor.dtype in FLOATS else tensor
    return mean_and_deviation(values[np.isfinite(values)].tolist())


def said(number):
    return number if number is None else float(number)


def check_batch(trial):
    tensors = [random_tensor(trial.rng, trial.generator) for _ in range(BATCH)]
    for i, tensor in enumerate(tensors):
        save(trial.path(f"{i:03}.npy"), tensor, trial.rng)
    run = trial.run("info", "--stats", "--json", "--threads", trial.rng.choice("123"), ".")
    lines = [json.loads(line) for line in run.out.splitlines()]
    trial.check(len(lines) == BATCH and not run.code and not run.err, f"exit status {run.code}, {len(lines)} lines: {run.err}")
    for tensor, line in zip(tensors, lines):
        statistics = line.get("statistics", {})
        found = said(statistics.get("mean")), said(statistics.get("standard_deviation"))
        right = exact_statistics(tensor)
        trial.check(found == right, f"{tensor.dtype} {tensor.shape} {tensor[:5]}\n  clipper says {found}\n  exact is     {right}")


if __name__ == "__main__":
    trials.main("mean and standard deviation against Python's fractions", check_batch, BATCH)
