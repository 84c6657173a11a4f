"""Numbers that are found in the elements: percentiles and statistics of all elements, or of each index along some axes."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from contract import FLOAT8, FORMATS, INPUT, INTS, USAGE, Refused, at_percentage, decoded, exact, is_finite, is_nan, nearest, numbers, percentile, rounded, stored_type
from tensor import Tensor, unsigned

BOUNDS, FACTORS = ("--min", "--max"), ("--subtract", "--divide")
BOUND_NAMES = ("min", "max")
MISSING = ("--min", "--max", "--subtract", "--divide", "--max-norm")
STATISTICS = ("mean", "std", "min", "max", "median", "mad", "iqr", "absmax", "rms", "norm")
OF_FINITE = ("mean", "std", "rms", "norm", "norm1")
FIGURE = re.compile("|".join((r"[0-9.]+(?:e[+-]?[0-9]+)?%", *sorted((*STATISTICS, "norm1"), key=len, reverse=True))))
RULE = re.compile(r"(mean|median|[0-9.]+%)(?:([+-][0-9.]*)(std|mad|iqr))?")
LAST_STEPS = (*FACTORS, "--divide-zero", "--round", "--zero-point", "--saturate", "--to", "--nodata-to", "--per-axis")


def nearest_root(square):
    """The float nearest to the square root of a fraction."""
    if square == 0:
        return 0.0
    shift = 100 - (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    scaled = square * Fraction(4) ** shift
    root = math.isqrt(math.floor(scaled))
    between = root * root != scaled  # then any number between root and root + 1 rounds as the exact one
    return float((2 * root + between) / (2 * Fraction(2) ** shift))


def mean_and_deviation(values):
    """Of finite floats or integers, each rounded once; None if there are none."""
    unit = 1 << 1074 if values and isinstance(values[0], float) else 1
    numbers = [numerator * (unit // denominator) for numerator, denominator in (value.as_integer_ratio() for value in values)]
    if not numbers:
        return None, None
    count, total = len(numbers), sum(numbers)
    square = Fraction(count * sum(x * x for x in numbers) - total * total, (count * unit) ** 2)
    return float(Fraction(total, count * unit)), nearest_root(square)


def in_order(values):
    """Floats that are not NaN, sorted, -0 before 0."""
    known = values[values == values]
    return known[np.lexsort((~np.signbit(known), known))]


def finite_figure(word, values):
    """A figure of finite floats or integers, rounded once. A mean of integers that float64 lacks is exact."""
    if word in ("mean", "std"):
        found = mean_and_deviation(values)[word == "std"]
        is_exact = word == "mean" and values and isinstance(values[0], int) and abs(found) >= 2**53
        return Fraction(sum(values), len(values)) if is_exact else found
    if word == "norm1":
        return as_float(sum(map(abs, map(Fraction, values))))
    square = sum((Fraction(each) ** 2 for each in values), Fraction())
    try:
        return nearest_root(square / len(values) if word == "rms" else square)
    except OverflowError:
        return math.inf


def as_float(number):
    """The nearest float64, also an infinite one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def value_of(text, of):
    """What Python gives for an expression with float64 figures, where of(word) is a figure; one alone is exact."""
    if FIGURE.fullmatch(text):
        return of(text)
    figures = {f"F{place}": as_float(of(word)) for place, word in enumerate(FIGURE.findall(text))}
    names = iter(figures)
    return eval(re.sub(r"(?<=[0-9.]) *(?=F)", "*", FIGURE.sub(lambda _: next(names), text)).strip(), figures)


class NoNumbers(Refused):
    """A statistic of nothing."""


def minus(a, b):
    """The exact difference; NaN of equal infinities."""
    return Fraction(a) - Fraction(b) if math.isfinite(a) and math.isfinite(b) else float(a) - float(b)


def order_figure(word, ranked):
    """A percentile, or what is made of percentiles, of sorted numbers."""
    if word == "absmax":
        return max(abs(ranked[0]), abs(ranked[-1]))
    if word == "iqr":
        return minus(at_percentage(ranked, "75%"), at_percentage(ranked, "25%"))
    middle = at_percentage(ranked, word if word.endswith("%") else "50%")
    if word != "mad":
        return middle
    return at_percentage(sorted(abs(minus(each, middle)) for each in ranked), "50%") if math.isfinite(middle) else math.nan


