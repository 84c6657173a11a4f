"""Compares and describes tensors, which are arrays or files."""

import contextlib
import fcntl
import os
from typing import NamedTuple, Optional

import numpy as np

from . import _core
from ._errors import ClipperError
from ._parameters import OF_ML_DTYPES, array_of


class Mismatch(NamedTuple):
    """Two elements that differ: their index and values, which are int, float, bool, complex, np.datetime64 or
    np.timedelta64."""

    index: tuple
    actual: object
    expected: object


class Comparison(NamedTuple):
    """The result of comparing two tensors; true if they match.

    Attributes:
        equal: whether dtype, shape and elements match.
        summary: one line that says how they differ; empty if they do not.
        dtype, shape: of the expected tensor; with any_dtype the dtype in which its elements were compared.
        compared: number of elements that were compared.
        mismatches: number of elements that differ.
        first: the first mismatches, at most max_listed.
        largest: the largest |actual - expected|, NaN left out.
        report: lines that say more than the summary: the tolerance, NaN, the largest relative difference of those that
            differ, all of `first`, and what tolerance would let all pass.
    """

    equal: bool
    summary: str
    dtype: str
    shape: tuple
    compared: int
    mismatches: int
    first: tuple
    largest: float
    report: str = ""

    def __bool__(self) -> bool:
        return self.equal


class Info(NamedTuple):
    """What a tensor is, and the statistics of its elements; these are None if they were not asked for.

    Attributes:
        dtype, shape, fortran_order, byte_order: of the file or array.
        count, nan, positive_infinite, negative_infinite: numbers of elements. NaT is a NaN.
        min, max, median: of the elements that are not NaN, infinities included. The median of the
            integers 1 and 2 is 1.5.
        mean, standard_deviation: of the finite elements, rounded once from their exact values; of durations in
            their unit. Dates have none.
    """

    dtype: str
    shape: tuple
    fortran_order: bool
    byte_order: str
    count: Optional[int] = None
    nan: Optional[int] = None
    positive_infinite: Optional[int] = None
    negative_infinite: Optional[int] = None
    min: object = None
    max: object = None
    mean: Optional[float] = None
    standard_deviation: Optional[float] = None
    median: object = None


def _is_path(tensor) -> bool:
    return isinstance(tensor, (str, bytes, os.PathLike))


def _is_in_memory(given: dict) -> bool:
    """Whether the tensor is an array, of which nothing is said as of a file."""
    return not _is_path(given["tensor"]) and given["dtype"] is None and given["raw"] is None and given["format"] is None


