#!/usr/bin/env python3
"""The six float8 dtypes against ml_dtypes: casts to them from every dtype, from them to every dtype, and clips.

    float8_vs_ml_dtypes.py CLIPPER

ml_dtypes gives the value of each element. The nearest of these values is found in float64 or in integers, because ml_dtypes rounds
float64 and integers twice, to float32 first. Where it rounds once, from float32, its own results must be the same, except between
2^-127 and 1.5 * 2^-127, which it makes 2^-126 of float8_e8m0fnu.
"""

import bisect
import io
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))

import libraries  # noqa: E402

libraries.require({name: libraries.PEERS[name] for name in ("numpy", "ml_dtypes")})

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

import contract  # noqa: E402

FORMATS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz", "float8_e8m0fnu")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64", "bfloat16")


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name) if name in FORMATS or name == "bfloat16" else name)


class Format:
    def __init__(self, name):
        self.name, self.dtype = name, dtype_of(name)
        self.values = np.arange(256, dtype=np.uint8).view(self.dtype).astype(np.float32).astype(np.float64)
        self.has_sign = name != "float8_e8m0fnu"
        self.has_minus_zero = np.signbit(self.values[0x80]) and self.values[0x80] == 0
        self.has_infinity = np.isinf(self.values).any()
        elements = [i for i in range(256) if np.isfinite(self.values[i]) and not np.signbit(self.values[i])]
        self.elements = np.array(sorted(elements, key=lambda i: self.values[i]), np.uint8)
        self.magnitudes = self.values[self.elements]
        last = self.magnitudes[-1]
        following = last * 2 if not self.has_sign else 2 * last - self.magnitudes[-2]
        self.ties = (self.magnitudes + np.append(self.magnitudes[1:], following)) / 2
        self.beyond = np.flatnonzero(np.isnan(self.values))[0] if not self.has_infinity else 0x7C

    def nearest(self, numbers, saturates):
        """The element for each number, and whether there is none: of the numbers that are not NaN."""
        is_integer = numbers.dtype.kind in "iu"
        exact = np.array([abs(x) for x in numbers.tolist()], object) if is_integer else np.abs(numbers.astype(np.float64))
        ties = list(map(Fraction, self.ties)) if is_integer else self.ties
        if is_integer:
            place = np.array([bisect.bisect_left(ties, x) for x in exact.tolist()])
            is_tie = np.array([p < len(ties) and ties[p] == x for p, x in zip(place, exact.tolist())])
        else:
            place = np.searchsorted(ties, exact)
            is_tie = (place < len(ties)) & (ties[np.minimum(place, len(ties) - 1)] == exact)
        place = place + (is_tie & ((place % 2 == 1) if self.has_sign else True))  # without fraction, the upper one
        is_beyond = place >= len(ties)
        result = self.elements[np.minimum(place, len(ties) - 1)].copy()
        negative = numbers < 0 if is_integer else np.signbit(numbers)
        if self.has_sign:
            result = np.where(negative & (self.has_minus_zero | (result != 0)), result | 0x80, result)
            beyond = np.where(negative & self.has_infinity, self.beyond | 0x80, self.beyond)
        else:
            is_below = negative | (exact <= 0).astype(bool)
            is_beyond, result = is_beyond | is_below, np.where(is_below, 0, result)
            beyond = self.beyond
        refused = is_beyond & (not self.has_infinity)
        if not saturates:
            result = np.where(is_beyond, beyond, result)
        return result.astype(np.uint8), refused