def rule_value(x, text):
    """An expression of a tensor's elements that is no percentile."""
    known = numbers(x.elements[~is_nan(x.elements, x.dtype)].ravel(), x.dtype)
    ranked = in_order(known.astype(np.float64)).tolist() if x.dtype in FORMATS else sorted(known.tolist())
    finite = [each for each in ranked if math.isfinite(each)]
    least = {"min": 0, "max": -1}
    of = lambda word: finite_figure(word, finite) if word in OF_FINITE else ranked[least[word]] if word in least else order_figure(word, ranked)
    rule = RULE.fullmatch(text)
    if rule is None or rule[3] is None:
        found = value_of(text, of)
    else:
        factor, a, b = Fraction(rule[2] if len(rule[2]) > 1 else rule[2] + "1"), of(rule[1]), of(rule[3])
        found = Fraction(a) + factor * Fraction(b) if math.isfinite(a) and math.isfinite(b) else float(a) + float(factor) * float(b)
    if found != found:
        raise Refused("a rule between infinities", INPUT)
    return found


def is_percentage(given):
    """Whether it is a percentile alone."""
    return isinstance(given, str) and given.endswith("%") and FIGURE.fullmatch(given) is not None


def is_rule(given):
    return isinstance(given, str) and not is_percentage(given) and FIGURE.search(given) is not None


def bound_value(x, text):
    """The number of a percentile or a rule."""
    return rule_value(x, text) if is_rule(text) else percentile(x, text)


def is_lost(case, x, text):
    """Whether no element has the percentile or rule. A scale of 0 makes NaN of infinities."""
    nans, scale = is_nan(x.elements, x.dtype), case.parameters.get("--scale", "1")
    is_zero = isinstance(scale, str) and "," not in scale and exact(scale) == 0
    if x.dtype in FORMATS and (is_zero or {*OF_FINITE} & {*FIGURE.findall(text)}):
        nans = ~np.isfinite(numbers(x.elements, x.dtype).astype(np.float64))
    return bool(nans.all())


def norm(word, values):
    """The 2-norm, 1-norm or greatest absolute value of numbers, rounded once to float64."""
    if not all(map(math.isfinite, values)):
        raise Refused("the norm of what is not finite", INPUT, "--max-norm")
    exactly = [abs(Fraction(each)) for each in values]
    try:
        return float(max(exactly, default=0)) if word == "inf" else float(sum(exactly)) if word == "1" else nearest_root(sum((each * each for each in exactly), Fraction()))
    except OverflowError:
        raise Refused("an infinite norm", INPUT, "--max-norm") from None


def has_norm(case):
    """Whether there is a norm to find."""
    return "--max-norm" in case.parameters and case.factors is None


def norm_factors(case, given, shape, parts, result):
    """What each group is multiplied by. `given` has the numbers of bounds."""
    first = {option: each for option, each in given.items() if option not in (*LAST_STEPS, "--stretch", "--max-norm", "--norm")}
    clipped = result(replace(case, mask=None, parameters=first | {"--to": "float64"} | ({"--nodata-to": "0"} if "--nodata" in given else {})))
    y, limit = elements_of(case, given, clipped), float(exact(given["--max-norm"]))
    norms = [norm(given.get("--norm", "2"), np.ravel(np.asarray(y[part])[... if case.mask is None else case.mask[part]]).tolist()) for _, part in parts]
    return np.array([limit / each if each > limit else 1.0 for each in norms], np.float64).reshape(shape) if parts else np.float64(1)


def elements_of(case, given, clipped):
    """The clipped elements, exact ones of 64-bit integers where nothing before figures calculates in float64."""
    is_long = clipped.y is not None and case.x.dtype in ("int64", "uint64") and not {"--scale", "--bias", "--replace-below", "--replace-above", "--nodata"} & {*given}
    return clipped.y if is_long and not any(has_fractions(given.get(side), case.x) for side in BOUNDS) else clipped.result.elements


def is_factor_figure(given):
    return isinstance(given, str) and FIGURE.search(given) is not None


