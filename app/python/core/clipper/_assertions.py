"""Asserts that tensors, or the tensors of archives, are the same."""

import io
import os
import zipfile
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from ._errors import ClipperError
from ._tensors import _is_path, compare


def assert_same(
    actual,
    expected,
    *,
    rtol=0,
    atol=0,
    ulp=None,
    tolerance=None,
    nan_equal=None,
    any_dtype=False,
    bits=False,
    max_mismatch=0,
    max_listed=5,
    err_msg="",
    dtype=None,
    raw=None,
    format=None,
    ignore_trailing=False,
    no_cache=False,
    threads=0,
):
    """Raises AssertionError, whose lines say how two tensors differ, if they do.

    Args:
        actual, expected: as for compare(). Either may also be the path of an .npz archive, or a mapping from names to
            arrays, such as numpy.load returns for one: the tensors of the same name are compared, and members that are no
            tensors, such as strings, by the bytes of their files.
        max_mismatch: accept at most this many elements that differ in each tensor, or "0.1%" of its elements.
        max_listed: how many elements that differ the message lists.
        err_msg: text before the message.
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
    w: 1 of 2 differ (50 %); no tolerance
      max abs 1 at [1], max rel 0.333
      [1] actual 2 expected 3 (1)
      would pass with rtol=0.334 or atol=1
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    given = locals()
    options = {name: given[name] for name in compare.__kwdefaults__}
    try:
        limit = _limit(max_mismatch)
        check = lambda expected: _problem(actual, expected, limit, options)
        is_golden = hasattr(expected, "_clipper_check")  # of the pytest plugin
        problem = expected._clipper_check(actual, check) if is_golden else check(expected)
    except ClipperError as error:
        raise error.with_traceback(None) from None  # without the frames in which it came here
    if problem:
        raise AssertionError(f"{err_msg}\n{problem}" if err_msg else problem)


def _limit(max_mismatch):
    """The number of elements that may differ, and whether it is a percentage."""
    text = str(max_mismatch)
    is_share = text.endswith("%")
    try:
        number = Fraction(text.removesuffix("%"))
        if number >= 0 and (number <= 100 if is_share else number.denominator == 1):
            return number, is_share
    except (ValueError, ZeroDivisionError):
        pass
    raise ClipperError(f"max_mismatch: {text!r} is neither a whole number nor a percentage from 0% to 100%", "usage", "max_mismatch")


class _Member(os.PathLike):
    """A member of an archive, whose path is "a.npz:w"."""

    def __init__(self, archive, name):
        self.archive, self.name = archive, name

    def __fspath__(self):
        return f"{self.archive}:{self.name.removesuffix('.npy')}"

    def read(self):
        with zipfile.ZipFile(self.archive) as archive:
            return archive.read(self.name)


def _problem(actual, expected, limit, options):
    """The lines about the first tensor that fails; empty if all pass."""
    actual_members, expected_members = _members(actual), _members(expected)
    prefix = _name(actual, expected)
    if actual_members is None or expected_members is None:
        return _difference(actual, expected, prefix, limit, options)
    for key in [*expected_members, *(key for key in actual_members if key not in expected_members)]:
        name = f"{prefix}:{key}" if prefix else key
        for members, whose in ((actual_members, "actual"), (expected_members, "expected")):
            if key not in members:
                return f"{name}: is missing in the {whose} archive"
        if problem := _member_difference(actual_members[key], expected_members[key], name, limit, options):
            return problem
    return ""


def _member_difference(actual, expected, name, limit, options):
    if not any(isinstance(m, bytes) or (isinstance(m, _Member) and not m.name.endswith(".npy")) for m in (actual, expected)):
        try:
            return _difference(actual, expected, name, limit, options)
        except ClipperError as error:
            if error.field != "type":
                raise
    first, second = _bytes(actual), _bytes(expected)
    if len(first) != len(second):
        return f"{name}: {len(first)} bytes, expected {len(second)}"
    arrays = (np.frombuffer(data, np.uint8) for data in (first, second))
    return _difference(*arrays, f"{name} (bytes)", (0, False), {"bits": True, "max_listed": options["max_listed"]})


def _bytes(member):
    """The bytes of a member that is no tensor."""
    if isinstance(member, bytes):  # numpy.load's, for what is no .npy file
        return member
    if isinstance(member, _Member):
        return member.read()
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(member))
    return file.getvalue()


def _difference(actual, expected, name, limit, options):
    comparison = compare(actual, expected, **options)
    number, is_share = limit
    allowed = number * comparison.compared / 100 if is_share else number
    if comparison or 0 < comparison.mismatches <= allowed:
        return ""
    problem = f"{name}: {comparison.report}" if name else comparison.report
    if number and comparison.mismatches:
        problem += f"; max_mismatch allows {allowed.__floor__()}"
    return problem


def _name(actual, expected):
    """What a message calls the two: the paths of those that are files."""
    paths = [os.fsdecode(tensor) for tensor in (actual, expected) if _is_path(tensor)]
    return ", expected ".join(paths)


def _members(tensor):
    """The tensors of an archive or mapping by name; None for a tensor."""
    if isinstance(tensor, Mapping):
        return tensor
    if not _is_path(tensor) or not os.fsdecode(tensor).endswith(".npz") or not os.path.exists(tensor):
        return None
    path = os.fsdecode(tensor)
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy"): _Member(path, name) for name in archive.namelist()}
    except zipfile.BadZipFile as error:
        with open(path, "rb") as file:
            is_pointer = file.read(23) == b"version https://git-lfs"
        what = "is a pointer of Git LFS, whose file is not here: git lfs pull" if is_pointer else f"is no archive: {error}"
        raise ClipperError(f"{path}: {what}", "input") from None
