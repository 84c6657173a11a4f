"""Asserts that tensors, or the tensors of archives, are the same."""

import os
import zipfile
from collections.abc import Mapping
from fractions import Fraction

from ._errors import ClipperError
from ._tensors import _is_path, compare


def assert_same(
    actual,
    expected,
    *,
    rtol=0,
    atol=0,
    ulp=None,
    nan_equal=True,
    bits=False,
    max_mismatch=0,
    err_msg="",
    dtype=None,
    ignore_trailing=False,
    no_cache=False,
    threads=0,
):
    """Raises AssertionError with one line that says how two tensors differ, if they do.

    Args:
        actual, expected: as for compare(). Either may also be the path of an .npz archive, or a mapping from names to
            arrays, such as numpy.load returns for one: the tensors of the same name are compared.
        max_mismatch: accept at most this many elements that differ in each tensor, or "0.1%" of its elements.
        err_msg: text before the line.
        others: as for compare().

    >>> import numpy as np
    >>> assert_same(np.float32([1, 2]), np.float32([1, 2.5]), atol=0.5)
    >>> assert_same(np.float32([1, 2]), np.float64([1, 2]))
    Traceback (most recent call last):
        ...
    AssertionError: dtype float32, expected float64
    >>> assert_same({"w": np.int8([1, 2])}, {"w": np.int8([1, 3])}, err_msg="layer 1")
    Traceback (most recent call last):
        ...
    AssertionError: layer 1
    w: 1 of 2 differ (50 %); first [1] actual 2 expected 3 (1); max abs 1 at [1]; would pass with atol=1
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    options = dict(
        rtol=rtol, atol=atol, ulp=ulp, nan_equal=nan_equal, bits=bits, dtype=dtype, ignore_trailing=ignore_trailing,
        no_cache=no_cache, threads=threads,
    )  # fmt: skip
    golden = expected if hasattr(expected, "_clipper_update") else None  # of the pytest plugin
    try:
        if golden and golden._clipper_missing():
            problem = f"{golden}: no golden; --clipper-update-golden writes it"
        else:
            problem = _problem(actual, expected, max_mismatch, options)
    except ClipperError as error:
        raise error.with_traceback(None) from None  # without the frames in which it came here
    if problem and golden and golden._clipper_update(actual):
        return
    if problem:
        raise AssertionError(f"{err_msg}\n{problem}" if err_msg else problem)


def _problem(actual, expected, max_mismatch, options):
    """The line about the first tensor that fails; empty if all pass."""
    actual_members, expected_members = _members(actual), _members(expected)
    if actual_members is None or expected_members is None:
        return _difference(actual, expected, _name(actual, expected), max_mismatch, options)
    prefix = _name(actual, expected)
    for key in [*expected_members, *(key for key in actual_members if key not in expected_members)]:
        name = f"{prefix}:{key}" if prefix else key
        for members, whose in ((actual_members, "actual"), (expected_members, "expected")):
            if key not in members:
                return f"{name}: is missing in the {whose} archive"
        if problem := _difference(actual_members[key], expected_members[key], name, max_mismatch, options):
            return problem
    return ""


def _difference(actual, expected, name, max_mismatch, options):
    comparison = compare(actual, expected, **options)
    if comparison or (comparison.mismatches and _is_covered(comparison, max_mismatch)):
        return ""
    return f"{name}: {comparison.summary}" if name else comparison.summary


def _is_covered(comparison, max_mismatch):
    text = str(max_mismatch)
    try:
        limit = Fraction(text.removesuffix("%"))
    except ValueError:
        raise ClipperError(f"max_mismatch: {text!r} is not a number", "usage", "max_mismatch") from None
    share = comparison.compared / Fraction(100) if text.endswith("%") else 1
    return comparison.mismatches <= limit * share


def _name(actual, expected):
    """What a message calls the two: the paths of those that are files."""
    paths = [os.fsdecode(tensor) for tensor in (actual, expected) if _is_path(tensor)]
    return ", expected ".join(paths)


def _members(tensor):
    """The tensors of an archive or mapping by name; None for a tensor."""
    if isinstance(tensor, Mapping):
        return tensor
    if not _is_path(tensor) or not os.fsdecode(tensor).endswith(".npz") or not zipfile.is_zipfile(tensor):
        return None
    path = os.fsdecode(tensor)
    with zipfile.ZipFile(path) as archive:
        keys = [name.removesuffix(".npy") for name in archive.namelist()]
    return {key: f"{path}:{key}" for key in keys}