def one_figure(word, values):
    """Of float64 elements, or of integers."""
    is_whole = values.dtype == object
    if word in OF_FINITE:
        finite = values.tolist() if is_whole else values[np.isfinite(values)].tolist()
        found = finite_figure(word, finite) if finite else None
    else:
        ranked = sorted(each for each in values.tolist() if each == each) if is_whole else in_order(values).tolist()
        found = None if not ranked else ranked[0 if word == "min" else -1] if word in ("min", "max") else order_figure(word, ranked)
    if found is None:
        raise NoNumbers(f"{word} of no numbers", INPUT, word)
    return found


def statistic(text, values):
    """An expression of float64 elements, or of integers."""
    rule = RULE.fullmatch(text)
    of = lambda word: one_figure(word, values)
    if rule is not None and rule[3] is not None:
        found = minus(of(rule[1]), -Fraction(rule[2] if len(rule[2]) > 1 else rule[2] + "1") * Fraction(of(rule[3])))
    else:
        found = value_of(text, of)
    if not math.isfinite(found):
        raise Refused(f"infinite {text}", INPUT, text)
    return found_bound(found) if values.dtype == object else as_float(found)


def as_double(number):
    """A whole number of 64 bits stays; others are the nearest float64."""
    if isinstance(number, float):
        return number
    return int(number) if number == math.trunc(number) and -2**63 <= number < 2**64 else float(number)


def found_bound(number):
    """A percentile of integers as a bound: whole, of any size, or the nearest float64 in the fewest digits."""
    number = number.item() if isinstance(number, np.generic) else number
    if number == math.trunc(number):
        return int(number)
    return Fraction(repr(float(number))) if abs(float(number)) < 2**53 else math.trunc(number)


def has_fractions(given, x):
    """Whether a bound of this tensor may have fractions."""
    if is_percentile(given):
        return found_bound(bound_value(x, given)) % 1 != 0
    if isinstance(given, Tensor):
        return given.dtype in FORMATS and (given.elements.size != 1 or bool(given.elements.ravel()[0] % 1))
    return given is not None and math.isfinite(exact(given)) and exact(given) % 1 != 0


def are_rounded(numbers):
    """Whether float64 lacks any of the integers."""
    return any(math.isfinite(number) and number == math.trunc(number) and float(number) != number for number in numbers)


def is_percentile(given):
    """Whether a bound is found in the elements."""
    return isinstance(given, str) and FIGURE.search(given) is not None


def axes_of(case):
    return [int(axis) for axis in case.parameters["--per-axis"].split(",")] if "--per-axis" in case.parameters else []


def has_figures(case):
    return has_norm(case) or any(is_percentile(case.parameters.get(side)) for side in BOUNDS) or any(is_factor_figure(case.parameters.get(option)) for option in FACTORS) \
        or any(map(is_percentile, case.parameters.get("--stretch-from", "").split(":")))


def groups(case):
    """The index of each group in an array of figures, and the index of its elements in the tensor."""
    rank = len(case.x.shape)
    axes = axes_of(case)
    if any(not -rank <= axis < rank for axis in axes):
        raise Refused("no such axis", INPUT, "--per-axis")
    kept = {axis % rank for axis in axes}
    shape = tuple(size if axis in kept else 1 for axis, size in enumerate(case.x.shape))
    return shape, [(index, tuple(index[axis] if axis in kept else slice(None) for axis in range(rank))) for index in np.ndindex(shape)]


def zero_divisor(case):
    """What divides in place of a 0 that is found."""
    text = case.parameters.get("--divide-zero", "error")
    if text == "error":
        raise Refused("a divisor of 0", INPUT, "--divide")
    return 1.0 if text == "keep" else float(exact(text))


def within_floats(case, side, text, number):
    """A rule that leaves the range of floats bounds nothing, unless a later step gives it a meaning."""
    if case.x.dtype not in FORMATS or not is_rule(text) or number != number or abs(number) == math.inf or case.has_later_step or (number < 0) != (side == "--min"):
        return number
    highest = Fraction(float(decoded(FORMATS[case.x.dtype].last, FORMATS[case.x.dtype])))
    return number if abs(number) <= highest else math.inf if number > 0 else -math.inf


