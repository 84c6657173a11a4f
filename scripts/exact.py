"""What clipper must make of a tensor: result(case), in numpy's float32 and float64 where clipper calculates in them, and in Python's
integers and fractions everywhere else.

The steps are product and sum, each rounded to float32 (for halves, float8 and float32) or float64, or exact for integers of 64 bits;
the two limits, in the order that the profile names; --nan and replacements; --max-norm, --subtract and --divide, or --stretch, in float64; --round
and --zero-point; one conversion to the dtype (conversion.py).
"""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

import contract
import figures
from contract import FLOATS, FORMATS, INPUT, INTS, USAGE, Refused, is_nan, is_time, nearest, numbers, percentile, stored_type
from conversion import Rule, stretched
from tensor import Tensor, unsigned

OWN = contract.PROFILES[0]
BOUNDS, FACTORS, BOUND_NAMES = ("--min", "--max"), ("--scale", "--bias"), ("min", "max")
LISTS = (*BOUNDS, *FACTORS, "--subtract", "--divide")
NORMALIZATION = ("--subtract", "--divide", "--stretch", "--max-norm")
MISSING = figures.MISSING
NEEDED = {"--replace-below": "--min", "--replace-above": "--max", "--divide-zero": "--divide", "--norm": "--max-norm"}


@dataclass
class Case:
    """A tensor and the options of a command line: the text of each, or a Tensor for the file that it names. --scale divides if `divides`."""
    x: Tensor
    parameters: dict = field(default_factory=dict)
    profile: contract.Profile = OWN
    divides: bool = False
    mask: np.ndarray | None = None  # --mask, once it is taken from the parameters
    missing: np.ndarray | None = None  # the MISSING options, a bit each, of which an element lacks the figure
    maps: list | None = None  # the ends to which --stretch-from maps 0 and 1 after --subtract and --divide
    is_listed: bool = False  # an index of a list, whose numbers are those of an array
    was_normalized: bool = False  # before figures were found, some of which are lost
    is_stretched: bool = False  # after the clip, so that bounds may lie beyond the dtype
    factors: np.ndarray | None = None  # what --max-norm makes of the norms, once they are found
    was_measured: bool = False  # by --max-norm, which scales nothing

    def arrays(self):
        return {option: given for option, given in self.parameters.items() if isinstance(given, Tensor)}

    def word(self, option):
        """What the command line says."""
        given = self.parameters[option]
        text = f"@{given.name or option[2:] + '.npy'}" if isinstance(given, Tensor) else given
        return f"1/{text}" if self.divides and option == "--scale" else text

    @property
    def is_nodata(self):
        """Where the tensor has nodata elements."""
        where = np.zeros(self.x.shape, bool)
        for number in self.nodata_numbers():
            elements = numbers(self.x.elements, self.x.dtype)
            where |= equal(elements, number, self.x.dtype)
        return where

    def nodata_numbers(self):
        """The numbers of --nodata that the dtype has."""
        found = []
        for text in self.parameters.get("--nodata", "").split():
            number = contract.exact(text)
            if self.x.dtype in FORMATS and number == number:
                nearest_one = contract.rounded(number, self.x.dtype)
                number = nearest_one if contract.is_finite(nearest_one) or nearest_one == number else None
            if number is not None and (self.x.dtype in FORMATS or contract.is_finite(number) and number == math.trunc(number)
                                      and np.iinfo(self.x.dtype).min <= number <= np.iinfo(self.x.dtype).max):
                found.append(number)
        return found

    @property
    def to(self):
        return self.parameters.get("--to", self.x.dtype)

    @property
    def nan(self):
        return self.parameters.get("--nan", self.profile.nan)

    @property
    def above(self):
        return self.parameters.get("--min-above-max", self.profile.above)

    @property
    def arithmetic(self):
        """The dtype of scale and bias, `object` for Python's integers; None without them."""
        if not {*FACTORS} & {*self.parameters}:
            return None
        if self.x.dtype in FORMATS and self.x.dtype != "float64":
            return "float32"
        given = [self.factor(option) for option in FACTORS]
        exact = self.x.dtype in ("int64", "uint64") and all(map(is_integral, given)) and not self.divides
        return object if exact else "float64"

    @property
    def casts(self):
        return bool({"--to", "--round", *NORMALIZATION} & {*self.parameters}) or self.was_measured

    @property
    def is_big(self):
        """Whether the result is big-endian: elements of one byte have no order, and numpy's descriptors of bfloat16 and float8 drop it."""
        keeps = self.x.elements.itemsize > 1 and self.to not in contract.FLOAT8 and self.to != "bfloat16"
        return self.x.big and (keeps or self.to == self.x.dtype)

    @property
    def exact_bounds(self):
        """Whether bounds are exact numbers, because clipper has a later step for integers."""
        return self.profile is OWN and self.x.dtype in INTS and self.has_later_step

    @property
    def has_later_step(self):
        return bool({"--to", "--round", "--replace-below", "--replace-above", *FACTORS, *NORMALIZATION} & {*self.parameters})

    @property
    def bound_dtype(self):
        """Bounds beside a scale or bias are numbers of the arithmetic only with --to, --round or a normalization."""
        return object if self.exact_bounds else self.casts and self.arithmetic or self.x.dtype

    @property
    def normalizes(self):
        return bool({*NORMALIZATION} & {*self.parameters})

    def factor(self, option):
        """Scale or bias: a Tensor, or a number as the profile rounds it."""
        given = self.parameters.get(option, "1" if option == "--scale" else "0")
        if isinstance(given, Tensor):
            return given
        number = contract.exact(given)
        return contract.rounded(number, "float32") if self.profile.scale == "float32" else number


def is_integral(given):
    if isinstance(given, Tensor):
        return given.dtype in INTS
    return given == math.trunc(given) and -2**63 <= given < 2**64


class Beyond(Refused):
    """Elements beyond the range of the dtype, and where they are."""

    def __init__(self, where, *words):
        super().__init__("beyond the dtype", INPUT, *words)
        self.where = where


@dataclass
class Expected:
    result: Tensor
    raised: int | None  # None: more than one number is right
    lowered: int | None
    nan: int
    nans: np.ndarray  # where the result is NaN before --nan
    infinite: int  # elements within the bounds that become infinite, and that become 0
    zero: int
    moved: np.ndarray  # 1 for raised, -1 for lowered elements
    nodata: int = 0
    became_nodata: int = 0
    y: np.ndarray | None = None  # the exact clipped numbers of integers, before the last steps


# Bounds and factors --------------------------------------------------------------------------------------


@dataclass
class Bound:
    """Numbers as elements are compared with them, and the elements that they are, in bits, if they are elements."""
    numbers: np.ndarray
    bits: np.ndarray | None
    written: np.ndarray | None = None  # an array's numbers, before they are cut


