#!/usr/bin/env python3
"""Casts, rounds and replaces random tensors, and checks elements, counts and refusals against Python's fractions (cast_oracle.py).
Case K tries the pair of dtypes K modulo 144; `--table` prints how many cases each pair had."""

import functools
import math
import random
import sys
from fractions import Fraction

import trials
from trials import np

import array_cases
import arrays_vs_numpy as ways
import cast_oracle
import contract
from array_cases import DTYPES, FLOATS, INTEGERS, Tensor, stored_type
from cast_oracle import BOUNDS, ROUNDS, Cast
from contract import USAGE, Refused, nearest

PAIRS = [(source, target) for source in DTYPES for target in DTYPES]

# Random cases --------------------------------------------------------------------------------------------

NUMBERS = [*range(-3, 4), *(sign * 2**power + step for power in (7, 8, 15, 16, 24, 31, 32, 53, 63, 64) for sign in (1, -1) for step in (-1, 0, 1)),
           *(Fraction(each, 2) for each in (-257, -5, -3, -1, 1, 3, 5, 253, 255, 509, 511)), 65504, 65520, 65519,
           Fraction(1, 2**24), Fraction(1, 2**25), Fraction(1, 2**133), Fraction(1, 2**134), 2**128, 1 + Fraction(1, 2**8) + Fraction(1, 2**30)]
BOUND_TEXTS = ["0", "-0.0", "1", "-1", "0.5", "-2.5", "6", "127", "128", "-128", "254.5", "255.5", "256", "-0.6", "0.1", "65504", "65519", "65520",
               "-70000", "2147483647.5", "16777217", "9007199254740993", "9007199254740992.5", "9223372036854775807", "18446744073709551615", "1e30", "1e39"]
SCALES = ["1", "2", "-1", "0.5", "0.1", "255", "1e-3", "3", "-0.017", "1e10", "0.00784313725490196", "100"]
BIASES = ["0", "0.5", "-0.5", "128", "-1", "0.1", "1e10", "-3", "9007199254740993", "2.5"]


