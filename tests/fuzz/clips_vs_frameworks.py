#!/usr/bin/env python3
# torture clipper: - | 120000 | 1200000
"""Clips random tensors with clipper and with the framework of each profile (scripts/frameworks.py), and checks that both agree, or
both refuse. Elements that the framework leaves unspecified (scripts/contract.py) need only be of the same kind. Prints a table:
tensors, refusals, and unspecified elements. The first run installs the frameworks in build-data/, torch as packages of Debian sid that
are unpacked there: 5 GB."""

import functools
from collections import Counter

import trials
from trials import np

import contract
import frameworks
from ways import simd_levels

BATCH = 10  # tensors that one process of clipper clips to the same bounds
ROWS = [row for row in contract.PROFILES if row.name in frameworks.CLIPS]
framework = functools.cache(frameworks.Framework)  # of this process


class Trial(trials.Trial):
    """A batch of tensors of one dtype, and bounds for one profile."""

    def pool(self, dtype, size):
        """The bits of elements, of which many are edges, near each other or equal."""
        rng, bits = self.generator, contract.bits_type(dtype)
        edges = trials.edges(trials.ml_dtypes.bfloat16(0).dtype if dtype == "bfloat16" else np.dtype(dtype))
        few = rng.choice(edges, 4) + rng.integers(0, 3, 4).astype(edges.dtype)
        kinds = [edges, few, rng.integers(0, np.iinfo(bits).max, 64, bits, endpoint=True)]
        if dtype in contract.FLOATS:
            kinds.append(np.array([0, 0, 1 << (8 * bits.itemsize - 1), edges[-1]], bits))
            numbers = rng.normal(0, 4, 64).astype("f4")
            kinds.append((numbers.view("u4") >> 16).astype(bits) if dtype == "bfloat16" else numbers.astype(dtype).view(bits))
        else:
            kinds.append(rng.integers(0, 128, 64).astype(bits))
        weights = rng.dirichlet([1] * len(kinds))
        return np.asarray(np.choose(rng.choice(len(kinds), size, p=weights), [rng.choice(kind, size) for kind in kinds])).astype(bits)

    def draw(self):
        rng = self.rng
        self.profile = ROWS[self.seed % len(ROWS)]
        self.dtype = rng.choice(self.profile.dtypes)
        self.arrays = bool(self.profile.arrays) and rng.random() < 0.4
        lengths = [rng.randint(1, 70), rng.randint(1, 70), rng.randint(1, 1000)]  # jax compiles a function for each
        shapes = [(rng.choice(lengths),) for _ in range(BATCH)]
        if self.arrays:  # all tensors have the shape that the arrays fit
            shapes = BATCH * [(rng.randint(1, 4), rng.randint(1, 250)) if rng.random() < 0.3 else shapes[0]]
        self.tensors = [self.pool(self.dtype, shape) for shape in shapes]
        self.bounds = {side: self.draw_bound(shapes[0]) for side in self.draw_sides()}
        self.typed = {}  # numbers of Python that torch converts to the dtype, or refuses
        if all(np.ndim(each) == 0 for each in self.bounds.values()):
            self.order_bounds()
        if self.profile.name == "pytorch-2" and not self.arrays and rng.random() < 0.4:
            self.typed = {side: self.draw_number(bits) for side, bits in self.bounds.items()}
            self.bounds = {side: self.converted(side) for side in self.bounds}

    def draw_sides(self):
        some = {"optional": [0, 1, 2], "one": [1, 2], "both": [2]}[self.profile.bounds]
        count = 2 if self.rng.random() < 0.6 else self.rng.choice(some)
        return self.rng.sample(("--min", "--max"), count) or ["--max"]

    def draw_bound(self, shape):
        if not self.arrays:
            bits = self.pool(self.dtype, ())
            canonical = self.profile.name == "pytorch-2" and self.number(bits) != self.number(bits)  # a float of Python has no payload
            return np.array(contract.nearest(np.nan, self.dtype), bits.dtype) if canonical else bits
        if self.profile.arrays == "broadcast" and self.rng.random() < 0.4:
            shape = shape[self.rng.randint(0, len(shape) - 1):]
            shape = tuple(self.rng.choice([1, extent]) for extent in shape)
        return self.pool(self.dtype, shape)

    def order_bounds(self):
        """Swaps most bounds of which min is above max."""
        lo, hi = (self.bounds.get(side) for side in ("--min", "--max"))
        if lo is not None and hi is not None and self.rng.random() < 0.8 and self.number(lo) > self.number(hi):
            self.bounds = {"--min": hi, "--max": lo}

    def draw_number(self, bits):
        """A number next to an element, or beyond the dtype's range."""
        number = self.number(bits)
        if self.dtype in contract.INTS:
            number = self.rng.choice([number, number + 256, number - 256, number + (1 << 40), number % 99 + 0.5])
            return -256 if self.dtype == "uint8" and number < 0 else number  # torch takes -1 for 255, and refuses -256
        ulp = 2.0 ** -contract.FLOATS[self.dtype].fraction
        return float(number * (1 + ulp * self.rng.choice([0.5, -0.5, 0.75, 1.25, 2]) + self.rng.choice([0, 0, 2**-30, -(2**-30), 2**-45])))

    def converted(self, side):
        try:
            convert = contract.float_bound if self.dtype in contract.FLOATS else contract.int_bound
            bits = convert(self.profile, self.dtype, contract.exact(self.text(self.typed[side])), side)
        except contract.Refused:
            bits = 0  # the framework and clipper must refuse
        return np.array(bits, contract.bits_type(self.dtype))

    def number(self, bits):
        return contract.values(bits.reshape(1), self.dtype)[0].item()

    def text(self, number):
        """A number as a word of the command line, exactly."""
        return str(number) if isinstance(number, int) or number != number or abs(number) == np.inf else number.hex()

    def save(self, name, bits):
        typed = bits.view(trials.FLOATS[-1]) if self.dtype == "bfloat16" else contract.values(bits, self.dtype)
        trials.save(self.path(name), typed, self.rng)

    def words(self):
        """The options of the bounds. A NaN with a sign or a payload needs a file."""
        words = ["--profile", self.profile.name]
        for side, bits in self.bounds.items():
            plain = bits.ndim == 0 and (self.number(bits) == self.number(bits) or bits == contract.nearest(np.nan, self.dtype))
            if side in self.typed or plain and self.rng.random() < 0.7:
                words += [side, self.text(self.typed.get(side, self.number(bits)))]
            else:
                self.save(f"{side[2:]}.npy", bits)
                words += [side, f"@{side[2:]}.npy"]
        return words

    def clip(self):
        names = [f"{i}.npy" for i in range(BATCH)]
        for name, bits in zip(names, self.tensors):
            self.save(name, bits)
        levels = ["--simd", self.rng.choice(simd_levels(self.clipper))]
        return self.run(*self.words(), *levels, "--output-dir", "out", *names), [self.path(f"out/{name}") for name in names]

    def clip_with_framework(self, bits):
        bounds = [self.bounds.get(side) for side in ("--min", "--max")]
        if self.profile.name == "pytorch-2" and not self.arrays:
            numbers = {side: self.typed.get(side, self.number(bits)) for side, bits in self.bounds.items()}
            bounds = [numbers.get(side) for side in ("--min", "--max")]
        return framework(self.profile.name)(self.dtype, bits, *bounds)

    def alike(self, a, b):
        """NaNs, or numbers that are zero or subnormal."""
        a, b = (contract.values(bits, self.dtype) for bits in (a, b))
        smallest = float(contract.value(1 << contract.FLOATS[self.dtype].fraction, self.dtype))
        return np.isnan(a) & np.isnan(b) | (abs(a) < smallest) & (abs(b) < smallest)

    def compare(self, bits, path):
        """Compares a file with the framework's result. Returns the numbers of masked elements, and of those that differ."""
        expected = self.clip_with_framework(bits)
        if isinstance(expected, str):
            self.wrong.append(f"the framework refuses: {expected}")
            return 0, 0
        tensor = np.load(path)
        result = np.ascontiguousarray(tensor.astype(tensor.dtype.newbyteorder("="))).view(bits.dtype)
        masked = contract.unspecified(self.profile, self.dtype, bits, *(self.bounds.get(side) for side in ("--min", "--max")))
        differ = result != expected
        wrong = differ & ~masked
        if (differ & masked).any():
            wrong |= differ & ~self.alike(result, expected)
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0])
            bounds = {side: hex(np.broadcast_to(each, bits.shape)[at]) for side, each in self.bounds.items()}
            self.wrong.append(f"{path.name} {bits.shape}: {wrong.sum()} differ, first at {at}: {bits[at]:#x} with {bounds} becomes "
                              f"{result[at]:#x}, not {expected[at]:#x}")
        return masked.sum(), (differ & masked).sum()