def checked_array(case, option, allowed):
    """Raises Refused for an array that cannot be used."""
    given, name = case.parameters[option], case.word(option).partition("@")[2]
    if given.dtype not in allowed:
        raise Refused("file dtype", USAGE, given.dtype, f"{option} @{name}", allowed)
    if not fits(given.shape, case.x.shape) or given.elements.size != 1 and not case.profile.arrays:
        raise Refused("file size", INPUT if case.profile.arrays else USAGE, name, f"{option} @{name}", str(given.shape), str(case.x.shape))
    return given, name


def fits(shape, other):
    """Whether a shape broadcasts to another one."""
    return len(shape) <= len(other) and all(a in (1, b) for a, b in zip(shape[::-1], other[::-1]))


def places(case, given, wrong, word):
    """The index of what is wrong in an array, in the array and in the tensor; `word` if it has one element."""
    found = given.index_texts(wrong) | case.x.index_texts(np.broadcast_to(wrong, case.x.shape))
    return found | ({word} if wrong.size == 1 else set())


def array_bound(case, side):
    is_own = case.profile is OWN and case.x.dtype not in ("bool",) and not is_time(case.x.dtype)
    given, name = checked_array(case, side, {*INTS, *FORMATS} if is_own else {case.x.dtype, case.bound_dtype})
    nans = is_nan(given.elements, given.dtype)
    if nans.any() and case.profile.nan_bounds == "error" and case.x.elements.size:
        raise Refused("NaN file", USAGE, name, f"{side} @{name}", "NaN", places(case, given, nans, f"@{name}: NaN"))
    found = numbers(given.elements, given.dtype)
    if case.exact_bounds or is_own and case.x.dtype in INTS and given.dtype != case.x.dtype:
        return exact_array(case, side, plain(found))
    if is_own and given.dtype not in (case.x.dtype, case.bound_dtype) and (case.x.elements.size or found.size == 1):
        shape, texts = found.shape, found.ravel().tolist()
        if any([is_far(case, case.bound_dtype, number, side) for number in texts]):
            return far_array(case, side, found)
        bits = np.array([contract.float_bound(case.profile, case.bound_dtype, number, side) for number in texts], unsigned(case.bound_dtype)).reshape(shape)
        given = Tensor(case.bound_dtype, bits.view(stored_type(case.bound_dtype)))
        found = numbers(given.elements, given.dtype)
    bits = given.bits
    if case.casts and case.arithmetic in ("float32", "float64"):
        found = found.astype(case.arithmetic)
        bits = found.view(unsigned(case.arithmetic))
    if nans.all() and nans.size == 1 and case.profile.through:
        bits = np.array(nearest(math.nan, case.x.dtype), bits.dtype)  # another type does not hold sign and payload
    return Bound(found, bits)


def far_array(case, side, found):
    """An array as bounds of floats, of which some are beyond their dtype."""
    numbers_of_each = []
    for number in found.ravel().tolist():
        if not is_far(case, case.bound_dtype, number, side):
            contract.float_bound(case.profile, case.bound_dtype, number, side)
        near = contract.rounded(number, case.bound_dtype)
        numbers_of_each.append(near if math.isfinite(near) else number)
    return Bound(plain(np.array(numbers_of_each, object).reshape(found.shape)), None)


def exact_array(case, side, found):
    """An array as bounds of integers."""
    limits = np.iinfo(case.x.dtype)
    whole = [number if abs(number) == math.inf else math.trunc(number) for number in found.ravel().tolist()]
    wrong = any(number > limits.max if side == "--min" else number < limits.min for number in (found.ravel().tolist() if case.exact_bounds else whole))
    if wrong and (case.x.elements.size or found.size == 1) and not case.arithmetic and not case.is_stretched:
        raise Refused("range of an array", USAGE)
    if case.exact_bounds:
        return Bound(found, None)
    cut = [int(min(max(number, int(limits.min)), int(limits.max))) for number in whole]
    elements = np.array(cut, case.x.dtype).reshape(found.shape)
    return Bound(elements, Tensor(case.x.dtype, elements).bits, found)


def end_in(case, text):
    """A percentile or rule of what is clipped: of the elements, or of x * scale + bias."""
    if not case.arithmetic:
        return figures.bound_value(case.x, text)
    g = np.ravel(numbers_of(case)[0])
    return contract.at_percentage(sorted(g.tolist()), text) if case.arithmetic is object else percentile(Tensor(case.arithmetic, g), text)


def percentile_in(case, text):
    """A percentile or rule of what is clipped, as the bound that clipper prints."""
    found = end_in(case, text)
    if not case.arithmetic:
        if figures.is_rule(text) and abs(found) == math.inf:
            raise Refused("an infinite rule", INPUT, "the rule is infinite")
        return figures.found_bound(found) if case.x.dtype in INTS and case.profile is OWN else found
    if case.arithmetic is object:
        return figures.found_bound(found)
    found = element_of(nearest(found, case.arithmetic), case.arithmetic)[()]
    if not np.isfinite(found) or not found:
        return float(found)
    return Fraction(str(found)) if abs(found) < 2**53 else Fraction(float(found))


def exact_bound(case, side, text):
    """A number as a bound of integers, which a later step needs."""
    number = percentile_in(case, text) if figures.is_percentile(text) else contract.exact(text)
    if number != number:
        raise Refused("NaN", USAGE, text)
    if not case.arithmetic and not case.is_stretched:
        contract.int_bound(case.profile, case.x.dtype, number, side, text)
        if number > np.iinfo(case.x.dtype).max if side == "--min" else number < np.iinfo(case.x.dtype).min:
            for other, given in case.parameters.items():  # both bounds are looked at as they would be cut, first
                if other in BOUNDS and isinstance(given, str) and not figures.is_percentile(given):
                    contract.int_bound(case.profile, case.x.dtype, contract.exact(given), other, given)
            raise Refused("range of an exact bound", USAGE, text)
    number = number if case.arithmetic == "float64" else number or 0  # integers have no -0
    return Bound(plain(number if case.arithmetic != "float64" else figures.as_double(number)), None)


def ticks(dtype, text):
    """The element of bool or of a unit of time. Text that it does not have exactly is not expected here."""
    if dtype == "bool":
        return {"0": 0, "false": 0, "1": 1, "true": 1}[text]
    return int(text) if dtype.startswith("t") else int(np.datetime64(text, np.datetime_data(np.dtype(dtype))).astype("i8"))