class Draw(array_cases.Draw):
    """Draws casts. Elements are those near numbers where a result changes."""

    pool = None

    def near(self, dtype, number):
        """The element nearest to a number, or one of its neighbours."""
        step = self.rng.choice([-2, -1, -1, 0, 0, 0, 1, 1, 2])
        size = 8 * stored_type(dtype).itemsize
        if dtype in INTEGERS:
            limits = np.iinfo(dtype)
            return min(max(math.floor(number) + step, int(limits.min)), int(limits.max)) % (1 << size)
        return (nearest(number, dtype) + step) % (1 << size)

    def target(self, dtype):
        """A number at which elements of a dtype change, or NUMBERS."""
        if self.chance(0.4):
            return self.rng.choice(NUMBERS)
        if dtype in INTEGERS:
            limits = np.iinfo(dtype)
            return self.rng.choice([int(limits.min), int(limits.max), 0, self.rng.randint(int(limits.min), int(limits.max))]) \
                + Fraction(self.rng.choice([-2, -1, 0, 1, 2]), 2)
        exponent, fraction = contract.FLOATS[dtype]
        infinity = ((1 << exponent) - 1) << fraction
        bits = self.rng.choice([self.rng.randrange(infinity), infinity - 1, self.rng.randrange(1 << fraction)])
        low = contract.value(bits, dtype)
        unit = Fraction(low) - Fraction(contract.value(bits - 1, dtype)) if bits else Fraction(0)
        return self.rng.choice([1, -1]) * (Fraction(low) + unit * Fraction(self.rng.choice([0, 1, 2]), 2))

    def draw_pool(self, case):
        dtype, unsigned = case.x.dtype, f"u{stored_type(case.x.dtype).itemsize}"
        scale, bias = (case.parameters.get(option, default) for option, default in (("--scale", "1"), ("--bias", "0")))
        inverse = isinstance(scale, str) and isinstance(bias, str) and Fraction(scale) != 0
        bits = []
        for _ in range(100):
            number = self.target(case.to) - int(case.parameters.get("--zero-point", 0))
            if inverse and self.chance(0.8):
                number -= Fraction(bias)
                number = number * Fraction(scale) if case.divides else number / Fraction(scale)
            bits.append(self.near(dtype, number))
        pool = np.array(bits, unsigned).view(stored_type(dtype))
        pool = np.concatenate([pool, array_cases.Draw.elements(self, dtype, (30,), nan=True)])
        if dtype in FLOATS:
            keeps = case.to in FLOATS or case.nan
            self.pool_nan = self.chance(0.5 if keeps else 0.1)
            bad = array_cases.is_nan(pool, dtype)
            pool = np.concatenate([pool[~bad], self.nans(dtype, 4)]) if self.pool_nan else pool[~bad]
        self.pool = pool

    def elements(self, dtype, shape, nan=False, style=None):
        if self.pool is None or not nan:
            return super().elements(dtype, shape, nan, style)
        return self.numpy.choice(self.pool, math.prod(shape)).reshape(shape)

    def cast(self, source, target, count):
        rng, given = self.rng, {}
        shape = self.shape(count)
        case = Cast(Tensor(source, np.zeros(shape, stored_type(source))), given)
        if source != target or self.chance(0.6):
            given["--to"] = target
        if self.chance(0.3):
            given["--round"] = rng.choice(list(ROUNDS))
        if target in INTEGERS and "--to" in given and self.chance(0.3):
            given["--zero-point"] = str(rng.choice([0, 1, 3, 100, 127, 128, -1, -128, -100]))
        if "--to" in given and self.chance(0.2):
            given["--saturate"] = ""
        if source in FLOATS and self.chance(0.4):
            case.nan = rng.choice(["error", "keep", "min", "max", "0", "-0.0", "2.5", "-1", "100", "300", "2049", "16777217", "1e39"])
        for option, texts in (("--scale", SCALES), ("--bias", BIASES)):
            if self.chance(0.3):
                given[option] = rng.choice(texts) if self.chance(0.7) else self.factor(source, shape, option)
        case.divides = "--scale" in given and self.chance(0.4) and self.divisor(given["--scale"], source)
        for side in BOUNDS:
            if self.chance(0.5):
                given[side] = self.bound_text(side, target)
        if not case.scaled and self.chance(0.1):
            given |= zip(BOUNDS, rng.choice([("1%", "99%"), ("25%", "75%"), ("0%", "99.9%")]))
        elif self.chance(0.15):
            for side in BOUNDS:
                given.pop(side, None)
            of_arithmetic = case.arithmetic not in (None, object) and {"--to", "--round"} & {*given}
            kind = case.arithmetic if of_arithmetic and self.chance(0.5) else source
            arrays = [self.tensor(kind, each) for each in self.bounds(kind, [self.parameter_shape(shape) for _ in BOUNDS])]
            given |= zip(BOUNDS, arrays)
            if self.chance(0.3):
                side = rng.choice(BOUNDS)
                given[side] = self.bound_text(side, target)
        for option, side in (("--replace-below", "--min"), ("--replace-above", "--max")):
            if side in given and self.chance(0.25) or self.chance(0.01):
                values = ["0", "1", "7", "-1", "100"] + ([] if case.mode or case.to in INTEGERS else ["nan", "-0.5", "0.1", "inf"])
                given[option] = rng.choice(values)
        if self.chance(0.1) and not any(option.startswith("--replace") for option in given):
            case.above = rng.choice(["min", "max"])
        if not {"--to", "--round", "--replace-below", "--replace-above"} & {*given} and not case.divides:
            given["--round"] = rng.choice(list(ROUNDS))
        self.draw_pool(case)
        case.x = self.tensor(source, self.elements(source, shape, nan=True))
        return case

    def divisor(self, given, source):
        """Whether elements can be divided by the scale."""
        if isinstance(given, str):
            return Fraction(given) != 0
        return given.dtype in FLOATS and bool((given.elements.astype("float32") != 0).all())

    def bound_text(self, side, target):
        number = self.rng.choice(BOUND_TEXTS)
        if self.chance(0.1):
            return "-inf" if (side == "--min") != self.chance(0.1) else "inf"
        if side == "--min" and self.chance(0.6) and not number.startswith("-"):
            return "-" + number
        return number