def is_far(case, number):
    """Whether floats have no finite element for a finite number, with which a later step calculates."""
    return case.x.dtype in FORMATS and case.x.dtype != "float64" and case.has_later_step and is_finite(number) and not is_finite(rounded(number, case.x.dtype))


def has_far_bounds(case, given, whole, find):
    """Whether a bound is such a number. `whole` has the elements of percentiles, which `find` finds."""
    for text in [given[side] for side in BOUNDS if side in given]:
        if not isinstance(text, str):
            found = numbers(text.elements, text.dtype).ravel().tolist()
        elif is_percentile(text):
            found = [] if is_lost(case, whole, text) else [find(replace(case, x=whole), text)]
        else:
            found = [exact(text)]
        if any(is_far(case, number) for number in found):
            return True
    return False


def is_one_group(case):
    try:
        return len(groups(case)[1]) <= 1
    except Refused:
        return False


def array_of(shape, dtype, elements):
    return Tensor(dtype, np.array(elements, unsigned(dtype)).view(stored_type(dtype)).reshape(shape))


def are_in(case):
    """Whether exact.py needs found_in(): it knows percentiles of all elements, unless the other bound is typed."""
    one_is_typed = case.x.dtype in {*FORMATS, *INTS} and {is_percentile(case.parameters.get(side, "")) for side in BOUNDS} == {False, True}
    return one_is_typed or has_norm(case) or "--per-axis" in case.parameters or case.mask is not None or any(is_factor_figure(case.parameters.get(option)) for option in FACTORS)


def counts_in(case, part):
    """Which elements of a group have figures: those that are data, and that the mask leaves."""
    return ~case.is_nodata[part] & (True if case.mask is None else case.mask[part])


def valid_in(case, part):
    """The elements of a group that have figures."""
    return case.x.like(np.asarray(case.x.elements[part])[counts_in(case, part)])


def lacking(case, part, option):
    """The case in which the elements of a group lack a figure."""
    missing = np.zeros(case.x.shape, np.uint8) if case.missing is None else case.missing.copy()
    missing[part] |= 1 << MISSING.index(option)
    return replace(case, missing=missing)


def widest(case, side, given):
    """The text of a percentile that a group does not have."""
    dtype, is_min = case.x.dtype, side == "--min"
    limits = np.iinfo(dtype) if dtype in INTS else None
    if "--stretch" not in given:
        return str(limits.min if is_min else limits.max) if limits else "-inf" if is_min else "inf"
    other = given.get("--max" if is_min else "--min")
    if isinstance(other, Tensor):
        form = FORMATS.get(dtype)
        return str(limits.min if is_min else limits.max) if limits else repr(float(decoded(form.last | (form.sign if is_min else 0), form)))
    if other is None or is_percentile(other):
        return "1"
    form = FORMATS.get(dtype)
    low, high = (limits.min, limits.max) if limits else (decoded(form.last | form.sign if form.sign else 0, form), decoded(form.last, form))
    if exact(other) < low if side == "--max" else exact(other) > high:
        return str(int(low if side == "--max" else high)) if limits else repr(float(low if side == "--max" else high))
    return other


def as_bound(case, number):
    """A typed bound beside found ones: as an element, if that is finite."""
    if case.exact_bounds or case.bound_dtype not in FORMATS or not is_finite(number):
        return number
    element = decoded(nearest(number, case.bound_dtype), FORMATS[case.bound_dtype])
    return element if is_finite(element) else number


def check_order(case, parts, find):
    """Raises Refused if min exceeds max in a group, as it is found or typed."""
    texts = [case.parameters.get(side) for side in BOUNDS]
    if all(isinstance(text, str) for text in texts) and case.above not in BOUND_NAMES:
        for index, part in parts:
            alone = replace(case, x=valid_in(case, part))
            if any(is_percentile(text) and is_lost(case, alone.x, text) for text in texts):
                continue
            lo, hi = (find(alone, text) if is_percentile(text) else as_bound(case, exact(text)) for text in texts)
            found = [end for end, text in zip((lo, hi), texts, strict=True) if is_percentile(text)]  # a typed infinity becomes an integer's limit
            if "--stretch" in case.parameters and not all(map(math.isfinite, found)):
                raise Refused("infinite percentile", INPUT)
            if lo > hi:
                words = {str(list(index))} | ({"exceeds the", "is below the"} if case.x.dtype in INTS else {"exceeds --max", "exceeds the", "is below the"} if case.x.dtype in FLOAT8 else set())  # or of the dtype
                raise Refused("above in a group", USAGE, *[words] * (len(parts) > 1))


