"""Parameters that are neither a number of Python or numpy, nor text, a path, nor an array of x's dtype."""

import ctypes
import datetime
import decimal
import numbers
import os
from collections.abc import Sequence

import numpy as np

from . import _core
from ._errors import ClipperError
from ._reciprocal import reciprocal

OF_ML_DTYPES = ("bfloat16", "float8_")  # the names of dtypes that it adds to numpy begin so
_DIGITS = 1200  # more than a tie between two floats has, so that a further digit decides on which side of a tie a number is


def _text_of(number: numbers.Rational) -> str:
    """The number in decimal, or enough digits to round it to any dtype as its exact value would be."""
    with decimal.localcontext(prec=_DIGITS, rounding=decimal.ROUND_DOWN, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN) as context:
        value = decimal.Decimal(number.numerator) / decimal.Decimal(number.denominator)
        sign, digits, exponent = value.as_tuple()
        if context.flags[decimal.Inexact]:
            digits, exponent = (*digits, 1), exponent - 1
    return f"{'-' if sign else ''}{digits[0]}.{''.join(map(str, digits[1:]))}e{exponent + len(digits) - 1:+}"


def _is_exact(array: np.ndarray, cast: np.ndarray) -> np.ndarray:
    """Which elements have the same value in another dtype."""
    if cast.dtype.kind in "iu":
        limits = np.iinfo(cast.dtype)
        inside = (array >= limits.min) & (array <= limits.max)
        if array.dtype.kind == "f":  # a limit may be rounded up to a float that exceeds it
            inside = (array == np.floor(array)) & (array >= float(limits.min)) & (array < float(limits.max) + 1)
        return inside
    wide = array.astype(np.longdouble)
    return (cast.astype(np.longdouble) == wide) | (wide != wide)


def _bounds(array: np.ndarray, dtype: "np.dtype | None") -> np.ndarray:
    """An array of bounds with elements of the dtype, if that has the same values; otherwise the array, whose values are exact bounds."""
    if dtype is None or dtype == array.dtype:
        return array
    with np.errstate(all="ignore"):
        cast = array.astype(dtype)
        return cast if _is_exact(array, cast).all() else array


def _in_dtype(name: str, array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The array with elements of the same values in another dtype."""
    with np.errstate(all="ignore"):
        if array.dtype.kind == "b":
            array = array.astype(np.uint8)
        cast = array.astype(dtype)
        exact = _is_exact(array, cast)
    if not exact.all():
        index = tuple(int(i) for i in np.argwhere(~exact)[0])
        raise ClipperError(
            f"{name} has {array[index].item()!r} at {list(index)}, which {dtype} does not have exactly; "
            f"convert it: np.asarray({name}, np.{dtype})", "usage", name,
        )  # fmt: skip
    return cast


class _Unsigned:
    """A tensor whose elements numpy takes for unsigned integers of the same size. dlpack.h has the structures and codes."""

    def __init__(self, tensor):
        self.device = tensor.__dlpack_device__()
        try:
            self.capsule = tensor.__dlpack__(max_version=(1, 0))  # numpy takes memory of older ones for read-only
        except TypeError:
            self.capsule = tensor.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        is_versioned = '"dltensor_versioned"' in repr(self.capsule)
        managed = pointer(self.capsule, b"dltensor_versioned" if is_versioned else b"dltensor")
        code = ctypes.c_uint8.from_address(managed + (52 if is_versioned else 20))  # behind data, device and ndim
        self.dtype = _core.dlpack.get(code.value)
        if self.dtype:
            code.value = 1

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return self.device


def _by_dlpack(tensor: object) -> np.ndarray:
    """A tensor as an array in the same memory; with a dtype of ml_dtypes where numpy has none."""
    try:
        return np.from_dlpack(tensor)
    except Exception:
        unsigned = _Unsigned(tensor)
        if not unsigned.dtype:
            raise
    try:
        import ml_dtypes
    except ImportError:
        raise ClipperError(f"{unsigned.dtype} needs the package ml_dtypes, which adds it to numpy", "usage") from None
    array = np.from_dlpack(unsigned)
    return array.view(getattr(ml_dtypes, unsigned.dtype))


def array_of(tensor: object) -> np.ndarray:
    """A tensor of another package as an array, in the same memory if the package permits it."""
    if not hasattr(tensor, "__dlpack__") or isinstance(tensor, np.ndarray):
        return np.asarray(tensor)
    if hasattr(tensor, "__array__"):
        try:
            return np.asarray(tensor)
        except TypeError:  # torch's, of dtypes that numpy does not have
            pass
    return _by_dlpack(tensor)


def labelled(x: object, result: np.ndarray) -> object:
    """The result as np.clip gives it for a Series or DataFrame of pandas: with the labels of x."""
    if result.shape != x.shape or result.dtype.kind not in "iuf":
        return result
    labels = {"index": x.index, "columns": x.columns} if result.ndim == 2 else {"index": x.index}
    return x._constructor(result, **labels, copy=False).__finalize__(x)


def writable(out: object) -> np.ndarray:
    """The memory of a tensor of another package as an array."""
    array, again = array_of(out), array_of(out)
    if not np.may_share_memory(array, again) and array.size:  # each is a copy
        raise TypeError(f"out must be a numpy array, or share its memory with one as torch's CPU tensors do; {type(out).__name__} does not")
    return array


def plain(name: str, value: object, dtype: "np.dtype | None") -> object:
    """The parameter as what clipper._core takes. An array or a sequence becomes an array of `dtype`, unless that is None."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} must not be a masked array, because the mask would be lost")
    if isinstance(value, np.bool_):
        return int(value)
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, numbers.Rational):
        return _text_of(value)
    if name in _core.dates and isinstance(value, (datetime.date, datetime.timedelta)):
        if getattr(value, "tzinfo", None) is not None:
            raise TypeError(f"{name} has a time zone, which dates in files do not have")
        if hasattr(value, "to_numpy"):  # pandas has nanoseconds
            return value.to_numpy()
        return np.timedelta64(value) if isinstance(value, datetime.timedelta) else np.datetime64(value)
    if isinstance(value, os.PathLike):
        return value
    if (isinstance(value, Sequence) and not isinstance(value, reciprocal)) or hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        array = array_of(value)
        if array.dtype.kind in "biuf" or array.dtype.name.startswith(OF_ML_DTYPES):
            if array.ndim == 0:
                return plain(name, array[()], dtype) if array.dtype.kind == "b" else array[()]
            if name in ("min", "max"):
                if array.dtype.kind == "b":
                    raise TypeError(f"{name} must be an array of numbers, not of bool")
                return _bounds(array, dtype)
            if name == "subtract" and array.dtype.kind in "iu" and array.dtype.itemsize == 8 and not _is_exact(array, array.astype(np.float64)).all():
                return array
            if name in _core.factors and array.dtype.kind in "biu":
                return _in_dtype(name, array, np.dtype(np.float64))
            return array if dtype is None or dtype == array.dtype else _in_dtype(name, array, dtype)
    raise TypeError(f"{name} must be a number, text, an array of numbers or a path, not {type(value).__name__}")