def bound(case, side):
    """The bound, or None."""
    given, profile, dtype = case.parameters.get(side), case.profile, case.bound_dtype
    if isinstance(given, Tensor):
        return array_bound(case, side)
    if given is not None and case.exact_bounds:
        return exact_bound(case, side, given)
    if given is None:
        dtype = case.casts and case.arithmetic or case.x.dtype
        truncates = dtype in INTS and case.arithmetic and not case.casts  # 255.5 is beyond uint8, unless it is rounded
        if not truncates and (dtype not in FLOATS or profile.absent == "infinite"):
            return None
        bits = contract.absent_bound(profile, dtype, side)
    elif dtype is not object and (dtype == "bool" or is_time(dtype)):
        element = percentile(case.x, given) if given.endswith("%") else ticks(dtype, given)
        bits = element % (1 << 8 * unsigned(dtype).itemsize)
    else:
        number = figures.within_floats(case, side, given, percentile_in(case, given)) if figures.is_percentile(given) else contract.exact(given)
        if number != number and (profile.nan_bounds == "error" or dtype in INTS):
            raise Refused("NaN", USAGE, given)
        if dtype is object:
            return Bound(plain(number), None)
        if is_far(case, dtype, number, side):
            return Bound(plain(number), None)
        bits = (contract.float_bound if dtype in FORMATS else contract.int_bound)(profile, dtype, number, side, given)
        if dtype in INTS and profile is OWN:
            return Bound(element_of(bits, dtype), np.array(bits, unsigned(dtype)), plain(number))
    return Bound(element_of(bits, dtype), np.array(bits, unsigned(dtype)))


def is_far(case, dtype, number, side):
    """Whether a bound of floats is beyond their dtype, and results may lie there. Raises Refused if all results lie on its other side."""
    if dtype not in FORMATS or case.profile is not OWN or number != number:
        return False
    highest = lambda dtype: contract.value(FORMATS[dtype].last, dtype) if dtype in FORMATS else int(np.iinfo(dtype).max)
    near = contract.rounded(number, dtype)
    is_wider = highest("float64" if case.normalizes else case.to) > highest(dtype)
    is_wider &= contract.is_finite(number)
    if case.arithmetic is not None and near != near and not is_wider and (number > 0) == (side == "--min"):
        raise Refused(f"range {side}", USAGE)
    return is_wider and not contract.is_finite(near) or case.arithmetic is not None and near != near


def bound_bits(case, side):
    """The element of a bound that is a number, also of one that is not given."""
    found = bound(case, side)
    return int(found.bits.reshape(-1)[0]) if found else contract.absent_bound(case.profile, case.x.dtype, side)


def element_of(bits, dtype):
    return numbers(np.array(bits, unsigned(dtype)).view(stored_type(dtype)), dtype)


def factors(case):
    """Scale and bias, as numbers of the arithmetic."""
    found = []
    for option in FACTORS:
        given = case.factor(option)
        if isinstance(given, Tensor):
            number = array_factor(case, option, case.arithmetic)
        else:
            number = plain(int(given)) if case.arithmetic is object else element_of(nearest(given, case.arithmetic), case.arithmetic)
        found.append(number)
    return found


def array_factor(case, option, arithmetic):
    """An array as numbers of the arithmetic, which must be finite."""
    given, elements = case.parameters[option], numbers(case.parameters[option].elements, case.parameters[option].dtype)
    is_exact = given.dtype == "float16" or given.dtype in INTS and (
        case.x.dtype in ("int64", "uint64") or all(int(float(each)) == each for each in np.ravel(elements).tolist()))
    given, name = checked_array(case, option, {case.x.dtype, "float32", "float64"} | ({given.dtype} if is_exact else set()))
    number = plain(elements) if arithmetic is object else elements.astype(arithmetic)
    beyond = ~np.isfinite(number.astype(float))
    if beyond.any() and case.x.elements.size:
        raise Refused("finite", USAGE, f"{option} @{name}", "finite", places(case, given, beyond, "finite"))
    return number


def plain(found):
    """An array of Python's numbers, which compare exactly."""
    result = np.empty(np.shape(found), object)
    result.ravel()[:] = np.ravel(found).tolist() if isinstance(found, np.ndarray) else [found]
    return result


# Conversion ----------------------------------------------------------------------------------------------


def rule_of(case):
    given, to_integer = case.parameters, case.to in INTS
    zero_point = int(given.get("--zero-point", 0))
    if "--zero-point" in given and ("--to" not in given or not to_integer or not np.iinfo(case.to).min <= zero_point <= np.iinfo(case.to).max):
        raise Refused("zero point", USAGE)
    if "--saturate" in given and "--to" not in given:
        raise Refused("--saturate without --to", USAGE)
    if case.nan in BOUND_NAMES and "--nan" in given and f"--{case.nan}" not in given:
        raise Refused("--nan without its bound", USAGE)
    if given.get("--nan") == "keep" and to_integer and case.x.dtype in FORMATS:
        raise Refused("--nan keep", USAGE)
    truncates = to_integer and "--to" not in given and case.arithmetic
    converts = to_integer and (case.arithmetic or case.normalizes or case.to != case.x.dtype or case.exact_bounds)
    mode = given.get("--round") or ("trunc" if truncates else "half-even" if converts else None)
    return Rule(case.to, mode, zero_point, "--saturate" in given)


def replacement(case, option):
    """The number of --replace-below or --replace-above, or None."""
    given = case.parameters.get(option)
    if given is None:
        return None
    if {"--replace-below": "--min", "--replace-above": "--max"}[option] not in case.parameters:
        raise Refused("replacement without its bound", USAGE)
    number = contract.exact(given)
    if case.to in FORMATS:
        exists = number != number or contract.rounded(number, case.to) == number
    else:
        limits, whole = np.iinfo(case.to), math.isfinite(number) and number == math.trunc(number)
        exists = whole and limits.min <= number + int(case.parameters.get("--zero-point", 0)) <= limits.max
    if not exists:
        raise Refused("replacement that the dtype does not have", USAGE)
    return number


def check_replacements(case):
    """Those of a normalization are float64 numbers."""
    first = replace(case, parameters=case.parameters | {"--to": "float64"}) if case.was_normalized else case
    for option in ("--replace-below", "--replace-above"):
        replacement(first, option)


# The formula ---------------------------------------------------------------------------------------------


def beyond(profile, y, bound, upper):
    """Where numbers that are not NaN become the bound."""
    if profile.ties == "ordered" and y.dtype.kind == "f":  # -0.0 < 0.0
        less = lambda a, b: (a < b) | (a == b) & np.signbit(a) & ~np.signbit(b)
        where = less(bound, y) if upper else less(y, bound)
    else:
        where = (y >= bound if profile.ties == "upper" else y > bound) if upper else y < bound
    return where.astype(bool) | (bound != bound) if profile.nan_bounds == "poisons" else where.astype(bool)


def is_outside(case, found):
    """Whether any bound of integers lies beyond their dtype."""
    limits = np.iinfo(case.x.dtype)
    return any(not limits.min <= number <= limits.max for number in found.numbers.ravel().tolist())