def file_of(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


class Check:
    def __init__(self, clipper, directory):
        self.clipper, self.directory = str(Path(clipper).resolve()), Path(directory)
        self.cases = self.violations = 0

    def run(self, array, *words):
        (self.directory / "in.npy").write_bytes(file_of(array))
        words = [self.clipper, "--quiet", *words, "in.npy", "out.npy"]
        return subprocess.run(words, cwd=self.directory, capture_output=True, text=True)

    def output(self, dtype):
        content = (self.directory / "out.npy").read_bytes()
        return np.frombuffer(content[content.index(b"\n") + 1:], dtype)

    def complain(self, text):
        self.violations += 1
        print(text)

    def expect(self, what, array, wanted, *words):
        """`wanted`: unsigned integers; for elements that are NaN afterwards, any NaN is right: they are left out."""
        self.cases += array.size
        run = self.run(array, *words)
        if run.returncode != 0:
            return self.complain(f"{what} {words}: {run.stderr}")
        found = self.output(wanted.dtype)
        wrong = np.flatnonzero(found != wanted)
        if wrong.size:
            at = wrong[0]
            self.complain(f"{what} {words}: {wrong.size} of {array.size} differ; [{at}] {array[at]!r}: {found[at]:#x}, expected {wanted[at]:#x}")

    def expect_refused(self, what, array, first, *words):
        self.cases += 1
        run = self.run(array, *words)
        if run.returncode != 3 or f"(element {first})" not in run.stderr:
            self.complain(f"{what} {words}: exit status {run.returncode}, {run.stderr}, expected element {first}")


def numbers_of(name, form, random):
    """Edges and random elements of a dtype; all of those of 16 bits; none is NaN."""
    dtype = dtype_of(name)
    if name in INTEGERS:
        limits = np.iinfo(dtype)
        edges = {limits.min, limits.max, 0, *(s * 2**i + d for i in range(64) for s in (1, -1) for d in (-1, 0, 1)),
                 *(int(t) + d for t in form.ties if t < 2**64 for d in (-1, 0, 1)), *(random.integers(limits.min, limits.max, 500, dtype).tolist())}
        return np.array(sorted(x for x in edges if limits.min <= x <= limits.max), dtype)
    if dtype.itemsize == 2:
        numbers = np.arange(1 << 16).astype(np.uint16).view(dtype)
        return numbers[~np.isnan(numbers.astype(np.float32))]
    bits = random.integers(0, 1 << 8 * dtype.itemsize, 20_000, np.uint64).astype(f"u{dtype.itemsize}").view(dtype)
    near = np.concatenate([form.ties, form.magnitudes, np.exp2(random.uniform(-150, 140, 5000))]).astype(dtype)
    some = np.concatenate([np.nextafter(near, dtype.type(0)), near, np.nextafter(near, dtype.type(np.inf)), [0, np.inf]]).astype(dtype)
    numbers = np.concatenate([bits, some, -some])
    return numbers[~np.isnan(numbers)]


def try_casts_to(check, form, random):
    for name in (*FLOATS, *INTEGERS):
        numbers = numbers_of(name, form, random)
        exact = numbers.astype(np.float32) if name in ("bfloat16", "float16") else numbers
        wanted, refused = form.nearest(exact, False)
        if name in ("float16", "bfloat16", "float32"):
            theirs = exact.astype(form.dtype).view(np.uint8)
            known = (form.name == "float8_e8m0fnu") & (exact > 2.0**-127) & (exact < 1.5 * 2.0**-127)
            differs = (theirs != wanted) & ~known & ~(np.isnan(form.values[theirs]) & np.isnan(form.values[wanted]))
            if differs.any():
                check.complain(f"the oracle disagrees with ml_dtypes: {name} to {form.name}, {exact[differs][:3]}")
        check.expect(f"{name} to {form.name}", numbers[~refused], wanted[~refused], "--to", form.name)
        if refused.any():
            check.expect_refused(f"{name} to {form.name}", numbers, np.flatnonzero(refused)[0], "--to", form.name)
        check.expect(f"{name} to {form.name}", numbers, form.nearest(exact, True)[0], "--to", form.name, "--saturate")


def try_casts_from(check, form):
    elements = np.arange(256, dtype=np.uint8).view(form.dtype)
    values = form.values.astype(np.float32)
    is_nan = np.isnan(values)
    for name in FLOATS:
        wanted = values[~is_nan].astype(dtype_of(name))
        check.expect(f"{form.name} to {name}", elements[~is_nan], wanted.view(f"u{wanted.itemsize}"), "--dtype", form.name, "--to", name)
    for name in INTEGERS:
        limits = np.iinfo(name)
        whole = [0 if x != x else min(max(round(np.copysign(2.0**200, x) if np.isinf(x) else x), limits.min), limits.max) for x in form.values.tolist()]
        if form.has_sign:
            wanted = np.array(whole, name)
            check.expect(f"{form.name} to {name}", elements, wanted.view(f"u{wanted.itemsize}"), "--dtype", form.name, "--to", name, "--nan", "0")
    for other in map(Format, FORMATS):
        wanted = other.nearest(values[~is_nan], True)[0]
        check.expect(f"{form.name} to {other.name}", elements[~is_nan], wanted, "--dtype", form.name, "--to", other.name, "--saturate")


def try_nans(check, form):
    """A NaN stays a quiet one, with its sign and its payload where the format has them, also where results saturate."""
    bits = np.flatnonzero(np.isnan(form.values))
    for name in FLOATS:
        exponent, fraction = contract.FLOATS[name]
        quiet = ((2 << exponent) - 1) << (fraction - 1)
        signs = (bits >> 7) * bool(form.has_minus_zero)
        payloads = (bits & 3) << (fraction - 2) if form.has_infinity else 0 * bits
        wanted = (signs << (exponent + fraction) | quiet | payloads).astype(f"u{dtype_of(name).itemsize}")
        check.expect(f"NaN of {form.name} to {name}", bits.astype(np.uint8).view(form.dtype), wanted, "--dtype", form.name, "--to", name)
        infinity = (1 << exponent) - 1 << fraction
        nans = np.array([infinity + payload for payload in (1, 1 << (fraction - 1), (1 << fraction) - 1)], f"u{dtype_of(name).itemsize}")
        for mode in ("", "half-even", "half-away", "trunc", "floor", "ceil"):
            check.cases += nans.size
            words = ["--to", form.name, "--saturate", *(["--round", mode] if mode else [])]
            run = check.run(nans.view(dtype_of(name)), *words)
            if run.returncode != 0 or not np.isnan(form.values[check.output(np.uint8)]).all():
                check.complain(f"NaN of {name} {words}: {run.stderr or check.output(np.uint8)}")


def try_clips(check, form, random):
    elements = np.arange(256, dtype=np.uint8).view(form.dtype)
    for _ in range(200):
        bounds = np.sort(np.exp2(random.uniform(-12, 9, 2)) * random.choice([-1, 1] if form.has_sign else [1]))
        lo, hi = (form.values[form.nearest(bounds[i:i + 1], True)[0][0]] for i in (0, 1))
        if lo == hi or np.abs(bounds).max() > form.magnitudes[-1]:
            continue
        clipped = np.clip(form.values, lo, hi)
        wanted = np.where(np.isnan(form.values) | (clipped == form.values), np.arange(256), form.nearest(clipped, True)[0])
        check.expect(f"clip {form.name}", elements, wanted.astype(np.uint8), "--dtype", form.name, f"--min={bounds[0]!r}".replace("np.float64(", "").replace(")", ""),
                     f"--max={bounds[1]!r}".replace("np.float64(", "").replace(")", ""))


def main(clipper):
    random = np.random.default_rng(44)
    with tempfile.TemporaryDirectory() as directory, np.errstate(all="ignore"):
        check = Check(clipper, directory)
        for form in map(Format, FORMATS):
            try_casts_to(check, form, random)
            try_casts_from(check, form)
            try_nans(check, form)
            try_clips(check, form, random)
    print(f"{check.cases:,} cases, {check.violations} violations")
    sys.exit(1 if check.violations else 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
