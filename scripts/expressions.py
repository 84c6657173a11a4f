"""Random expressions of figures, and what Python gives for their texts."""

import numpy as np

from figures import STATISTICS, as_float, one_figure, value_of


def value(text, values):
    """Of float64 elements: Python's eval of the text with their figures, each rounded once."""
    return as_float(value_of(text, lambda word: one_figure(word, values)))


def number(rng):
    return rng.choice((str(rng.randrange(100)), f"{rng.random() * 9:.3f}", f"{rng.random():.2e}", "1e-7", "127", "1.4826", ".5"))


def term(rng, has_figure):
    if not has_figure:
        return number(rng)
    factors = "".join(number(rng) + rng.choice(("*", " * ")) for _ in range(rng.choice((0, 0, 1, 1, 2))))
    word = rng.choice((*STATISTICS, f"{rng.randrange(101)}%", f"{rng.random() * 100:.2f}%"))
    if word in STATISTICS:
        factors = rng.choice((factors, factors.rstrip(" *")))
    return factors + word + "".join(rng.choice(("/", " / ")) + rng.choice(("127", "2", "0.3", "1e2")) for _ in range(rng.choice((0, 0, 1, 2))))


def random_text(rng):
    """An expression that is no rule, such as mean-3std, whose sum is exact: its signs stand between spaces."""
    count = rng.randrange(1, 5)
    first = rng.randrange(count)
    terms = [term(rng, i == first or rng.random() < 0.6) for i in range(count)]
    return rng.choice(("", "", "-")) + "".join(rng.choice((" + ", " - ")) * (i != 0) + each for i, each in enumerate(terms))


def random_tensor(rng, generator):
    """Floats or integers, with ties and now and then NaN."""
    shape = rng.choice(((7,), (3, 5), (4, 1, 6), (2, 3, 4)))
    dtype, spread = rng.choice(("f4", "f8", "f2", "i1", "u1", "i4", "u2")), rng.choice((3, 100))
    x = np.asarray(generator.integers(0 if dtype[0] == "u" else -spread, spread, shape) / (rng.choice((1, 7)) if dtype[0] == "f" else 1), dtype)
    if dtype[0] == "f" and rng.random() < 0.3:
        x[generator.random(shape) < 0.2] = np.nan
    return x