def checked_bounds(case, rule, nan):
    """The bounds, which are not such that no element could be within."""
    if case.x.dtype in FORMATS and nan is not None and "--nan" in case.parameters and rule.range_of(nan):
        raise Refused("--nan beyond the dtype", USAGE)
    lo, hi = (bound(case, side) for side in BOUNDS)
    for found, wrong in ((lo, 1), (hi, -1)):
        if found and not rule.keeps(case.bound_dtype) and (case.x.elements.size or found.numbers.size == 1) \
                and any(rule.range_of(each) == wrong for each in set(found.numbers.ravel().tolist())):
            raise Refused("bound beyond the dtype", USAGE)
    texts = [case.parameters[side] for side in BOUNDS if isinstance(case.parameters.get(side, None), str)]
    typed = [contract.exact(text) for text in texts if not figures.is_percentile(text)] if case.x.dtype in INTS or case.x.dtype in FORMATS else []
    above_as_written = len(typed) == 2 and typed[0] > typed[1] and not (case.is_listed and case.x.dtype in FORMATS)
    written = [each.numbers if each.written is None else each.written for each in (lo, hi)] if lo and hi else [np.array(0)] * 2
    low, high = written if written[0].dtype == written[1].dtype else map(plain, written)
    is_above = np.asarray(low > high, bool) & (not case.exact_bounds or {*BOUNDS} <= {*case.parameters})  # a limit of the dtype is above nothing
    if above_as_written or is_above.any() and (case.x.elements.size or is_above.size == 1):
        if case.above == "error" or case.profile.integers == "inward" and not above_as_written:
            words = [case.word("--min" if "--min" in case.parameters else "--max")]
            if {*BOUNDS} & {*case.arrays()}:
                where = np.broadcast_to(is_above, case.x.shape)
                words = [*BOUNDS, {"exceeds"} if not where.any() else case.x.index_texts(where) | ({"exceeds"} if is_above.size == 1 else set())]
                if case.is_stretched:
                    words[2] |= {"is not a finite"}  # an infinite bound at an index before that
                if case.is_stretched and any(abs(number) == math.inf for number in typed):
                    words = [{"is infinite", "exceeds"}]
            raise Refused("above" if above_as_written else "above as converted", USAGE, *words)
    return lo, hi


def numbers_of(case):
    """The tensor, scaled and biased."""
    x = numbers(case.x.elements, case.x.dtype)
    if not case.arithmetic:
        return x, False
    scale, bias = factors(case)
    x = plain(x) if case.arithmetic is object else x.astype(case.arithmetic)
    product = np.asarray(x / scale if case.divides else x * scale)
    underflows = (product == 0) & (x != 0) & (scale != 0) & (bias == 0)
    return np.asarray(product + bias), underflows


def typed_nan(case):
    """The number of --nan, None if it has none."""
    if case.nan in ("error", "kept", "keep", "canonical", *BOUND_NAMES):
        return None
    return ticks(case.x.dtype, case.nan) if is_time(case.x.dtype) else contract.exact(case.nan)


def check(case):
    """Raises Refused for a tensor or for options that the profile does not take."""
    profile, given = case.profile, case.parameters
    if case.x.dtype in contract.DTYPES:
        contract.check_tensor(profile, case.x.dtype, case.x.shape)
    for option in FACTORS:
        if option in given and not (profile.scale and (isinstance(given[option], Tensor) or contract.is_finite(contract.exact(given[option])))):
            raise Refused("scale" if profile.scale else "no scale", USAGE, option[2:])
    missing = [side for side in BOUNDS if side not in given]
    if len(missing) > {"optional": 2, "one": 1, "both": 0}[profile.bounds]:
        raise Refused("required", USAGE, missing[0])


def equal(elements, number, dtype):
    """Where elements equal a number that the dtype has; NaN is every NaN."""
    return elements != elements if number != number else elements == (float(number) if dtype in FORMATS else int(number))


def elsewhere(case, parameters, valid):
    """The result of the valid elements, which are in places of their own. Arrays are refused also for nodata elements."""
    if case.arrays():
        try:
            result(figures.without(replace(case, parameters=parameters)))
        except Beyond:
            pass
        except Refused as refused:
            if refused.rule not in ("NaN element", "percentile of no numbers"):
                raise
    try:
        return result(valid)
    except Refused as refused:
        late = refused.rule == "NaN element" or isinstance(refused, Beyond)
        raise Refused("NaN element" if late else refused.rule, refused.code) from None


def percentages_of(case):
    return [side for side in BOUNDS if figures.is_percentile(case.parameters.get(side))]


def lost_in(case, x):
    """The bounds that no element of the tensor has."""
    return [side for side in percentages_of(case) if figures.is_lost(case, x, case.parameters[side])]


def without_percentages(case, parameters, percentages):
    """The parameters for a tensor that does not have these percentiles: without the steps that need them."""
    lost = {"--stretch", *percentages} | {option for side, option in zip(BOUNDS, ("--replace-below", "--replace-above")) if side in percentages}
    lost |= {"--nan"} if f"--{case.parameters.get('--nan')}" in percentages else set()
    if "--stretch" not in case.parameters:
        check_replacements(case)
    rule_of(case)
    if "--stretch" in case.parameters:
        check_normalization(case)
        ends_of_stretch(case)
        typed = [given for given in map(case.parameters.get, BOUNDS) if isinstance(given, str) and not figures.is_percentile(given)]
        if not all(math.isfinite(contract.exact(text)) for text in typed):
            raise Refused("infinite range", USAGE)
    ends = {} if case.profile is OWN else {side: figures.widest(case, side, parameters) for side in percentages}
    return {option: each for option, each in parameters.items() if option not in lost} | ends


def in_own_places(case, where):
    """The case of some of the elements alone, in one row."""
    moved = {option: Tensor(each.dtype, np.broadcast_to(each.elements, case.x.shape)[where], name=each.name, varies=True)
             if each.elements.size != 1 else each.like(each.elements.reshape(1)) for option, each in case.arrays().items()}
    return replace(case, x=Tensor(case.x.dtype, case.x.elements[where]), parameters=case.parameters | moved, missing=None,
                   factors=None if case.factors is None else np.broadcast_to(case.factors, case.x.shape)[where])


def without_missing(case, lacks):
    """The case of elements that lack figures: without the steps that need them."""
    gone = {*lacks} | {option for option, of in NEEDED.items() if of in lacks} | ({"--stretch"} if {*BOUNDS} & lacks else set())
    if case.maps is not None and lacks & {"--subtract", "--divide"}:
        gone |= {"--subtract", "--divide"}
        case = replace(case, maps=None)
    gone |= {"--nan"} if f"--{case.parameters.get('--nan')}" in lacks else set()
    return replace(case, parameters={option: each for option, each in case.parameters.items() if option not in gone},
                   factors=None if "--max-norm" in lacks else case.factors)