@contextlib.contextmanager
def _files(**tensors):
    """The paths of tensors: arrays are written to files in memory. Errors name the argument instead."""
    paths, names = [], {}
    with contextlib.ExitStack() as stack:
        for name, tensor in tensors.items():
            if _is_path(tensor):
                paths.append(tensor)
                continue
            memory = os.memfd_create("clipper", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            file = stack.enter_context(os.fdopen(memory, "wb"))
            _write(_array(tensor), file, name)
            # clipper waits until later writes to a file would show in its time; to a sealed one there are none.
            fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
            paths.append(f"/proc/self/fd/{file.fileno()}")
            names[paths[-1]] = name
        try:
            yield paths
        except ClipperError as error:
            message = str(error)
            for path, name in sorted(names.items(), reverse=True):  # /proc/self/fd/30 before /proc/self/fd/3
                message = message.replace(path, name)
            error.args = (message,)
            raise


def _array(tensor):
    array = np.asanyarray(tensor) if isinstance(tensor, np.ndarray) else array_of(tensor)
    if np.ma.isMaskedArray(array):
        raise TypeError("a masked array cannot be a tensor, because the mask would be lost")
    return array


def _numbers(numbers, other):
    """The numbers of a list, or one number, as elements of the other tensor's dtype, if that has such numbers."""
    if not isinstance(numbers, (int, float, list, tuple)) or _is_path(other) or isinstance(other, (int, float, list, tuple)):
        return numbers
    array, dtype = np.asarray(numbers), _array(other).dtype
    if array.dtype.kind not in "iuf" or (dtype.kind not in "iuf" and not dtype.name.startswith(OF_ML_DTYPES)):
        return numbers
    with np.errstate(all="ignore"):
        cast = array.astype(dtype)
    if dtype.kind in "iu":
        is_lost = cast != array
    else:  # a float8 without infinity has NaN in its place
        same = cast.astype(np.float64)
        is_lost = (np.isinf(same) & ~np.isinf(array)) | (np.isnan(same) & ~np.isnan(array))
    return array if is_lost.any() else cast


def _write(array, file, name="a tensor") -> None:
    descr = array.dtype.str
    if array.dtype.name.startswith(OF_ML_DTYPES):
        descr = array.dtype.name  # "<V1" would not say which one
    elif array.dtype.hasobject or array.dtype.names:
        raise ClipperError(f"{name} has dtype {array.dtype}, which is none of clipper's", "input", "type")
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    header = {"descr": descr, "fortran_order": fortran, "shape": array.shape}
    np.lib.format.write_array_header_1_0(file, header)
    file.write(memoryview(np.ascontiguousarray(array.T if fortran else array).reshape(-1).view(np.uint8)))
    file.flush()


def compare(
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
    max_listed=1,
    dtype=None,
    raw=None,
    format=None,
    ignore_trailing=False,
    no_cache=False,
    threads=0,
):
    """Compares two tensors: arrays or files in any combination.

    Elements match if |actual - expected| <= atol + rtol * |expected|, calculated in float64 of floats, and exactly of integers.

    Args:
        actual, expected: arrays, or paths of files; also of bool, datetime64, timedelta64 or complex numbers. A list, and a
            number, has the numbers as the other array's dtype has them, if it has such numbers.
        rtol, atol: int, float, or text, which is exact: "1e-5".
        ulp: floats at most this many representable values apart also match.
        tolerance: "torch", "numpy" or "allclose" in place of rtol and atol: what torch.testing.assert_close,
            numpy.testing.assert_allclose or numpy.allclose have for the dtype. allclose compares any dtypes.
        nan_equal: any NaN matches any NaN. None: as tolerance says; without it True.
        any_dtype: numbers of different dtypes are compared exactly: int 3 is 3.0.
        bits: only identical bits match; rtol, atol, ulp and nan_equal are ignored, tolerance and any_dtype refused.
        max_listed: how many mismatches Comparison.first lists.
        dtype: "bfloat16" if a tensor is raw bytes (|V2) or integers of two bytes that are bfloat16.
        raw, format, ignore_trailing, no_cache, threads: as for clip_file(). A .npy file may be compared with one without a header.

    Returns:
        Comparison, which is true if the tensors match.

    >>> import numpy as np
    >>> compare(np.float32([1, 2]), np.float32([1, 2.5])).summary
    '1 of 2 differ (50 %); first [1] actual 2 expected 2.5 (0.5, 2097152 ulp); max abs 0.5 at [1]; would pass with \
atol=0.5 or ulp=2097152'
    """
    actual, expected = _numbers(actual, expected), _numbers(expected, actual)
    given, found = locals(), None
    if dtype is None and not _is_path(actual) and not _is_path(expected):
        found = _core.compare_arrays(_array(actual), _array(expected), given)
    if found is None:
        with _files(actual=actual, expected=expected) as (first, second):
            found = _core.compare(first, second, given)
    *others, listed, largest, report = found
    return Comparison(*others, tuple(Mismatch(*row) for row in listed), largest, report)


def info(tensor, *, stats=True, dtype=None, raw=None, format=None, ignore_trailing=False, no_cache=False, threads=0):
    """Describes a tensor, an array or a file; with stats also its elements.

    Args:
        tensor: array or path.
        stats: whether to read the elements.
        others: as for compare().

    >>> import numpy as np
    >>> about = info(np.array([[1, 2], [3, 10]], np.int16))
    >>> about.dtype, about.shape, about.min, about.max, about.mean, about.median
    ('int16', (2, 2), 1, 10, 4.0, 2.5)
    """
    given = locals()
    if _is_in_memory(given) and (found := _core.info_of_array(_array(tensor), given)) is not None:
        header, statistics = found
        return Info(*header, *(statistics[2:] if stats else ()))
    with _files(tensor=tensor) as (path,):
        header = _core.tensor_in(path, given)
        if not stats:
            return Info(*header)
        return Info(*header, *_core.statistics(path, given)[2:])


def percentiles(tensor, percentages, *, dtype=None, raw=None, format=None, ignore_trailing=False, no_cache=False, threads=0):
    """The percentiles of a tensor's elements that are not NaN: exact, then rounded once to a float of the dtype; of
    integers an int, or with a fraction below 2**53 a float, so that the 50th percentile of 1 and 2 is 1.5; of bool,
    dates and durations the lower of two elements.

    Args:
        tensor: array or path.
        percentages: numbers from 0 to 100, int, float or text, with or without a percent sign.
        others: as for compare().

    Returns:
        A list with a number for each percentage; None if all elements are NaN.

    >>> import numpy as np
    >>> percentiles(np.arange(101.0), [1, 50, "99.9%"])
    [1.0, 50.0, 99.9]
    """
    if isinstance(percentages, (str, bytes)):
        raise TypeError(f"percentages must be a sequence of numbers, not text; [{percentages!r}] is one")
    percentages = [text.removesuffix("%") if isinstance(text, str) else text for text in percentages]
    given = locals()
    if _is_in_memory(given) and (found := _core.percentiles_of_array(_array(tensor), percentages, given)) is not None:
        return found
    with _files(tensor=tensor) as (path,):
        return _core.percentiles(path, percentages, given)
