"""One conversion of a number to an element: rounded to an integer, plus the zero point, saturated, rounded to the dtype."""

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property
from types import SimpleNamespace

import numpy as np

import contract
from contract import FORMATS, nearest
from tensor import unsigned

ROUNDS = {"half-even": round, "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil,
          "half-away": lambda number: (math.floor(abs(number)) + (abs(number) % 1 * 2 >= 1)) * (1 if number > 0 else -1)}


@cache
def limits_of(dtype):
    """np.iinfo(dtype), which takes longer."""
    limits = np.iinfo(dtype)
    return SimpleNamespace(min=int(limits.min), max=int(limits.max), bits=limits.bits)


def rounded(number, mode):
    """An int, or -0.0."""
    return ROUNDS[mode](number) or math.copysign(0.0, number)


def kept_nans(bits, source, target):
    """NaNs of a float dtype as those of another: quiet, with the sign and the upper bits of the payload, where it has them."""
    form, to = FORMATS[source], FORMATS[target]
    signs = bits.astype("u8") // np.uint64(form.sign) * np.uint64(0 if to.nan == to.sign else to.sign)
    shift = to.fraction - form.fraction
    payloads = bits.astype("u8") & np.uint64((1 << form.fraction) - 1)
    payloads = payloads << np.uint64(max(shift, 0)) >> np.uint64(max(-shift, 0))
    return (signs | np.uint64(to.nan) | (payloads if to.infinity else np.uint64(0))).astype(unsigned(target))


def stretched(y, lo, hi, low, high):
    """From min and max to the ends of --stretch."""
    z = np.clip((y - lo) / (hi - lo) * (high - low) + low, min(low, high), max(low, high))
    return np.where(y <= lo, low, np.where(y >= hi, high, z))


@dataclass(frozen=True)
class Rule:
    """What follows the clip."""
    to: str
    mode: str | None
    zero_point: int
    saturate: bool

    def keeps(self, dtype):
        """Whether elements of a dtype stay as they are."""
        return dtype == self.to and not (self.mode or self.zero_point or self.saturate)

    def store(self, y):
        """The bits of a number that is not NaN, and whether the range of the dtype has raised (1) or lowered (-1) it. 2: it has no bits."""
        if self.mode and abs(y) != math.inf:
            y = rounded(y, self.mode)
        if self.to not in FORMATS:
            limits = limits_of(self.to)
            number = y if abs(y) == math.inf else int(y) + self.zero_point
            within = int(min(max(number, limits.min), limits.max))
            return within % (1 << limits.bits), (within > number) - (within < number)
        bits, form = nearest(y, self.to), FORMATS[self.to]
        if bits != form.nan and bits & ~form.sign <= form.last or form.infinity and not self.saturate:
            return bits, 0
        is_below = contract.is_negative(y) or not y
        return (form.sign | form.last if form.sign else 0) if is_below else form.last, 2 if not self.saturate else 1 if is_below else -1

    def stored(self, found):
        """store() of an array. NaNs are kept; integers have none."""
        known = {}

        def one(number):
            if number != number:
                return 0, 0
            key = number or repr(number)  # 0.0 and -0.0 are equal
            if key not in known:
                known[key] = self.store(number)
            return known[key]

        each, places = found.ravel(), slice(None)
        if found.dtype != object:  # equal numbers once
            each, places = np.unique(each.view(unsigned(found.dtype.name)), return_inverse=True)
            each = each.view(found.dtype)
        pairs = [one(number) for number in each.tolist()]
        bits = np.array([pair[0] for pair in pairs], unsigned(self.to))[places].reshape(found.shape)
        nans = found != found
        if self.to in FORMATS and nans.any():
            bits[nans] = kept_nans(found[nans].view(unsigned(found.dtype.name)), found.dtype.name, self.to)
        return bits, np.array([pair[1] for pair in pairs], np.int8)[places].reshape(found.shape)

    @cached_property
    def saturating(self):
        return replace(self, saturate=True)

    def range_of(self, y):
        """1 or -1 for a number above or below all numbers of the dtype."""
        if abs(y) == math.inf and self.to in FORMATS and FORMATS[self.to].infinity:
            return 0
        return -self.saturating.store(y)[1]