def try_one(trial):
    trial.draw()
    trial.about = f"{trial.profile.name} {trial.dtype}, {', '.join(f'{side} {each.shape}' for side, each in trial.bounds.items())}"
    run, results = trial.clip()
    if run.code == 0:
        masked = [trial.compare(*pair) for pair in zip(trial.tensors, results)]
        trial.way = trial.profile.name, False, sum(each.size for each in trial.tensors), *map(sum, zip(*masked))
    else:
        trial.way = trial.profile.name, True, 0, 0, 0
        trial.check(run.code == 2, f"exit {run.code}")
        expected = trial.clip_with_framework(trial.tensors[0])
        trial.check(isinstance(expected, str), f"the framework does not refuse: {run.err}")


def summary(ways):
    """A table of the profiles."""
    lines = [f"{'profile':16}  tensors  refused    elements  unspecified  of which differ"]
    for name in (row.name for row in ROWS):
        figures = Counter()
        for (profile, refused, elements, masked, differ), count in ((way, count) for way, count in ways.items() if way and way[0] == name):
            figures += {"tensors": BATCH * count, "refused": BATCH * count * refused, "elements": elements * count,
                        "masked": masked * count, "differ": differ * count}
        lines.append(f"{name:16} {figures['tensors']:8,} {figures['refused']:8,} {figures['elements']:11,} {figures['masked']:12,} {figures['differ']:16,}")
    return "\n  ".join(lines)


if __name__ == "__main__":
    for name in sorted(set(frameworks.NAMES.values())):
        trials.libraries.python_of(name)  # installs it, once
    trials.main("clips against their frameworks", try_one, BATCH, Trial, summary=summary)