# Running -------------------------------------------------------------------------------------------------


class Trial(ways.Trial):
    oracle = staticmethod(cast_oracle.expected)

    @functools.cached_property
    def draw(self):
        return Draw(self.rng, self.generator)

    def operation(self):
        case, pairs = self.case, []
        for option, given in case.parameters.items():
            value = given if isinstance(given, str) else f"@{option[2:]}.npy"
            pairs.append([option] if option == "--saturate" else [option, f"1/{value}" if case.divides and option == "--scale" else value])
        pairs += [[option, value] for option, value in (("--nan", case.nan), ("--min-above-max", case.above)) if value]
        self.rng.shuffle(pairs)
        return [word for pair in pairs for word in pair]


def percentages(case):
    return any(isinstance(each, str) and each.endswith("%") for each in case.parameters.values())


def refused(trial, code, words):
    trial.prepare()
    before = trial.files()
    choices = [["in.npy", "out.npy"], ["--in-place", "in.npy"], ["--output-dir", "made", "in.npy"], ["--dry-run", "in.npy", "out.npy"]]
    names = trial.rng.choice(choices if percentages(trial.case) else [*choices, ["-", "out.npy"]])
    run = trial.clip(*names, stdin=trial.case.x.file() if "-" in names else None)
    trial.check_refused(run, before, (code,), [words] if words else ())


ONE_FILE = {ways.to_file: 6, ways.in_place: 2, ways.in_archive: 2, ways.verify: 1, ways.verify_another: 1, ways.dry_run: 1, ways.fail_if_clipped: 1}
WAYS = ONE_FILE | {ways.through_pipes: 2, ways.from_pipe: 2, ways.batch: 2, ways.shards: 2, ways.split_output: 2, ways.in_place_direct: 1}


def try_one(trial):
    rng = random.Random(f"way {trial.seed}")
    pair = PAIRS[trial.seed % len(PAIRS)]
    count = 40_000 if rng.random() < 0.01 else rng.choice([20, 300, 300, 3000])
    way = rng.choices(list(WAYS), WAYS.values())[0]
    if way in (ways.shards, ways.split_output) and rng.random() < 0.1:
        count = 300_000  # shards share a tensor only if it is larger than 1 MiB
    case = trial.draw.cast(*pair, count)
    if percentages(case) and way not in ONE_FILE:
        way = ways.to_file
    refuses_nan = case.nan == "error" or not case.nan and case.to in INTEGERS
    other_refused = refuses_nan and case.x.dtype in FLOATS and trial.draw.pool_nan or not case.x.elements.size
    if way is ways.batch and other_refused:  # another file of the batch has elements that the first one does not have
        way = ways.to_file
    trial.case = case
    trial.about = f"{ways.described(case.x)}"
    try:
        trial.take(case)
    except Refused as refusal:
        trial.about += f"; the oracle refuses: {refusal.rule}"
        trial.way = f"refused {' '.join(pair)}"
        return refused(trial, refusal.code, refusal.word)
    trial.prepare()
    trial.way = f"{way.__name__} {' '.join(pair)}"
    return way(trial)


def summary(found):
    """The ways, and the table of pairs."""
    lines = [f"{way} {sum(count for key, count in found.items() if key.startswith(way + ' '))}"
             for way in sorted({key.split()[0] for key in found if key})]
    if "--table" in TABLE:
        lines = ["\n" + " ".join(f"{name:>8}" for name in ("", *DTYPES))] + [
            " ".join([f"{source:>8}", *(f"{sum(count for key, count in found.items() if key.endswith(f' {source} {target}')):8}" for target in DTYPES)])
            for source in DTYPES] + lines
        return "\n".join(lines)
    return ", ".join(lines)


if __name__ == "__main__":
    TABLE = [word for word in sys.argv if word == "--table"]
    sys.argv = [word for word in sys.argv if word != "--table"]
    trials.main("casts against Python's fractions", try_one, trial_type=Trial, summary=summary)