def by_missing(case):
    """The result of a case in which elements lack figures: those of the elements that lack the same ones, each in places of their own."""
    sets, found, refusals = np.broadcast_to(case.missing, case.x.shape), [], []
    for each in np.unique(sets).tolist():
        where = sets == each
        alone = without_missing(in_own_places(case, where), {option for bit, option in enumerate(MISSING) if each >> bit & 1})
        try:
            found.append((where, result(alone)))
        except Refused as refused:
            refusals.append(refused)
    if refusals:  # bounds are looked at before elements
        refused = min(refusals, key=lambda refused: refused.code)
        raise Beyond(np.ones(1, bool)) if isinstance(refused, Beyond) else Refused(refused.rule, refused.code)

    def joined(name, dtype):
        if "--nodata" in case.parameters and name != "y":  # of the others only
            return np.concatenate([np.ravel(getattr(its, name)) for _, its in found])
        all_of = np.empty(case.x.shape, dtype)
        for where, its in found:
            all_of[where] = getattr(its, name)
        return all_of

    total = lambda name: None if None in (its := [getattr(each, name) for _, each in found]) else sum(its)
    bits = np.empty(case.x.shape, unsigned(case.to))
    for where, its in found:
        bits[where] = its.result.bits
    tensor = Tensor(case.to, bits.view(stored_type(case.to)), case.x.fortran, case.is_big)
    return Expected(tensor, *map(total, ("raised", "lowered", "nan")), joined("nans", bool), *map(total, ("infinite", "zero")), joined("moved", np.int8),
                    *map(total, ("nodata", "became_nodata")), None if any(its.y is None for _, its in found) else joined("y", object))


def around_nodata(case):
    """The result of a case with --nodata: that of the other elements, in places of their own, and what becomes of nodata."""
    given, where = case.parameters, case.is_nodata
    target = given.get("--nodata-to")
    if case.x.dtype == "bool" or is_time(case.x.dtype) or case.profile is not OWN or target is not None and "--nodata" not in given:
        raise Refused("nodata", USAGE, {"--nodata", "--nodata-to"})
    has = lambda number: not (number != number) and contract.rounded(number, case.to) == number if case.to in FORMATS and number == number \
        else case.to in FORMATS if number != number else contract.is_finite(number) and is_integral(number) and np.iinfo(case.to).min <= number <= np.iinfo(case.to).max
    marks = [contract.exact(target)] if target is not None else case.nodata_numbers()
    if target is not None and case.to in FORMATS and contract.is_finite(marks[0]):
        marks = [contract.rounded(marks[0], case.to)]
        if not contract.is_finite(marks[0]):
            raise Refused("nodata that the dtype does not have", USAGE)
    if not all(map(has, marks)):
        raise Refused("nodata that the dtype does not have", USAGE)
    others = {option: each for option, each in given.items() if option not in ("--nodata", "--nodata-to")}
    valid = Tensor(case.x.dtype, case.x.elements[~where])
    if lost_in(case, valid):
        others = without_percentages(case, others, lost_in(case, valid))
    moved = in_own_places(case, ~where)
    found = elsewhere(case, others, replace(moved, parameters=others | moved.arrays()))
    keeps = result(Case(Tensor(case.x.dtype, case.x.elements[where]), {"--to": case.to})).result if case.to != case.x.dtype and target is None \
        else Tensor(case.x.dtype, case.x.elements[where])
    bits = np.empty(case.x.shape, unsigned(case.to))
    bits[~where] = found.result.bits
    bits[where] = keeps.bits if target is None else nearest(marks[0], case.to) if case.to in FORMATS else int(marks[0]) % (1 << 8 * unsigned(case.to).itemsize)
    results = numbers(found.result.elements, case.to)
    became = np.zeros(results.shape, bool)
    for number in marks:
        became |= equal(results, number, case.to)
    big = case.is_big
    tensor = Tensor(case.to, bits.view(stored_type(case.to)), case.x.fortran, big)
    y = None
    if found.y is not None:
        y = np.full(case.x.shape, math.nan, object)
        y[~where] = found.y
    return replace(found, result=tensor, nodata=int(where.sum()), became_nodata=int(became.sum()), y=y)


def refused_by_plan(case):
    """Raises Refused for what is an error without the elements."""
    try:
        result(figures.without(case))
    except Refused as refused:
        arrays = [each for each in map(case.parameters.get, BOUNDS) if isinstance(each, Tensor) and each.elements.size > 1]
        if refused.rule in ("above", "above as converted", "NaN file") and arrays:
            figures.groups(case)  # axes are looked at before the elements of arrays are; an array of one element is a number
        if refused.rule == "infinite range" and arrays and "--max-norm" in case.parameters:
            return  # the norm is found before the elements of arrays are looked at
        if refused.code == USAGE and not isinstance(refused, Beyond):
            raise


def as_one_dtype(dtype, texts):
    """The bounds of a list as an array has them: float64 for floats, and integers without -0 where all are integers and float64 lacks one."""
    found = [contract.exact(text) for text in texts]
    if dtype in FORMATS:
        return [str(contract.rounded(number, "float64")) for number in found]
    has_all = any(abs(number) < math.inf and number != math.trunc(number) for number in found) \
        or all(abs(number) == math.inf or contract.rounded(number, "float64") == number for number in found)
    return texts if has_all else ["0" if number == 0 else text for number, text in zip(found, texts)]


def by_index(case, lists):
    """The result of a case with lists, which have a number for each index along an axis: that of each index, with its numbers typed."""
    axis = int(case.parameters["--per-axis"])
    if not -len(case.x.shape) <= axis < len(case.x.shape):
        raise Refused("no such axis", INPUT)
    from_end = axis - len(case.x.shape) if axis >= 0 else axis
    count = case.x.shape[axis]
    if any(len(its) != count for its in lists.values()):
        raise Refused("a list of another length", INPUT)
    of = lambda elements, i: elements[(..., slice(i, i + 1), *[slice(None)] * (-from_end - 1))] \
        if elements.ndim >= -from_end and elements.shape[from_end] == count else elements
    lists = {option: as_one_dtype(case.x.dtype, its) if option in BOUNDS else its for option, its in lists.items()}
    found, refusals = [], []
    for i in range(count):
        given = case.parameters | {option: its[i] for option, its in lists.items()}
        given |= {option: each.like(of(each.elements, i)) for option, each in case.arrays().items()}
        alone = replace(case, x=case.x.like(of(case.x.elements, i)), parameters=given, is_listed=bool({*BOUNDS} & {*lists}))
        if not figures.has_figures(replace(alone, parameters={option: each for option, each in given.items() if option != "--per-axis"})):
            del given["--per-axis"]
        try:
            found.append(result(alone))
        except Refused as refused:
            refusals.append(Refused(f"{refused.rule} in a list", refused.code))
    if refusals:  # elements are looked at after all bounds
        raise min(refusals, key=lambda refused: refused.code)
    joined = lambda name: np.concatenate([np.ravel(getattr(each, name)) if "--nodata" in case.parameters else getattr(each, name) for each in found],
                                         0 if "--nodata" in case.parameters else from_end)
    total = lambda name: None if None in (its := [getattr(each, name) for each in found]) else sum(its)
    tensor = found[0].result.like(np.concatenate([each.result.elements for each in found], from_end))
    return Expected(tensor, *map(total, ("raised", "lowered", "nan")), joined("nans"), *map(total, ("infinite", "zero")), joined("moved"),
                    *map(total, ("nodata", "became_nodata")))