def with_norm(case):
    """The case with the figure that --norm makes of `norm`, and what was typed for each text."""
    options = (*BOUNDS, *FACTORS, "--stretch-from")
    texts = {option: case.parameters[option] for option in options if isinstance(case.parameters.get(option), str)}
    texts = {option: text for option, text in texts.items() if "norm" in FIGURE.findall(text)}
    word = {"1": "norm1", "inf": "absmax"}.get(case.parameters.get("--norm"), "norm")
    given = {option: each for option, each in case.parameters.items() if option != "--norm" or not texts or "--max-norm" in case.parameters}
    named = {option: text.replace("norm", word) for option, text in texts.items()}
    return replace(case, parameters=given | named), {named[option]: text for option, text in texts.items() if named[option] != text}


def without(case):
    """The case with numbers that nothing depends on in place of its figures."""
    given = {option: each for option, each in case.parameters.items() if option != "--per-axis"}
    given |= {option: str(int(option == "--divide")) for option in FACTORS if is_factor_figure(given.get(option))}
    for side, other, replacement in zip(BOUNDS, BOUNDS[::-1], ("--replace-below", "--replace-above")):
        if not is_percentile(case.parameters.get(side)):
            continue
        typed = case.parameters.get(other)
        number = exact(typed) if isinstance(typed, str) and not is_percentile(typed) else 0
        if "--stretch" in given and not math.isfinite(number):
            raise Refused("infinite range", USAGE)
        if "--stretch" in given and math.isfinite(number):
            given[side] = str(max(math.ceil(number), 1) if side == "--max" else min(math.floor(number), 0))
            lost = {"--replace-below", "--replace-above"} | ({"--nan"} if given.get("--nan") != "keep" else set())
        else:
            lost = {side, "--stretch", replacement} | ({"--nan"} if given.get("--nan") == side[2:] else set())
        given = {option: each for option, each in given.items() if option not in lost}
    return replace(case, parameters=given, mask=None, missing=None, factors=np.float64(1) if "--max-norm" in given else None)


