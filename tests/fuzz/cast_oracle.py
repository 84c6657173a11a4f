"""What a cast gives, in Python's fractions: elements, counts, or the exit code of what clipper refuses.

The steps are scale and bias in numpy's float32 or float64 or in Python's integers, the clip, --nan and replacements, --round,
--zero-point, the range of the dtype, and one rounding to it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from trials import np

import array_cases
import contract
import percentiles_vs_numpy as percentiles
from array_cases import FLOATS, INTEGERS, Case, Expected, Tensor, stored_type
from contract import INPUT, USAGE, Refused, nearest

NATIVE = contract.PROFILES[0]
BOUNDS = ("--min", "--max")

ROUNDS = {"half-even": round,
          "half-away": lambda number: math.floor(abs(number) + Fraction(1, 2)) * (1 if number > 0 else -1),
          "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil}


def refuse(rule, code=USAGE, words=()):
    """`words`: of which the message must have one."""
    raise Refused(rule, code, words)


def as_float(bits, dtype):
    return float(contract.value(bits, dtype))


def rounded(number, mode):
    """An int, or -0.0."""
    integer = ROUNDS[mode](Fraction(number))
    return integer or math.copysign(0.0, number)


@dataclass(frozen=True)
class Rule:
    """What follows the clip. `nan`, `below` and `above` are numbers, or None."""
    to: str
    mode: str | None
    zero_point: int
    saturate: bool
    nan: object = None
    below: object = None
    above: object = None

    def store(self, y):
        """The bits of a number that is not NaN, and whether the range of the dtype has raised (1) or lowered (-1) it."""
        if self.mode and abs(y) != math.inf:
            y = rounded(y, self.mode)
        if self.to in INTEGERS:
            limits = np.iinfo(self.to)
            number = y if abs(y) == math.inf else int(y) + self.zero_point
            within = int(min(max(number, int(limits.min)), int(limits.max)))
            return within % (1 << limits.bits), (within > number) - (within < number)
        bits = nearest(y, self.to)
        infinite = abs(as_float(bits, self.to)) == math.inf
        if not self.saturate or not infinite:
            return bits, 0
        return bits - 1, 1 if y < 0 else -1

    def convert(self, g, lo, hi, above):
        """The bits of the result, or None for a NaN that is kept, and whether the number was raised or lowered. `above`: the bound
        that is the only one if lo exceeds hi."""
        if g != g:
            y = {"min": lo, "max": hi}.get(self.nan, self.nan)
            return (None, 0) if y is None else (self.store(y)[0], 0)
        if lo > hi:
            lo = hi = lo if above == "min" else hi
        moved = int(g < lo) - int(g > hi)
        other = {1: self.below, -1: self.above, 0: None}[moved]
        if other is not None and other != other:
            return nearest(other, self.to), moved
        bits, limited = self.store(other if other is not None else lo if moved > 0 else hi if moved < 0 else g)
        return bits, moved or limited

    def loss(self, g, lo, hi, finite, underflows):
        """Whether a number within the bounds becomes infinite, and whether it becomes 0."""
        if not lo <= g <= hi:  # also NaN
            return 0, 0
        bits, limited = self.store(g)
        if self.to in INTEGERS:
            return 0, int(not limited and bits == self.zero_point % (1 << np.iinfo(self.to).bits) and (g != 0 or underflows))
        number = as_float(bits, self.to)
        return int(finite and abs(number) == math.inf), int(number == 0 and (g != 0 or underflows))

    def range_of(self, y):
        """1 or -1 for a bound above or below all numbers of the dtype."""
        if self.to in FLOATS and abs(y) == math.inf:
            return 0
        return -Rule(self.to, self.mode, self.zero_point, True).store(y)[1]


def kept_nans(elements, source, target):
    """NaNs of one float dtype as those of another: quiet, with the sign and the upper bits of the payload."""
    exponent, fraction = contract.FLOATS[source]
    to_exponent, to_fraction = contract.FLOATS[target]
    bits = [int(each) for each in elements.view(f"u{elements.itemsize}")]
    quiet = 1 << (to_fraction - 1) | ((1 << to_exponent) - 1) << to_fraction
    shift = to_fraction - fraction
    payloads = [each & ((1 << fraction) - 1) for each in bits]
    return [each >> (exponent + fraction) << (to_exponent + to_fraction) | quiet | (payload << shift if shift > 0 else payload >> -shift)
            for each, payload in zip(bits, payloads)]


@dataclass
class Cast(Case):
    """`parameters` also has the options of casts. --scale divides if `divides`."""
    divides: bool = False

    @property
    def to(self):
        return self.parameters.get("--to", self.x.dtype)

    @property
    def mode(self):
        return self.parameters.get("--round")

    @property
    def arithmetic(self):
        """The dtype of scale and bias, `object` for Python's integers; None without them."""
        if not self.scaled:
            return None
        if array_cases.in_float32(self.x.dtype):
            return "float32"
        return object if self.exact and not self.divides else "float64"

    @property
    def bound_dtype(self):
        """Bounds beside a scale or bias are numbers of the arithmetic only with --to or --round."""
        return self.arithmetic if self.arithmetic and {"--to", "--round"} & {*self.parameters} else self.x.dtype

    def bound(self, side):
        """The bound as one number, or as an array of numbers."""
        given = self.parameters.get(side)
        if given is None:
            return math.inf if side == "--max" else -math.inf
        if isinstance(given, Tensor):
            if self.arithmetic in ("float32", "float64"):
                return array_cases.wide(given.elements, given.dtype).astype(self.arithmetic)
            return array_cases.wide(given.elements, given.dtype)
        if given.endswith("%"):
            return self.percentile(given[:-1], side)
        if self.arithmetic is object:
            return float(given) if "inf" in given else Fraction(given)
        if self.bound_dtype in FLOATS:
            return as_float(contract.float_bound(NATIVE, self.bound_dtype, given, side), self.bound_dtype)
        bits = contract.int_bound(NATIVE, self.bound_dtype, given, side)
        return int(np.array(bits, f"u{np.dtype(self.bound_dtype).itemsize}").astype(self.bound_dtype))

    def typed_above(self):
        typed = [contract.exact(given) for given in map(self.parameters.get, BOUNDS) if isinstance(given, str) and not given.endswith("%")]
        return len(typed) == 2 and typed[0] > typed[1]

    def percentile(self, text, side):
        dtype = np.dtype(array_cases.BFLOAT16 if self.x.dtype == "bfloat16" else self.x.dtype)
        value = percentiles.expected(percentiles.sorted_numbers(self.x.elements.view(dtype)), text, dtype)
        if value is None or value != value:
            refuse("percentile of no numbers", INPUT)
        bound = percentiles.converted(value, dtype, "native", side[2:])
        return refuse("percentile beyond the dtype") if bound is None else bound

    def numbers(self):
        """x, scaled and biased, as an array."""
        x = array_cases.wide(self.x.elements, self.x.dtype)
        if not self.scaled:
            return x
        x = x.astype(self.arithmetic)
        scale, bias = (array_cases.factor(self, option, default, self.arithmetic) for option, default in (("--scale", "1"), ("--bias", "0")))
        return np.asarray((x / scale if self.divides else x * scale) + bias)

    def replacement(self, option):
        given = self.parameters.get(option)
        if given is None:
            return None
        if {"--replace-below": "--min", "--replace-above": "--max"}[option] not in self.parameters:
            refuse("replacement without its bound")
        number = contract.exact(given)
        if self.to in FLOATS:
            if number == number and as_float(nearest(number, self.to), self.to) != number:
                refuse("replacement that the dtype does not have")
        else:
            limits, whole = np.iinfo(self.to), math.isfinite(number) and number == math.trunc(number)
            if not whole or not limits.min <= number + int(self.parameters.get("--zero-point", 0)) <= limits.max:
                refuse("replacement that the dtype does not have")
        return number

    def rule(self):
        given, to_integer = self.parameters, self.to in INTEGERS
        truncates = to_integer and "--to" not in given and self.scaled and self.x.dtype in INTEGERS
        mode = self.mode or ("trunc" if truncates else "half-even" if to_integer else None)
        zero_point = int(given.get("--zero-point", 0))
        if "--zero-point" in given and ("--to" not in given or not to_integer or not np.iinfo(self.to).min <= zero_point <= np.iinfo(self.to).max):
            refuse("zero point")
        if "--saturate" in given and "--to" not in given:
            refuse("--saturate without --to")
        if self.nan == "keep" and to_integer and self.x.dtype in FLOATS:
            refuse("--nan keep")
        if self.nan in ("min", "max") and f"--{self.nan}" not in given:
            refuse("--nan without its bound")
        nan = self.nan if self.nan in ("min", "max") else None
        if self.nan not in ("", "keep", "error", "min", "max"):
            nan = contract.exact(self.nan)
        rule = Rule(self.to, mode, zero_point, "--saturate" in given, nan, *map(self.replacement, ("--replace-below", "--replace-above")))
        if self.x.dtype in FLOATS and nan not in (None, "min", "max") and rule.range_of(nan):
            refuse("--nan beyond the dtype")
        return rule