def on_axis(case):
    """The case with arrays of shape (C,) that belong to the only axis of --per-axis in a shape that says so."""
    if "," in case.parameters.get("--per-axis", ","):
        return case
    axis, shape, given = int(case.parameters["--per-axis"]), case.x.shape, {}
    for option, each in case.arrays().items():
        if each.elements.ndim != 1 or each.elements.size == 1 or not -len(shape) <= axis < len(shape) or axis in (-1, len(shape) - 1) or shape[axis] != each.elements.size:
            continue
        if shape[-1] == shape[axis]:
            raise Refused("ambiguous axis", USAGE, option)
        given[option] = each.like(each.elements.reshape(-1, *[1] * ((len(shape) - axis if axis >= 0 else -axis) - 1)))
    return replace(case, parameters=case.parameters | given)


def take_mask(case):
    """The case with --mask as the places where it is not 0."""
    given = case.parameters["--mask"]
    if case.profile is not OWN or not figures.has_figures(case):
        raise Refused("--mask without a figure", USAGE)
    if not fits(given.shape, case.x.shape):
        raise Refused("file size", INPUT)
    return replace(case, mask=np.broadcast_to(numbers(given.elements, given.dtype) != 0, case.x.shape),
                   parameters={option: each for option, each in case.parameters.items() if option != "--mask"})


def result(case):
    """The output and what is counted. Raises Refused for a case that clipper must refuse, Unspecified if no rule says what it does."""
    case = on_axis(case)
    lists = {option: given.split(",") for option, given in case.parameters.items() if option in LISTS and isinstance(given, str) and "," in given}
    if lists:
        return by_index(case, lists)
    if "--mask" in case.parameters:
        case = take_mask(case)
    case, typed = figures.with_norm(case)
    if typed:
        try:
            return result(case)
        except Refused as refused:
            refused.words = [words | {typed[word] for word in words if word in typed} for words in refused.words]
            raise
    check(case)
    case = replace(case, was_normalized=case.was_normalized or case.normalizes)
    with np.errstate(all="ignore"):
        if "--stretch-from" in case.parameters:
            check_normalization(case)
            try:
                case = ranged(case)
            except Refused as refused:
                if refused.code == INPUT:
                    refused_before_range(case)
                raise
        is_whole = not case.x.elements.size or case.mask is None and figures.is_one_group(case)
        if "--nodata" not in case.parameters and lost_in(case, case.x) and is_whole:
            case = replace(case, parameters=without_percentages(case, case.parameters, lost_in(case, case.x)))
        if figures.are_in(case):
            if "--stretch" not in case.parameters:
                check_replacements(case)
            refused_by_plan(case)
            if "--stretch" in case.parameters and case.profile is OWN:
                figures.groups(case)
                if not lost_in(case, figures.valid_in(case, ...)):
                    check_replacements(case)
            case = figures.found_in(case, bound, result, percentile_in)
        if case.missing is not None and case.missing.any():
            return by_missing(case)
        if {"--nodata", "--nodata-to"} & {*case.parameters}:
            return around_nodata(case)
        if case.normalizes:
            return normalized(case)
        rule, nan = rule_of(case), typed_nan(case)
        others = [replacement(case, option) for option in ("--replace-below", "--replace-above")]
        return formula(case, rule, nan, others, *checked_bounds(case, rule, nan))


def formula(case, rule, nan, others, lo, hi):
    g, underflows = numbers_of(case)
    shape = case.x.shape
    nans = np.asarray(g != g, bool) if case.arithmetic else is_nan(case.x.elements, case.x.dtype)
    source = g.dtype if case.arithmetic else case.x.dtype
    same = Tensor(case.to, g if case.arithmetic or case.to == "bool" else case.x.elements).bits if source == case.to else None
    bits, limited = (same, np.zeros(shape, np.int8)) if rule.keeps(source) else rule.stored(g)
    bits = bits if same is None else np.where(nans, same, bits)
    y = before = g
    limits = [(each, upper) for each, upper in ((lo, False), (hi, True)) if each]
    if any(each.numbers.dtype != g.dtype for each, _ in limits):
        y = before = plain(g)
    for each, upper in reversed(limits) if case.above == "min" else limits:
        bound_numbers = plain(each.numbers) if y.dtype == object else each.numbers
        where = beyond(case.profile, y, bound_numbers, upper) & ~nans & (y == y).astype(bool)  # NaN, also of the other bound
        its_bits, its_limits = (each.bits, 0) if each.bits is not None and rule.keeps(case.bound_dtype) else rule.stored(each.numbers)
        y, bits, limited = np.where(where, bound_numbers, y), np.where(where, its_bits, bits), np.where(where, its_limits, limited)
    moved = beyond_bound = (y > before).astype(np.int8) - (y < before).astype(np.int8)
    for other, sign in zip(others, (1, -1)):
        if other is not None:
            its = (nearest(other, rule.to), 0) if other != other else rule.store(other)
            bits, limited = (np.where(moved == sign, np.array(each, was.dtype), was) for each, was in zip(its, (bits, limited)))
    bits, limited = with_nans_replaced(case, rule, nan, bits, limited, nans, lo, hi)
    refuse_elements(case, nans, limited == 2)
    moved = np.where(nans, 0, np.where(moved == 0, limited, moved))
    big = case.is_big
    found = Tensor(case.to, np.asarray(bits, unsigned(case.to)).view(stored_type(case.to)).reshape(shape), case.x.fortran, big)
    exact_y = plain(np.broadcast_to(y, shape)) if case.exact_bounds else None
    for other, sign in zip(others, (1, -1)):
        if other is not None and exact_y is not None:
            exact_y[np.broadcast_to(beyond_bound == sign, shape)] = other
    counts = [int((moved == sign).sum()) for sign in (1, -1)]
    lost = losses(case, rule, g, underflows, found.elements, moved, nans)
    if "--saturate" in case.parameters and any(each and inf in plain(each.numbers).ravel() for each, inf in ((lo, math.inf), (hi, -math.inf))):
        counts = [None, None]  # elements beyond the limit of the dtype, which is that bound now, may count as raised or as lowered
    if case.exact_bounds and case.arithmetic and not case.casts and any(each and is_outside(case, each) for each in (lo, hi)):
        counts, lost = [None, None], [lost[0], None]  # what is beyond the dtype only by a fraction may count, if a bound lies further away
    return Expected(found, *counts, int(nans.sum()), nans, *lost, moved, y=exact_y)


def check_normalization(case):
    given = case.parameters
    if case.x.dtype in INTS and not {"--to", "--round"} & {*given}:
        raise Refused("fractions of integers", USAGE, {*NORMALIZATION} & {*given})
    if "--stretch" in given and "--stretch-from" not in given and (not {*BOUNDS} <= {*given} or {"--subtract", "--divide"} & {*given}):
        raise Refused("stretch", USAGE, {"--stretch", "--replace-below", "--replace-above"})
    if "--min-above-max" in given:
        raise Refused("min above max of what is normalized", USAGE)