def found_in(case, bound, result, find):
    """The case with arrays in place of its figures. `bound` and `result` are those of exact.py."""
    given = dict(case.parameters)
    if "--per-axis" in given and case.profile.name != "clipper":
        raise Refused("profile of --per-axis", USAGE)
    shape, parts = groups(case)
    loses = len(parts) <= 1 and case.mask is None or not case.x.elements.size  # a figure that does not exist
    whole = valid_in(case, parts[0][1]) if parts else case.x
    is_empty = loses and any(is_percentile(given.get(side)) and is_lost(case, whole, given[side]) for side in BOUNDS)
    if any(is_percentile(given.get(side)) for side in BOUNDS) and not is_empty:
        check_order(case, parts, find)
    if "--per-axis" in given or case.mask is not None:
        for side in [side for side in BOUNDS if is_percentile(given.get(side)) and not is_empty]:
            text, exactly, elements = case.parameters[side], [], []
            wholes = []
            for _, part in parts:
                alone = replace(case, x=valid_in(case, part))
                lost = is_lost(case, alone.x, text)
                case = lacking(case, part, side) if lost else case
                its = "1" if lost else text  # which no element sees, and every dtype has
                exactly.append(1 if lost else find(alone, text))
                if "--stretch" in given and not math.isfinite(exactly[-1]):
                    raise Refused("infinite percentile", INPUT)
                wholes += [exactly[-1]] * (not lost)
                if not case.arithmetic:
                    later = {"--round": "half-even"} if case.has_later_step and case.x.dtype in FORMATS else {}
                    elements.append(int(bound(replace(alone, parameters={side: its} | later), side).bits))
            is_whole = all(number == math.trunc(number) and np.iinfo(case.x.dtype).min <= number <= np.iinfo(case.x.dtype).max
                           for number in exactly) if case.x.dtype in INTS else False
            if case.arithmetic in ("float32", "float64"):
                given[side] = array_of(shape, case.arithmetic, [nearest(number, case.arithmetic) for number in exactly])
            elif case.arithmetic and is_whole:
                given[side] = Tensor(case.x.dtype, np.array([int(number) for number in exactly], case.x.dtype).reshape(shape))
            elif case.exact_bounds and not is_whole and len(parts) == 1:
                given[side] = str(exactly[0])
            elif case.exact_bounds and not is_whole and are_rounded(wholes):
                raise Refused("fractions and integers that float64 lacks", USAGE, side)
            elif case.exact_bounds and not is_whole:
                given[side] = Tensor("float64", np.array([float(number) for number in exactly]).reshape(shape))
            elif any(is_far(case, number) for number in exactly):
                given[side] = str(exactly[0]) if len(parts) == 1 else Tensor("float64", np.array(
                    [float(number if is_far(case, number) else decoded(bits, FORMATS[case.x.dtype])) for number, bits in zip(exactly, elements)]).reshape(shape))
            else:
                given[side] = array_of(shape, case.x.dtype, elements)
    if has_norm(case):
        case = replace(case, factors=norm_factors(case, given, shape, parts, result))
    words = {option: given[option] for option in FACTORS if is_factor_figure(given.get(option))}
    if words:
        first = replace(case, mask=None, parameters={option: each for option, each in given.items() if option not in LAST_STEPS} | {"--to": "float64"}
                        | ({"--nodata-to": "nan"} if "--nodata" in given else {}))
        clipped = result(first)
        is_long = case.x.dtype in ("int64", "uint64") and not {"--scale", "--bias", "--replace-below", "--replace-above", "--nodata", "--max-norm"} & {*given}
        y = elements_of(case, given, clipped)
        values = {option: [] for option in words}
        is_exact = case.x.dtype in ("int64", "uint64") and not {"--scale", "--bias", "--max-norm"} & {*given} and words.get("--subtract") in BOUND_NAMES
        for (_, part), option in product(parts, words):
            try:
                its = clipped.y if is_exact and option == "--subtract" else y
                elements = np.asarray(its[part], its.dtype)[counts_in(case, part)]
                if elements.dtype == object:
                    elements = np.array([as_double(each) for each in elements.tolist() if each == each], object)
                number = statistic(words[option], elements)
            except NoNumbers:
                if loses:
                    given.pop(option, None)
                    values.pop(option, None)
                    continue
                number = float(option == "--divide")
                case = lacking(case, part, option)
            if option == "--divide" and number == 0:
                number = zero_divisor(case)
            values[option].append(number.item() if isinstance(number, np.generic) else number)
        if not parts:
            given = {option: each for option, each in given.items() if option not in words}
        for option, its in values.items() if parts else ():
            limits = np.iinfo(case.x.dtype) if case.x.dtype in INTS else None
            is_exact = words[option] in BOUND_NAMES or option == "--subtract" and FIGURE.fullmatch(words[option]) and words[option] not in ("std", "rms", "norm", "norm1")
            is_whole = limits and is_exact and all(each == math.trunc(each) and limits.min <= each <= limits.max for each in its)
            if not is_whole and len(parts) > 1 and is_exact and is_long and words[option] != "mean" and are_rounded(its):
                raise Refused("fractions and integers that float64 lacks", USAGE, option)
            given[option] = Tensor(case.x.dtype, np.array([int(each) for each in its], case.x.dtype).reshape(shape)) if is_whole and option == "--subtract" else \
                array_of(shape, "float64", [nearest(number, "float64") for number in its])
    given.pop("--per-axis", None)
    are_ones = case.factors is not None and np.all(case.factors == 1) and np.size(case.factors) == 1
    if are_ones and not has_far_bounds(case, given, whole, find):  # then there is no such step
        given = {option: each for option, each in given.items() if option not in ("--max-norm", "--norm")}
        case = replace(case, factors=None, was_measured=case.x.dtype in FORMATS and case.arithmetic is not None)
    elif "--max-norm" in given and case.factors is not None and case.x.dtype in ("int64", "uint64"):
        for index, part in parts:
            if case.factors[index] == 1:
                case = lacking(case, part, "--max-norm")
    return replace(case, parameters=given, mask=None)