def plain(numbers):
    """An array of Python's numbers, which compare exactly."""
    found = np.empty(np.shape(numbers), object)
    found.ravel()[:] = np.ravel(numbers).tolist()
    return found


def expected(case):
    """Raises Refused with the exit code for a case that clipper must refuse."""
    rule, lo, hi = case.rule(), *(plain(case.bound(side)) for side in BOUNDS)
    if not case.above and (np.any(lo > hi) or case.typed_above()):
        refuse("min above max")
    for bound, wrong in ((lo, 1), (hi, -1)):
        if (case.x.elements.size or bound.size == 1) and any(rule.range_of(each) == wrong for each in set(bound.ravel())):
            refuse("bound beyond the dtype")
    g = case.numbers()
    finite = np.isfinite(array_cases.wide(case.x.elements, case.x.dtype).astype(float))
    underflows = array_cases.underflows(case, case.arithmetic, case.divides) if case.arithmetic in ("float32", "float64") else False
    shape, cache, moves, results, infinite, zero = g.shape, {}, [0, 0, 0], [], 0, 0
    for key in zip(*(np.broadcast_to(each, shape).ravel().tolist() for each in (g, lo, hi, finite, underflows))):
        text = repr(key)  # 0.0 and -0.0 are equal
        if text not in cache:
            cache[text] = *rule.convert(*key[:3], case.above), *rule.loss(*key)
        results.append(cache[text][0])
        moves[cache[text][1]] += 1
        infinite += cache[text][2]
        zero += cache[text][3]
    nans = np.array([each != each for each in g.ravel().tolist()], bool)
    unsigned = stored_type(case.to).itemsize
    if nans.any() and rule.nan is None:
        if case.nan == "error" or case.to in INTEGERS:
            refuse("NaN", INPUT, case.x.index_texts(nans.reshape(shape)))
        source = case.arithmetic or case.x.dtype
        elements = np.ascontiguousarray(g if case.scaled else case.x.elements).ravel()[nans]
        kept = iter(elements.view(f"u{unsigned}").tolist() if source == case.to else kept_nans(elements, source, case.to))
        results = [next(kept) if each is None else each for each in results]
    elements = np.array(results, f"u{unsigned}").view(stored_type(case.to)).reshape(shape)
    big = case.x.big and (case.x.elements.itemsize > 1 or case.to == case.x.dtype)
    if "--saturate" in case.parameters and (math.inf in lo.ravel() or -math.inf in hi.ravel()):
        moves = [None] * 3  # elements beyond the limit of the dtype, which is that bound now, may count as raised or as lowered
    return Expected(Tensor(case.to, elements, case.x.fortran, big), moves[1], moves[-1], int(nans.sum()), nans.reshape(shape), infinite, zero)