def normalized(case):
    """The result of a case with --subtract, --divide or --stretch: that of the clip as float64, and what follows."""
    rule, given = rule_of(case), case.parameters
    check_normalization(case)
    if any(given.get(option, "0").lower() == "nan" for option in ("--replace-below", "--replace-above")) and case.to in INTS:
        raise Refused("NaN as an integer", USAGE)
    first = {option: each for option, each in given.items() if option not in (*NORMALIZATION, "--divide-zero", "--round", "--zero-point", "--saturate")}
    case = replace(case, is_stretched="--stretch" in given)
    clip = replace(case, parameters=first | {"--to": "float64"})
    for option in ("--replace-below", "--replace-above"):
        replacement(clip, option)
    ends = ends_of_stretch(case) if "--stretch" in given else None
    if isinstance(given.get("--divide"), str) and contract.exact(given["--divide"]) == 0:
        raise Refused("a divisor of 0", USAGE, "--divide")
    try:
        clipped = result(clip)
    except Refused as refused:
        if ends and refused.code == INPUT:  # bounds are refused before elements are
            bounds_of_stretch(case, *ends)
        if refused.code == INPUT and isinstance(given.get("--divide"), Tensor):
            check_divisors(case)
        if refused.rule == "NaN element":
            refused.words = [each | {"is beyond the range"} for each in refused.words]  # an element before it
        raise
    y = clipped.result.elements
    if case.factors is not None:
        y = np.asarray(y * case.factors)
    if clipped.y is not None:
        z = normalized_exactly(case, clipped.y, ends)
    elif ends:
        z = stretched(y, *bounds_of_stretch(case, *ends), *ends)
    else:
        factor = {option: array_factor(case, option, "float64") if isinstance(given[option], Tensor) else np.float64(contract.exact(given[option]))
                  for option in ("--subtract", "--divide") if option in given}
        replace_zero_divisors(case, factor)
        check_divisors(case)
        z = np.asarray((y - factor.get("--subtract", 0.0)) / factor.get("--divide", 1.0))
    if case.maps and case.maps != [0, 1]:
        z = np.asarray(z * (case.maps[1] - case.maps[0]) + case.maps[0])
    bits, limited = rule.stored(z)
    wrong, unknown = limited == 2, z != z
    if case.to in INTS and (unknown & np.asarray(y == y, bool)).any():
        raise Refused("NaN element", INPUT)
    refuse_elements(case, unknown & (case.nan in ("kept", "error")), wrong)
    moved = np.where(clipped.nans, 0, np.where(clipped.moved == 0, limited, clipped.moved))
    big = case.is_big
    found = Tensor(case.to, bits.view(stored_type(case.to)).reshape(case.x.shape), case.x.fortran, big)
    within, ends = (moved == 0) & ~clipped.nans, numbers(found.elements, case.to)
    zero = int((within & (z != 0) & (ends == rule.zero_point)).sum())
    infinite = int((within & np.isfinite(numbers(case.x.elements, case.x.dtype).astype(float)) & np.isinf(ends)).sum()) if case.to in FORMATS else 0
    return Expected(found, *(int((moved == sign).sum()) for sign in (1, -1)), clipped.nan, clipped.nans, infinite, zero, moved)


def ranged(case):
    """A case with --stretch-from: with the range's begin and length as --subtract and --divide."""
    texts = case.parameters["--stretch-from"].split(":")
    is_found = any(map(figures.is_percentile, texts))
    if case.arithmetic and any(map(figures.is_rule, texts)):
        raise Refused("a rule beside a scale", USAGE)
    maps = ends_of_stretch(case)
    others = {option: each for option, each in case.parameters.items() if option not in ("--stretch", "--stretch-from")}
    if is_found:
        try:
            refused_by_plan(replace(case, parameters=others | {"--subtract": "0", "--divide": "1"}, maps=maps))
        except Refused as refused:
            if refused.rule != "above as converted":  # which elements of arrays are, after the range
                raise
    shape, parts = figures.groups(case) if is_found else ((), [((), ...)])
    code, begins, lengths = INPUT if is_found else USAGE, [], []
    for _, part in parts:
        x = figures.valid_in(case, part)
        if any(figures.is_percentile(text) and figures.is_lost(case, x, text) for text in texts):
            begins.append(0)
            lengths.append(1.0)
            case = figures.lacking(case, part, "--subtract")
            continue
        ends = [end_in(replace(case, x=x), text) if figures.is_percentile(text) else contract.exact(text) for text in texts]
        if not all(map(math.isfinite, ends)):
            raise Refused("an infinite end of --stretch-from", code)
        a, b = (figures.as_double(figures.found_bound(end)) if case.x.dtype in INTS else float(end) for end in ends)
        begins.append(a)
        lengths.append(float(Fraction(b) - Fraction(a)) if abs(Fraction(b) - Fraction(a)) < 2**1024 else math.inf)
        if lengths[-1] == 0 or math.isinf(lengths[-1]):
            raise Refused("the length of --stretch-from", code)
    if len(parts) <= 1 or not case.x.elements.size:
        lost = is_found and (not parts or any(figures.is_percentile(text) and figures.is_lost(case, figures.valid_in(case, parts[0][1]), text) for text in texts))
        return replace(case, parameters=others, missing=None) if lost else \
            replace(case, parameters=others | {"--subtract": repr(begins[0]), "--divide": repr(lengths[0])}, maps=maps)
    limits = np.iinfo(case.x.dtype) if case.x.dtype in ("int64", "uint64") else None
    is_whole = limits and all(each == math.trunc(each) and limits.min <= each <= limits.max for each in begins)
    if limits and not is_whole and figures.are_rounded(begins):
        raise Refused("fractions and integers that float64 lacks", USAGE, {"--stretch-from", *BOUNDS})
    array = lambda numbers: figures.array_of(shape, "float64", [nearest(number, "float64") for number in numbers])
    begin = Tensor(case.x.dtype, np.array([int(each) for each in begins], case.x.dtype).reshape(shape)) if is_whole else array(begins)
    return replace(case, parameters=others | {"--subtract": begin, "--divide": array(lengths)}, maps=maps)


def refused_before_range(case):
    """Raises Refused for a wrong option, which is seen before there is no range."""
    others = {option: each for option, each in case.parameters.items() if option not in ("--stretch", "--stretch-from")}
    try:
        result(replace(case, parameters=others | {"--subtract": "0", "--divide": "1"}))
    except Refused as refused:
        is_late = refused.rule.startswith(("range", "above in a group")) and figures.is_one_group(case)  # of one group a bound is an element later
        if refused.code == USAGE and refused.rule != "above as converted" and not is_late:
            raise


def replace_zero_divisors(case, factor):
    """Of an array."""
    if isinstance(case.parameters.get("--divide"), Tensor) and case.parameters.get("--divide-zero", "error") != "error":
        factor["--divide"] = np.where(factor["--divide"] == 0, figures.zero_divisor(case), factor["--divide"])


def check_divisors(case):
    """Raises Refused for a 0 in an array."""
    if not isinstance(case.parameters.get("--divide"), Tensor):
        return
    factor = {"--divide": array_factor(case, "--divide", "float64")}
    replace_zero_divisors(case, factor)
    if not np.all(factor["--divide"]) and (case.x.elements.size or np.size(factor["--divide"]) == 1):
        raise Refused("a divisor of 0", INPUT, "--divide")


def difference(a, b):
    """a - b as float64, rounded once."""
    if a == b == 0 or not all(isinstance(each, int) or math.isfinite(each) for each in (a, b)):
        return float(a) - float(b)  # -0 - 0 is -0
    return float(Fraction(a) - Fraction(b))


def whole_or_double(number):
    """A result of integer arithmetic stays, whatever its size."""
    return int(number) if number and math.isfinite(number) and number == math.trunc(number) else float(number)


def normalized_exactly(case, y, ends):
    """The last steps of integers: differences are exact before they are rounded to float64."""
    of_y = float if case.arithmetic == "float64" and not ends else whole_or_double if case.arithmetic is object else figures.as_double
    y = plain(np.vectorize(of_y, otypes=[object])(y)) if y.size else y
    if case.factors is not None:  # one of 1 changes nothing, also of integers that float64 lacks
        y = np.asarray(np.frompyfunc(lambda each, factor: each if factor == 1 else float(each) * factor, 2, 1)(y, case.factors), object)
    minus = np.frompyfunc(difference, 2, 1)
    as_floats = lambda found: np.asarray(found, np.float64)
    if ends:
        bounds_of_stretch(case, *ends)
        lo, hi = (np.frompyfunc(figures.as_double, 1, 1)(bound(case, side).numbers) for side in BOUNDS)
        low, high = ends
        z = np.clip(as_floats(minus(y, lo)) / as_floats(minus(hi, lo)) * (high - low) + low, min(low, high), max(low, high))
        return np.where(np.asarray(y <= lo, bool), low, np.where(np.asarray(y >= hi, bool), high, z))
    given, factor = case.parameters, {}
    for option in ("--subtract", "--divide"):
        if isinstance(given.get(option), Tensor):
            factor[option] = array_factor(case, option, "float64")
            if option == "--subtract":
                factor[option] = plain(numbers(given[option].elements, given[option].dtype))
        elif option in given:
            factor[option] = plain(figures.as_double(contract.exact(given[option]))) if option == "--subtract" else np.float64(contract.exact(given[option]))
    replace_zero_divisors(case, factor)
    check_divisors(case)
    return as_floats(minus(y, factor.get("--subtract", 0))) / factor.get("--divide", 1.0)


def ends_of_stretch(case):
    ends = [contract.exact(text) for text in case.parameters["--stretch"].split(":")]
    zero_point = int(case.parameters.get("--zero-point", 0))
    for end in ends:
        limits = np.iinfo(case.to) if case.to in INTS else None
        exists = contract.is_finite(end) and contract.is_finite(contract.rounded(end, case.to)) if not limits \
            else end == math.trunc(end) and limits.min <= end + zero_point <= limits.max
        if not exists:
            others = {"--zero-point", "--replace-below", "--replace-above", "--nan"} & {*case.parameters}  # which may be wrong, too
            raise Refused("an end of --stretch that the dtype does not have", USAGE, {"--stretch", *others})
    return [np.float64(end) for end in ends]


def bounds_of_stretch(case, low, high):
    """min and max as float64."""
    lo, hi = (np.vectorize(float, otypes=[float])(bound(case, side).numbers) for side in BOUNDS)
    numbers_within = [case.parameters[option] for option in ("--replace-below", "--replace-above") if option in case.parameters]
    numbers_within += [case.nan] if case.x.dtype in FORMATS and typed_nan(case) is not None else []
    is_infinite = lambda given: (case.x.elements.size or given.elements.size == 1) and np.isinf(numbers(given.elements, given.dtype).astype(float)).any() \
        if isinstance(given, Tensor) else not figures.is_percentile(given) and math.isinf(contract.exact(given))
    infinite = any(is_infinite(case.parameters[side]) for side in BOUNDS) or not np.isfinite(high - low) or not np.isfinite(hi - lo).all() and (case.x.elements.size or lo.size == hi.size == 1) \
        or any(each.size == 1 and not np.isfinite(each).all() for each in (lo, hi))
    are_numbers = lo.size == hi.size == 1 and not any(isinstance(case.parameters[side], Tensor) and case.parameters[side].varies for side in BOUNDS)
    outside = are_numbers and any(not lo <= float(contract.exact(text)) <= hi for text in numbers_within if text != "nan")
    if infinite or outside:
        found = any(figures.is_percentile(case.parameters[side]) and not np.isfinite(each).all() for side, each in zip(BOUNDS, (lo, hi)))
        raise Refused("infinite range" if infinite else "outside of what is stretched", INPUT if found else USAGE)
    return lo, hi


def with_nans_replaced(case, rule, nan, bits, limited, nans, lo, hi):
    if not nans.any() or case.nan in ("kept", "keep", "error"):
        return bits, limited
    its_limits = 0
    if case.nan in BOUND_NAMES:
        each = lo if case.nan == "min" else hi
        element, its_limits = (each.bits, 0) if each.bits is not None and rule.keeps(case.bound_dtype) else rule.stored(each.numbers)
        if "--nan" not in case.parameters and lo.numbers <= hi.numbers:  # the profile replaces NaN, and then clips
            element = result(replace(case, x=Tensor(case.x.dtype, element.view(stored_type(case.x.dtype))))).result.bits
    elif case.nan == "canonical":
        element = nearest(math.nan, rule.to)
    else:
        element = nan % (1 << 64) if is_time(rule.to) else rule.store(nan)[0]
    return np.where(nans, np.asarray(element).astype(bits.dtype), bits), np.where(nans, its_limits, limited)


def refuse_elements(case, nans, wrong):
    """Raises Refused for elements that the result cannot have."""
    places = case.x.index_texts(wrong) | {f"(element {np.flatnonzero(wrong.ravel())[0]})"} if wrong.any() else set()
    if nans.any() and (case.nan == "error" or case.nan == "kept" and case.to in INTS):
        raise Refused("NaN element", INPUT, case.x.index_texts(nans) | places, {"NaN", "NaT", *places})
    if wrong.any():
        raise Beyond(wrong, places)


def losses(case, rule, g, underflows, elements, moved, nans):
    """The numbers of elements within the bounds that become infinite, and that become 0."""
    if case.to == "bool" or is_time(case.to):
        return 0, 0
    within, y = (moved == 0) & ~nans, numbers(elements, case.to)
    zero = within & (y == rule.zero_point) & ((g != 0) | underflows).astype(bool)
    if case.to in INTS:
        return 0, int(zero.sum())
    infinite = within & np.isfinite(numbers(case.x.elements, case.x.dtype).astype(float)) & np.isinf(y)
    if infinite.any() and any(abs(number) == math.inf for side in BOUNDS if side in case.parameters for number in plain(bound(case, side).numbers).ravel()):
        return None, int(zero.sum())  # an element that is scaled to an infinite bound may count or not
    return int(infinite.sum()), int(zero.sum())
